//! The character maps that SentencePiece knows by name, made from the Unicode tables.
//!
//! In: a name. Out: rules, each a sequence of characters and its replacement. A character is replaced by its NFKC form.
//! So is every sequence of characters that NFKC composes into one, however its parts are written. `nmt` adds the rules
//! for machine translation: unusual blanks become spaces, and control characters are removed. `cf` adds the simple case
//! folding of each character.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokenmill_core::MadeOnce;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_compatible;

use super::map_writer::{Rules, write};

/// A map of SentencePiece with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedMap {
    /// With the rules of machine translation.
    pub nmt: bool,
    /// With case folding.
    pub case_folding: bool,
}

impl NamedMap {
    /// The map with this name: `nfkc`, `nmt_nfkc`, `nfkc_cf` or `nmt_nfkc_cf`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (nmt, case_folding) = match name {
            "nfkc" => (false, false),
            "nmt_nfkc" => (true, false),
            "nfkc_cf" => (false, true),
            "nmt_nfkc_cf" => (true, true),
            _ => return None,
        };
        Some(Self { nmt, case_folding })
    }

    /// The map as a model file holds it. The first call takes some tenths of a second.
    pub fn blob(self) -> Arc<[u8]> {
        static BLOBS: [MadeOnce<Arc<[u8]>>; 4] = [const { MadeOnce::new() }; 4];
        let index = usize::from(self.nmt) + 2 * usize::from(self.case_folding);
        Arc::clone(BLOBS[index].get_or_make(|| write(&self.rules()).into()))
    }

    pub(super) fn rules(self) -> Rules {
        let mut rules = nfkc();
        if self.nmt {
            add_nmt(&mut rules);
            remove_redundant(&mut rules);
        }
        if self.case_folding {
            add_case_folding(&mut rules);
            remove_redundant(&mut rules);
        }
        rules
    }
}

fn all_chars() -> impl Iterator<Item = char> {
    ('\u{1}'..=char::MAX).filter(|&c| c as u32 & 0xFFFE != 0xFFFE && !('\u{FDD0}'..='\u{FDEF}').contains(&c))
}

fn nfkc() -> Rules {
    let mut rules = Rules::new();
    let mut sequences: BTreeSet<String> = BTreeSet::new();
    // The characters that become each character.
    let mut spellings: BTreeMap<char, Vec<char>> = BTreeMap::new();
    for c in all_chars() {
        let mut parts = String::new();
        decompose_compatible(c, |part| parts.push(part));
        if let Some(part) = only(parts.chars()) {
            if part != c {
                spellings.entry(part).or_default().push(c);
                // A single character is not composed.
                rules.insert(c.into(), part.into());
            }
            continue;
        }
        let composed: String = std::iter::once(c).nfkc().collect();
        if composed.chars().ne([c]) {
            rules.insert(c.into(), composed);
        }
        sequences.insert(parts);
    }
    for sequence in sequences {
        let composed: String = sequence.nfkc().collect();
        if composed == sequence {
            continue;
        }
        let mut all = vec![String::new()];
        for c in sequence.chars() {
            let others = spellings.get(&c).map_or(&[][..], Vec::as_slice);
            let longer = all.iter().flat_map(|begun| {
                [&c].into_iter().chain(others).map(move |&next| {
                    let mut longer = begun.clone();
                    longer.push(next);
                    longer
                })
            });
            all = longer.collect();
        }
        for spelling in all.into_iter().filter(|spelling| *spelling != composed) {
            rules.insert(spelling, composed.clone());
        }
    }
    remove_redundant(&mut rules);
    rules
}

fn add_nmt(rules: &mut Rules) {
    let blanks =
        "\t\n\u{C}\r\u{61C}\u{1680}\u{200B}\u{200C}\u{200E}\u{200F}\u{2028}\u{2029}\u{2581}\u{FEFF}\u{FFFD}";
    for blank in blanks.chars() {
        rules.insert(blank.into(), " ".to_owned());
    }
    let controls = ('\u{1}'..='\u{8}').chain(['\u{B}']).chain('\u{E}'..='\u{1F}');
    for control in controls.chain(['\u{7F}', '\u{8F}', '\u{9F}']) {
        rules.insert(control.into(), String::new());
    }
    // Japanese tells the wide tilde from the narrow one.
    rules.remove("\u{FF5E}");
}

fn add_case_folding(rules: &mut Rules) {
    for new in rules.values_mut() {
        *new = new.chars().map(folded).collect();
    }
    for c in all_chars() {
        let new = folded(c);
        if new != c {
            rules.entry(c.into()).or_insert_with(|| new.into());
        }
    }
}

/// The simple case folding of a character.
fn folded(c: char) -> char {
    // Cherokee folds to its capitals, and the dotless i stays.
    match c as u32 {
        0x13A0..=0x13F5 | 0x131 => return c,
        0xAB70..=0xABBF => return char::from_u32(c as u32 - 0xAB70 + 0x13A0).unwrap_or(c),
        0x13F8..=0x13FD => return char::from_u32(c as u32 - 8).unwrap_or(c),
        _ => {}
    }
    let upper = only(c.to_uppercase()).unwrap_or(c);
    only(upper.to_lowercase()).unwrap_or(upper)
}

/// The only character of these, if there is just one.
fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// Removes what shorter rules give as well.
fn remove_redundant(rules: &mut Rules) {
    let length = |key: &str| key.chars().count();
    let mut kept = Rules::new();
    let mut longer: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
    for (key, new) in std::mem::take(rules) {
        match length(&key) {
            0 | 1 => drop(kept.insert(key, new)),
            count => longer.entry(count).or_default().push((key, new)),
        }
    }
    for (count, rules) in longer {
        // Rules of the same length do not count for each other.
        let needed: Vec<_> =
            rules.into_iter().filter(|(key, new)| normalized(&kept, key, count - 1) != *new).collect();
        kept.extend(needed);
    }
    *rules = kept;
}

/// A text in which the longest rules, of at most `longest` characters, are applied from the left.
fn normalized(rules: &Rules, text: &str, longest: usize) -> String {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(longest);
        let found = ends.filter_map(|end| Some((end, rules.get(&rest[..end])?))).last();
        let end = if let Some((end, new)) = found {
            result.push_str(new);
            end
        } else {
            result.push(first);
            first.len_utf8()
        };
        rest = &rest[end..];
    }
    result
}
