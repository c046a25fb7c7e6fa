//! Times encoding and its parts in one process: `encode_time VOCABULARY [split=NAME] [fresh=N] [passes=N] TEXT...`.
//!
//! For each text, in MB/s: the best pass of an engine with empty caches, of one that has encoded the text before,
//! and of counting with the latter. Only the first 10 MB are read.
#![allow(clippy::cast_precision_loss)]
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use tokenmill_core::engine::{Engine, Special, Text};
use tokenmill_core::pattern::named_splits::split_from;
use tokenmill_core::watch::Unwatched;
use tokenmill_io::{LoadOptions, load};

type Failure = Box<dyn std::error::Error>;

const LIMIT: usize = 10_000_000;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, rest)) = args.split_first() else {
        return Err("encode_time VOCABULARY [split=NAME] [fresh=N] [passes=N] TEXT...".into());
    };
    let mut options = LoadOptions::default();
    let (mut fresh, mut passes) = (3, 3);
    for arg in rest {
        if let Some(name) = arg.strip_prefix("split=") {
            options.split = Some(split_from(name));
            continue;
        }
        if let Some(number) = arg.strip_prefix("passes=") {
            passes = number.parse()?;
            continue;
        }
        if let Some(number) = arg.strip_prefix("fresh=") {
            fresh = number.parse()?;
            continue;
        }
        let mut bytes = std::fs::read(arg)?;
        bytes.truncate(LIMIT);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\u{FFFD}');
        let start = Instant::now();
        let (mut engine, _) = load(Path::new(file), &options, &Unwatched)?;
        let mut line = format!("{arg:<60} load {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
        let speed = |start: Instant| text.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
        // The vector is reused, so that its pages are only new in the first pass, as for a caller that reuses one.
        let mut ids = Vec::new();
        let mut encode = |engine: &Engine| -> Result<f64, Failure> {
            ids.clear();
            let start = Instant::now();
            engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids)?;
            Ok(speed(start))
        };
        let (mut first, mut again, mut count) = (0.0f64, 0.0f64, 0.0f64);
        for _ in 0..fresh {
            // Drops the caches of its workers.
            engine = engine.with_cache_bytes(None);
            first = first.max(encode(&engine)?);
        }
        for _ in 0..passes {
            again = again.max(encode(&engine)?);
            let start = Instant::now();
            engine.count(Text::Str(text), &Special::Text, 1, &Unwatched)?;
            count = count.max(speed(start));
        }
        let usage = engine.memory_usage();
        write!(line, "  first {first:.0}  again {again:.0}  count {count:.0}  misses {}", usage.misses)?;
        println!("{line}");
    }
    Ok(())
}
