//! The tokens of a text to begin with: a model has no tokenizer, but it knows which tokens follow one another.
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use tokenmill_kernels::try_alloc;

use super::model::NGramModel;
use crate::error::{Error, Kind, Result};
use crate::watch::Ticker;

/// The longest text to begin with, in bytes.
const LIMIT: usize = 1000;

/// A token that ends somewhere in the text, and the best that ends where it begins.
struct Step {
    symbol: u32,
    /// The index of the step before; `None` at the start.
    before: Option<usize>,
    tokens: usize,
}

/// The fewest tokens that spell a text and follow one another in the corpus. The first may begin with a space that the
/// text does not have.
///
/// # Errors
/// A vocabulary error if there are none; a format error if the model is damaged.
pub(super) fn spell(model: &NGramModel, text: &str, ticker: &mut Ticker<'_>) -> Result<Vec<u32>> {
    if text.len() > LIMIT {
        let reason = format!("start= has {} bytes, over the limit of {LIMIT}; give its end", text.len());
        return Err(Error::argument(reason));
    }
    if text.is_empty() {
        return Err(Error::argument("start= is an empty text; leave it out to begin with a sentence"));
    }
    let with_space = format!(" {text}");
    let found = spellings(model, with_space.as_bytes(), ticker)?;
    for spelled in [text, &with_space] {
        if let Some(symbols) = shortest(model, spelled.as_bytes(), &found, ticker)? {
            return Ok(symbols);
        }
    }
    let reason = format!(
        "start={text:?} is not spelled by tokens that follow one another in the corpus; give words that stand together there"
    );
    Err(Kind::Vocabulary { id: None, position: None, reason }.into())
}

/// The tokens whose bytes occur in a text.
type Spellings = HashMap<Vec<u8>, Vec<u32>, FixedState>;

fn spellings(model: &NGramModel, text: &[u8], ticker: &mut Ticker<'_>) -> Result<Spellings> {
    let mut found = Spellings::default();
    let mut bytes = Vec::new();
    for symbol in 0..model.decoder.len() as u32 {
        bytes.clear();
        model.decoder.append(symbol, &mut bytes)?;
        ticker.spend(text.len())?;
        if !bytes.is_empty() && memchr::memmem::find(text, &bytes).is_some() {
            let symbols = found.entry(try_alloc::copy(&bytes)?).or_default();
            try_alloc::push(symbols, symbol)?;
        }
    }
    Ok(found)
}

fn shortest(
    model: &NGramModel,
    text: &[u8],
    spellings: &Spellings,
    ticker: &mut Ticker<'_>,
) -> Result<Option<Vec<u32>>> {
    let longest = spellings.keys().map(Vec::len).max().unwrap_or(0);
    let mut steps: Vec<Step> = Vec::new();
    // The steps that end at each byte.
    let mut ending: Vec<Vec<usize>> = try_alloc::filled(Vec::new(), text.len() + 1)?;
    for start in 0..text.len() {
        if start > 0 && ending[start].is_empty() {
            continue;
        }
        for end in start + 1..=text.len().min(start + longest) {
            for &symbol in spellings.get(&text[start..end]).map_or(&[][..], Vec::as_slice) {
                let mut best: Option<(usize, usize)> = None;
                for &before in &ending[start] {
                    ticker.spend(16)?;
                    let tokens = steps[before].tokens;
                    if best.is_none_or(|(fewest, _)| tokens < fewest)
                        && model.follows(steps[before].symbol, symbol)?
                    {
                        best = Some((tokens, before));
                    }
                }
                if start == 0 || best.is_some() {
                    let (tokens, before) = best.map_or((0, None), |(tokens, before)| (tokens, Some(before)));
                    try_alloc::push(&mut ending[end], steps.len())?;
                    try_alloc::push(&mut steps, Step { symbol, before, tokens: tokens + 1 })?;
                }
            }
        }
    }
    let Some(&last) = ending[text.len()].iter().min_by_key(|&&step| steps[step].tokens) else {
        return Ok(None);
    };
    let mut symbols = Vec::new();
    let mut step = Some(last);
    while let Some(at) = step {
        try_alloc::push(&mut symbols, steps[at].symbol)?;
        step = steps[at].before;
    }
    symbols.reverse();
    Ok(Some(symbols))
}
