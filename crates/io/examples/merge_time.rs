//! Times the model alone, without any cache: `merge_time VOCABULARY [limit=BYTES] [split=NAME] TEXT...`.
//!
//! For each text: the time for a distinct pretoken that is not itself a token; then MB/s for all pretokens in
//! order, and for the text as one pretoken. The last number of a line is a digest of all ids.
#![allow(clippy::cast_precision_loss)]
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use tokenmill_core::ids::TokenId;
use tokenmill_core::model::bpe::{Bpe, BpeScratch};
use tokenmill_core::pattern::named_splits::split_from;
use tokenmill_core::vocabulary::Vocabulary;
use tokenmill_core::watch::{Ticker, Unwatched};
use tokenmill_io::{LoadOptions, load};

type Failure = Box<dyn std::error::Error>;

struct Timed<'a> {
    model: &'a Bpe,
    vocabulary: &'a Vocabulary,
    scratch: BpeScratch,
    ids: Vec<TokenId>,
    digest: u64,
}

impl Timed<'_> {
    /// Seconds for these pretokens, the best of some passes.
    fn run(&mut self, pretokens: &[&[u8]], passes: usize) -> Result<f64, Failure> {
        let mut best = f64::INFINITY;
        for _ in 0..passes {
            let start = Instant::now();
            let mut digest = 0u64;
            for pretoken in pretokens {
                self.ids.clear();
                let ticker = &mut Ticker::new(&Unwatched);
                let (scratch, ids) = (&mut self.scratch, &mut self.ids);
                self.model.encode(pretoken, self.vocabulary, scratch, ids, None, ticker)?;
                for &id in &self.ids {
                    digest = (digest ^ u64::from(id)).wrapping_mul(0x100_0000_01b3).rotate_left(7);
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
            self.digest = digest;
        }
        Ok(best)
    }
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((file, rest)) = args.split_first() else {
        return Err("merge_time VOCABULARY [limit=BYTES] [split=NAME] TEXT...".into());
    };
    let mut options = LoadOptions::default();
    let mut limit = usize::MAX;
    for arg in rest {
        if let Some(bytes) = arg.strip_prefix("limit=") {
            limit = bytes.parse()?;
        } else if let Some(name) = arg.strip_prefix("split=") {
            options.split = Some(split_from(name));
        }
    }
    let start = Instant::now();
    let (engine, _) = load(Path::new(file), &options, &Unwatched)?;
    let loaded = start.elapsed();
    let vocabulary = engine.vocabulary();
    let description = engine.description().model.as_bpe().ok_or("no byte-pair encoding")?;
    let start = Instant::now();
    let model = Bpe::new(description, vocabulary, &mut Ticker::new(&Unwatched))?;
    println!("load {loaded:.1?}, model {:.1?} and {} kB", start.elapsed(), model.memory() / 1000);
    let mut timed =
        Timed { model: &model, vocabulary, scratch: BpeScratch::default(), ids: Vec::new(), digest: 0 };
    for name in rest.iter().filter(|arg| !arg.contains('=')) {
        let mut text = std::fs::read_to_string(name)?;
        let mut end = limit.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        let bytes = text.as_bytes();
        let mut pretokens = Vec::new();
        if let Some(splitter) = engine.splitter() {
            splitter.for_each(&text, |span| {
                pretokens.push(span.of(bytes));
                Ok(())
            })?;
        }
        let distinct: HashSet<&[u8]> = pretokens.iter().copied().collect();
        let mut cold: Vec<&[u8]> =
            distinct.into_iter().filter(|text| vocabulary.find(text).is_none()).collect();
        cold.sort_unstable_by_key(|text| text.as_ptr());
        let mut line = String::new();
        let each = timed.run(&cold, 5)? * 1e9 / cold.len().max(1) as f64;
        let size: usize = cold.iter().map(|pretoken| pretoken.len()).sum();
        let width = size as f64 / cold.len().max(1) as f64;
        let _ = write!(line, "{:8} cold of {width:6.1} B: {each:8.0} ns each", cold.len());
        let speed = |seconds: f64| text.len() as f64 / seconds / 1e6;
        let _ = write!(line, ", split {:7.1} MB/s", speed(timed.run(&pretokens, 2)?));
        let split = timed.digest;
        let whole = &text[..text.floor_boundary(1_000_000)];
        let seconds = timed.run(&[whole.as_bytes()], 2)?;
        let _ = write!(line, ", one {:7.1} MB/s", whole.len() as f64 / seconds / 1e6);
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        println!("{name:18} {line}, ids {:08x} {:08x}", split as u32, timed.digest as u32);
    }
    Ok(())
}

trait FloorBoundary {
    fn floor_boundary(&self, at: usize) -> usize;
}

impl FloorBoundary for str {
    /// The last boundary of a character up to here.
    fn floor_boundary(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|&at| self.is_char_boundary(at)).unwrap_or(0)
    }
}
