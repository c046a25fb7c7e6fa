//! Texts of one character. In: two descriptions. Out: every character that a stage may treat in its own way, among
//! letters, digits and white space.
use std::collections::BTreeSet;
use std::sync::Arc;

use super::around::Found;
use crate::description::{Description, Normalizer, Pattern, PreTokenizer};
use crate::error::Result;
use crate::pattern::classes::class;

/// The code points that are taken or left out together.
const BLOCK: u32 = 256;

/// In blocks that have no assigned characters, one in this many is taken, and the last.
const STEP: u32 = 64;

/// Every character of the blocks in which any is assigned, and every one that a pattern names. Of the others, private
/// use and unassigned, a few of each block: only a pattern that names them or a character map tells them apart.
/// Where the maps differ, every character there is.
pub(super) fn each_character(a: &Description, b: &Description, found: &mut Found<'_>) -> Result<bool> {
    let assigned = class(r"[^\p{Cn}\p{Co}]");
    let ranges = assigned.ranges();
    let is_every = character_maps(a) != character_maps(b);
    let named: BTreeSet<u32> = [a, b].into_iter().flat_map(named_characters).collect();
    let mut text = String::new();
    for start in (0..=u32::from(char::MAX)).step_by(BLOCK as usize) {
        let next = ranges.partition_point(|range| u32::from(range.end()) < start);
        let has_assigned = ranges.get(next).is_some_and(|range| u32::from(range.start()) < start + BLOCK);
        for code_point in start..start + BLOCK {
            let is_sample = code_point % STEP == 0 || code_point % BLOCK == BLOCK - 1;
            if !(is_every || has_assigned || is_sample || named.contains(&code_point)) {
                continue;
            }
            let Some(char) = char::from_u32(code_point) else { continue };
            text.clear();
            for part in ["", "a", "", " ", "1", "A"] {
                text.push_str(part);
                text.push(char);
            }
            text.push('a');
            if found(&text)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The character maps of the normalizers.
fn character_maps(description: &Description) -> Vec<&Arc<[u8]>> {
    let maps = description.normalizer.iter().filter_map(|step| match step {
        Normalizer::Precompiled(map) => Some(map),
        Normalizer::SentencePiece(rules) => Some(&rules.charsmap),
        _ => None,
    });
    maps.collect()
}

/// The code points that the patterns name, as characters or by number (`\x{e000}`, `\u{e000}`, `\ue000`), and those
/// beside them, where a range may end.
fn named_characters(description: &Description) -> Vec<u32> {
    let mut named = Vec::new();
    for pattern in patterns(description) {
        let (Pattern::Literal(text) | Pattern::Regex(text)) = pattern;
        named.extend(text.chars().map(u32::from));
        for (at, _) in text.match_indices(['x', 'u', 'U']) {
            let digits: String = text[at + 1..].trim_start_matches('{').chars().take(8).collect();
            let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            named.extend(
                [end, end.min(4)].iter().filter_map(|&end| u32::from_str_radix(&digits[..end], 16).ok()),
            );
        }
    }
    named.iter().flat_map(|&code_point| [code_point.saturating_sub(1), code_point, code_point + 1]).collect()
}

/// The patterns of the steps.
fn patterns(description: &Description) -> impl Iterator<Item = &Pattern> {
    let replaced = description.normalizer.iter().filter_map(|step| match step {
        Normalizer::Replace { pattern, .. } => Some(pattern),
        _ => None,
    });
    let split = description.pre_tokenizer.iter().filter_map(|step| match step {
        PreTokenizer::Split { pattern, .. } => Some(pattern),
        _ => None,
    });
    replaced.chain(split)
}
