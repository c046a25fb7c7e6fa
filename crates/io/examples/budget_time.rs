//! Times texts that grow, and ranges: `budget_time VOCABULARY [split=NAME] [limit=BYTES] [pairs=N] TEXT...`.
//!
//! For each text: ns per byte for encoding it at once, for appending and prepending it character by character with its
//! count after each, for appending it at once, and for the pass of an interval counter; ns for a range of 1 to 10,000
//! characters (log-uniform), for one that is encoded, and for how far a range of 500 ids reaches; chunks of 512 ids on
//! one thread and on two. Counts are compared first. Then the tokens that end at a place and how many of them are
//! tried, for a text without a split; with `pairs=` how many of that many random pairs may stand side by side.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::default_trait_access)]
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokenmill_core::budget::{
    Appender, Border, ChunkOptions, GrowingText, IntervalCounter, Oversize, Prepender, Unit,
};
use tokenmill_core::engine::{Engine, Special, Text};
use tokenmill_core::pattern::named_splits::split_from;
use tokenmill_core::watch::{Ticker, Unwatched};
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
        return Err("budget_time VOCABULARY [split=NAME] [limit=BYTES] [pairs=N] TEXT...".into());
    };
    let mut options = LoadOptions::default();
    let (mut limit, mut pairs) = (1_000_000, 0_u64);
    for arg in rest {
        if let Some(bytes) = arg.strip_prefix("limit=") {
            limit = bytes.parse()?;
        } else if let Some(count) = arg.strip_prefix("pairs=") {
            pairs = count.parse()?;
        } else if let Some(name) = arg.strip_prefix("split=") {
            options.split = Some(split_from(name));
        }
    }
    let (engine, _) = load(Path::new(file), &options, &Unwatched)?;
    let engine: Arc<Engine> = engine.into();
    for name in rest.iter().filter(|arg| !arg.contains('=')) {
        let text = std::fs::read_to_string(name)?;
        let end = (0..=limit.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        println!("{}", Path::new(name).file_name().unwrap_or_default().to_string_lossy());
        growing(&engine, &text[..end])?;
        ranges(&engine, &text[..end])?;
        chunks(&engine, &text[..end])?;
        tokens_at_places(&engine, &text.as_bytes()[..end])?;
    }
    if pairs > 0 {
        valid_pairs(&engine, pairs)?;
    }
    Ok(())
}

fn growing(engine: &Arc<Engine>, text: &str) -> Result<(), Failure> {
    let mut ids = Vec::new();
    let (at_once, whole) = best(5, || {
        ids.clear();
        engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids)?;
        Ok(ids.len())
    })?;
    let appended = |pieces: &mut dyn Iterator<Item = &str>| -> Result<usize, Failure> {
        let mut appender = Appender::new(Arc::clone(engine), Special::Text)?;
        for piece in pieces {
            appender.push(Text::Str(piece), &Unwatched)?;
        }
        Ok(appender.count())
    };
    let characters = || text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
    let (by_one, count) = best(3, || appended(&mut characters()))?;
    let (in_one, _) = best(3, || appended(&mut std::iter::once(text)))?;
    let (backwards, other) = best(3, || {
        let mut prepender = Prepender::new(Arc::clone(engine), Special::Text)?;
        for piece in characters().rev() {
            prepender.push(Text::Str(piece), &Unwatched)?;
        }
        Ok(prepender.count())
    })?;
    if count != whole || other != whole {
        return Err(format!("{count} ids appended, {other} prepended, {whole} at once").into());
    }
    let per_byte = |time: f64| time * 1e9 / text.len() as f64;
    println!("  encode                  {:8.1} ns/B", per_byte(at_once));
    for (name, time) in
        [("append characters", by_one), ("append at once", in_one), ("prepend characters", backwards)]
    {
        println!("  {name:22} {:9.1} ns/B, {:.1} x encode", per_byte(time), time / at_once);
    }
    Ok(())
}

