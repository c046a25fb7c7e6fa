//! Ids whose text differs. In: two engines. Out: rows of ids that are decoded differently, or none.
use super::encoding::{Both, settled};
use super::texts;
use crate::engine::{DecodeOptions, Engine};
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::Ticker;

/// The ids of tokens that a decoder may treat in its own way are put side by side, at most as many.
const MOST_SIDE_BY_SIDE: usize = 64;

/// The same in rows of three.
const MOST_IN_THREES: usize = 20;

/// Takes the name of a kind and a row of ids of it; true if no more are wanted.
type FoundRow<'f> = dyn FnMut(&'static str, &[TokenId], &mut Ticker<'_>) -> Result<bool> + 'f;

/// Are these ids decoded differently? That one of both cannot decode them is a difference, too.
///
/// # Errors
/// Those that have nothing to do with the ids.
pub(super) fn differ(
    (a, b): (&Engine, &Engine),
    ids: &[TokenId],
    skip_special: bool,
    ticker: &mut Ticker<'_>,
) -> Result<bool> {
    ticker.spend(16 * ids.len() + 64)?;
    let options = DecodeOptions { skip_special, ..DecodeOptions::default() };
    let decode = |engine: &Engine| settled(engine.decode(ids, options, ticker.watch()));
    Ok(decode(a)? != decode(b)?)
}

/// Gives rows of ids to `found` until it returns true: each id alone and beside a letter, ids of unusual tokens side
/// by side, and the ids of texts.
///
/// # Errors
/// Those of `found` and of the watch.
pub(super) fn each_row(
    (a, b): (&Engine, &Engine),
    both: &mut Both<'_>,
    ticker: &mut Ticker<'_>,
    found: &mut FoundRow<'_>,
) -> Result<()> {
    let mut ids = [a.vocabulary().ids(), b.vocabulary().ids()].concat();
    ids.sort_unstable();
    ids.dedup();
    let letter = a.vocabulary().id_of_written("a").or(ids.first().copied());
    for &id in &ids {
        if found("single ids", &[id], ticker)? {
            return Ok(());
        }
    }
    for (&id, letter) in ids.iter().zip(std::iter::repeat(letter)) {
        let Some(letter) = letter else { break };
        if found("ids beside a letter", &[letter, id, letter, id, id], ticker)? {
            return Ok(());
        }
    }
    let unusual = unusual(a, b, &ids);
    for &first in &unusual {
        for &second in &unusual {
            if found("unusual ids", &[first, second], ticker)? {
                return Ok(());
            }
        }
    }
    let few = &unusual[..unusual.len().min(MOST_IN_THREES)];
    for &first in few {
        for &second in few {
            for &third in few {
                if found("unusual ids", &[first, second, third], ticker)? {
                    return Ok(());
                }
            }
        }
    }
    let mut texts: Vec<String> = texts::SENTENCES.iter().map(|&text| text.to_owned()).collect();
    texts::each_short("", &mut |text| {
        texts.push(text.to_owned());
        Ok(false)
    })?;
    for text in texts {
        for side in 0..2 {
            let Some(ids) = both.ids(side, &text, ticker)?.map(<[TokenId]>::to_vec) else { continue };
            if found("ids of texts", &ids, ticker)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Ids of tokens that are special, or no plain words: marks, punctuation, white space, bytes, and letters to go with
/// them. Kinds of tokens take turns, so that there are some of each.
fn unusual(a: &Engine, b: &Engine, ids: &[TokenId]) -> Vec<TokenId> {
    let mut kinds: [Vec<TokenId>; 6] = Default::default();
    for &id in ids {
        let Some(written) = a.vocabulary().written(id).or_else(|| b.vocabulary().written(id)) else {
            continue;
        };
        let is_special = a.vocabulary().is_special(id) || b.vocabulary().is_special(id);
        let has_mark =
            written.starts_with("##") || written.contains(['▁', 'Ġ', 'Ċ']) || written.ends_with("</w>");
        let kind = match written.as_str() {
            _ if is_special => 0,
            text if text.starts_with("<0x") && text.len() == 6 => 1,
            text if text.chars().count() <= 3 && text.chars().any(|c| c.is_ascii_punctuation()) => 2,
            text if text.chars().all(|c| c.is_ascii_alphanumeric()) => 3,
            _ if has_mark => 4,
            _ => 5,
        };
        if kinds[kind].len() < MOST_SIDE_BY_SIDE {
            kinds[kind].push(id);
        }
    }
    let longest = kinds.iter().map(Vec::len).max().unwrap_or_default();
    let turns = (0..longest).flat_map(|turn| kinds.iter().filter_map(move |kind| kind.get(turn)));
    turns.copied().take(MOST_SIDE_BY_SIDE).collect()
}
