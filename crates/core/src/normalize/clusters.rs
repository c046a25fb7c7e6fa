//! Grapheme clusters of one character: which characters are in no cluster with their neighbours.
use tokenmill_kernels::MadeOnce;
use unicode_segmentation::UnicodeSegmentation;

use super::letters::{is_jamo, is_letter};

/// Is a character a grapheme cluster of its own between any others of which this is true? Not known for control
/// characters.
pub(super) fn is_own_cluster(c: char) -> bool {
    match c {
        _ if is_letter(c) => true,
        _ if c.is_control() => false,
        // Parts of a syllable of Hangul, and flags beyond U+FFFF, join others of their kind alone.
        _ if is_jamo(c) || c > '\u{FFFF}' => stands_alone_twice(c),
        _ => BesideSpace::get().begins_after(c) && BesideSpace::get().ends_before(c),
    }
}

/// Is a character, written twice between letters, two grapheme clusters?
fn stands_alone_twice(c: char) -> bool {
    format!("a{c}{c}a").graphemes(true).count() == 4
}

/// Is a character in one grapheme cluster with a letter after it?
pub(crate) fn joins_letter_after(c: char) -> bool {
    !c.is_ascii() && format!("{c}a").graphemes(true).count() == 1
}

/// The characters that are in no grapheme cluster with a space beside them, nor with other white space of ASCII, but for
/// a line feed after a carriage return. Letters are not among them, see [`is_letter`].
#[derive(Debug)]
pub(crate) struct BesideSpace {
    /// A bit for each character up to U+FFFF: does a cluster end with it before a space?
    ends: Box<[u64; WORDS]>,
    /// Does a cluster begin with it after a space?
    begins: Box<[u64; WORDS]>,
}

const WORDS: usize = (1 << 16) / 64;

impl BesideSpace {
    /// The table; the first call makes it, which takes some milliseconds.
    pub(crate) fn get() -> &'static Self {
        static TABLE: MadeOnce<BesideSpace> = MadeOnce::new();
        TABLE.get_or_make(|| {
            let others = ('\0'..='\u{FFFF}').filter(|&c| !is_letter(c));
            let all: String = others.flat_map(|c| [' ', c]).chain([' ']).collect();
            Self::of(&all)
        })
    }

    /// The table for the characters of a text with spaces around each.
    fn of(text: &str) -> Self {
        let mut table = Self { ends: Box::new([0; WORDS]), begins: Box::new([0; WORDS]) };
        let set = |bits: &mut [u64; WORDS], c: Option<char>| {
            if let Some(code) = c.map(u32::from)
                && let Some(word) = bits.get_mut(code as usize / 64)
            {
                *word |= 1 << (code % 64);
            }
        };
        for cluster in text.graphemes(true) {
            set(&mut table.begins, cluster.chars().next());
            set(&mut table.ends, cluster.chars().next_back());
        }
        table
    }

    /// Does a cluster end with this character before a space? Beyond U+FFFF it must begin one after a space, too.
    pub(crate) fn ends_before(&self, c: char) -> bool {
        is_set(&self.ends, c)
    }

    /// Does a cluster begin with this character after a space? Beyond U+FFFF it must end one before a space, too.
    pub(crate) fn begins_after(&self, c: char) -> bool {
        is_set(&self.begins, c)
    }
}

/// Characters beyond U+FFFF are looked at one by one.
fn is_set(bits: &[u64; WORDS], c: char) -> bool {
    let code = u32::from(c);
    match bits.get(code as usize / 64) {
        Some(word) => word >> (code % 64) & 1 == 1,
        None => format!(" {c} ").graphemes(true).count() == 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beside_a_space_are_known() {
        let table = BesideSpace::get();
        for c in ('\0'..='\u{1FFFF}').filter(|&c| c != ' ' && !is_letter(c)) {
            let before = format!("{c} ").graphemes(true).count() == 2;
            let after = format!(" {c}").graphemes(true).count() == 2;
            if c <= '\u{FFFF}' {
                assert_eq!((table.ends_before(c), table.begins_after(c)), (before, after), "{c:?}");
            } else {
                assert!((before && after) == table.ends_before(c), "{c:?}");
            }
        }
    }

    #[test]
    fn characters_that_are_clusters_are_known_without_writing_them() {
        for c in ('\0'..='\u{FFFF}').filter(|c| !c.is_control()) {
            assert_eq!(is_own_cluster(c), stands_alone_twice(c), "{c:?}");
        }
    }

    #[test]
    fn clusters_of_one_character_stay_apart_from_one_another() {
        let own: Vec<char> = ('\0'..='\u{1FFFF}').filter(|&c| is_own_cluster(c)).collect();
        assert!(own.len() > 100_000 && !own.contains(&'\u{301}') && !own.contains(&'\u{1F1E6}'));
        // Every property of a pair shows beside one character of each kind.
        let kinds = ['a', '漢', '가', '각', 'क', '☺', '\u{1F600}', '。'];
        for &c in &own {
            for text in kinds.map(|kind| format!("{kind}{c}{kind}")) {
                assert_eq!(text.graphemes(true).count(), 3, "{text:?}");
            }
        }
    }
}