fn ranges(engine: &Arc<Engine>, text: &str) -> Result<(), Failure> {
    const COUNT: usize = 50_000;
    let (pass, _) = best(2, || {
        let counter = IntervalCounter::new(Arc::clone(engine), text, Special::Text, false, &Unwatched)?;
        Ok(counter.characters())
    })?;
    let counter = IntervalCounter::new(Arc::clone(engine), text, Special::Text, false, &Unwatched)?;
    let mut random = Random(7);
    let length = counter.characters();
    let ranges: Vec<[i64; 2]> = (0..COUNT)
        .map(|_| {
            let size = (10_000_f64.powf(random.next_below(1 << 20) as f64 / f64::from(1 << 20)) as usize)
                .min(length);
            let start = random.next_below((length - size + 1) as u64) as usize;
            [start as i64, (start + size) as i64]
        })
        .collect();
    let mut counts = Vec::new();
    let (many, _) = best(3, || {
        counts = counter.count_many(&ranges, Unit::Characters, 1, &Unwatched)?;
        Ok(counts.len())
    })?;
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let few = COUNT / 100;
    let (encoded, _) = best(1, || {
        for ([start, stop], want) in ranges.iter().zip(&counts).take(few) {
            let part = &text[places[*start as usize]..places[*stop as usize]];
            if engine.count(Text::Str(part), &Special::Text, 1, &Unwatched)? as i64 != *want {
                return Err(format!("{start} to {stop} is counted wrong").into());
            }
        }
        Ok(0)
    })?;
    let (fits, _) = best(2, || {
        for [start, _] in ranges.iter().take(few) {
            counter.fits(*start as usize, 500, Unit::Characters, &Unwatched)?;
        }
        Ok(0)
    })?;
    let per = |time: f64, count: usize| time * 1e9 / count as f64;
    println!("  pass over a text        {:8.1} ns/B", per(pass, text.len()));
    println!("  memory                  {:8.1} B/B", counter.memory() as f64 / text.len() as f64);
    println!("  a range                 {:8.0} ns", per(many, COUNT));
    println!("  a range that is encoded {:8.0} ns", per(encoded, few));
    println!("  how far 500 ids reach   {:8.0} ns", per(fits, few));
    Ok(())
}

fn chunks(engine: &Arc<Engine>, text: &str) -> Result<(), Failure> {
    let mut ids = Vec::new();
    let (at_once, _) = best(5, || {
        ids.clear();
        engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids)?;
        Ok(ids.len())
    })?;
    for (border, name) in Border::ALL {
        let options =
            ChunkOptions { limit: 512, overlap: 0, border, oversize: Oversize::Split, adds_special: false };
        for threads in [1, 2] {
            let (time, _) = best(3, || {
                Ok(engine.chunk(text, &options, &Special::Text, threads, &Unwatched)?.spans.len())
            })?;
            println!("  chunks at a {name:<9} {threads}   {:8.2} x encode", time / at_once);
        }
    }
    Ok(())
}

/// The tokens that end at a place of a text without a split, and how many of them are tried until one fits.
fn tokens_at_places(engine: &Engine, text: &[u8]) -> Result<(), Failure> {
    let ticker = &mut Ticker::new(&Unwatched);
    let Some(canonical) = engine.model().as_bpe().and_then(|model| model.canonical()) else { return Ok(()) };
    let matcher = canonical.matcher(engine.vocabulary(), ticker)?;
    let (mut state, mut last) = (Default::default(), Vec::<u32>::with_capacity(text.len()));
    let (mut endings, mut tried) = (0_usize, 0_usize);
    for &byte in text {
        state = matcher.step(state, byte);
        endings += matcher.endings(state).count();
        let length = last.len() + 1;
        let found = matcher.endings(state).find(|&token| {
            tried += 1;
            let before = length - matcher.length(token);
            before == 0 || matcher.stays_apart(last[before - 1], token)
        });
        last.push(found.ok_or("no token ends a prefix")?);
    }
    let per = |count: usize| count as f64 / text.len() as f64;
    println!("  tokens that end at a byte {:.2}, tried {:.2}", per(endings), per(tried));
    Ok(())
}

/// How many pairs of tokens may stand side by side, of all and of a sample.
fn valid_pairs(engine: &Engine, pairs: u64) -> Result<(), Failure> {
    let Some(canonical) = engine.model().as_bpe().and_then(|model| model.canonical()) else { return Ok(()) };
    let matcher = canonical.matcher(engine.vocabulary(), &mut Ticker::new(&Unwatched))?;
    let symbols: Vec<u32> = matcher.symbols().collect();
    let mut random = Random(11);
    let mut pick = || symbols[random.next_below(symbols.len() as u64) as usize];
    let valid = (0..pairs).filter(|_| matcher.stays_apart(pick(), pick())).count();
    let part = valid as f64 / pairs as f64;
    println!(
        "of {pairs} random pairs of {} tokens {:.3} % stay apart: about {:.0} million of all",
        symbols.len(),
        100.0 * part,
        part * (symbols.len() as f64).powi(2) / 1e6
    );
    Ok(())
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn next_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
