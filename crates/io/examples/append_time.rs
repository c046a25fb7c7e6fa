//! Times a text that grows: `append_time VOCABULARY [split=NAME] [limit=BYTES] TEXT...`.
//!
//! For each text: ns per byte for encoding it at once, for appending it character by character with its count after
//! each, and for appending it at once. Counts are compared first.
#![allow(clippy::cast_precision_loss)]
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokenmill_core::budget::Appender;
use tokenmill_core::engine::{Engine, Special, Text};
use tokenmill_core::pattern::known::split_from;
use tokenmill_core::watch::Unwatched;
use tokenmill_io::{LoadOptions, load};

type Failure = Box<dyn std::error::Error>;

/// The best of some times, in seconds.
fn best(passes: usize, mut work: impl FnMut() -> Result<usize, Failure>) -> Result<(f64, usize), Failure> {
    let (mut seconds, mut count) = (f64::INFINITY, 0);
    for _ in 0..passes {
        let start = Instant::now();
        count = work()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    Ok((seconds, count))
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, rest)) = args.split_first() else {
        return Err("append_time VOCABULARY [split=NAME] [limit=BYTES] TEXT...".into());
    };
    let mut options = LoadOptions::default();
    let mut limit = 1_000_000;
    for arg in rest {
        if let Some(bytes) = arg.strip_prefix("limit=") {
            limit = bytes.parse()?;
        } else if let Some(name) = arg.strip_prefix("split=") {
            options.split = Some(split_from(name));
        }
    }
    let (engine, _) = load(Path::new(file), &options, &Unwatched)?;
    let engine: Arc<Engine> = engine.into();
    let appended = |pieces: &mut dyn Iterator<Item = &str>| -> Result<usize, Failure> {
        let mut appender = Appender::new(Arc::clone(&engine), Special::Text)?;
        for piece in pieces {
            appender.push(Text::Str(piece), &Unwatched)?;
        }
        Ok(appender.count())
    };
    for name in rest.iter().filter(|arg| !arg.contains('=')) {
        let text = std::fs::read_to_string(name)?;
        let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let text = &text[..end];
        let mut ids = Vec::new();
        let (at_once, whole) = best(5, || {
            ids.clear();
            engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids)?;
            Ok(ids.len())
        })?;
        let characters = || text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        let (by_one, count) = best(3, || appended(&mut characters()))?;
        let (in_one, _) = best(3, || appended(&mut std::iter::once(text)))?;
        if count != whole {
            return Err(format!("{name}: {count} ids appended, {whole} at once").into());
        }
        let [at_once, by_one, in_one] = [at_once, by_one, in_one].map(|time| time * 1e9 / text.len() as f64);
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        println!(
            "{name:18} encode {at_once:6.1} ns/B, by characters {by_one:6.1} ({:.1}x), in one piece {in_one:6.1} ({:.1}x)",
            by_one / at_once,
            in_one / at_once
        );
    }
    Ok(())
}
