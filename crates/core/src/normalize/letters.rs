//! Letters that normalizers rewrite one at a time.
use unicode_normalization_alignments::char::is_combining_mark;

/// Is this a letter that no normalizer known here joins to what is before it, drops, or turns into a space? Such a
/// letter is in no grapheme cluster with another one, nor with printable ASCII.
pub(crate) fn is_letter(c: char) -> bool {
    matches!(
        u32::from(c),
        0x41..=0x5A | 0x61..=0x7A          // Latin
        | 0xC0..=0xD6 | 0xD8..=0xF6 | 0xF8..=0xFF
        | 0x391..=0x3A1 | 0x3A3..=0x3C9    // Greek
        | 0x400..=0x481                    // Cyrillic
        | 0x5D0..=0x5EA                    // Hebrew
        | 0x621..=0x63A | 0x641..=0x64A    // Arabic
        | 0x904..=0x939                    // Devanagari
        | 0xE01..=0xE30                    // Thai
        | 0x3042..=0x3096 | 0x30A2..=0x30FA // Kana
        | 0xAC00..=0xD7A3                  // Hangul
    ) || is_plain_ideograph(c)
}

/// May a character begin with this one after it was decomposed, or end with it? So do parts of a syllable of Hangul,
/// and combining marks.
pub(crate) fn may_follow_letter(c: char) -> bool {
    is_combining_mark(c) || is_jamo(c)
}

/// Is this a part of a syllable of Hangul?
pub(super) fn is_jamo(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11FF | 0xA960..=0xA97F | 0xD7B0..=0xD7FF)
}

/// The ideographs that no normalizer changes.
pub(crate) fn is_plain_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x4E00..=0x9FA5)
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn letters_are_clusters_of_their_own() {
        for c in ('!'..='\u{FFFF}').filter(|&c| is_letter(c)) {
            for neighbour in "aé~ж漢가かกक".chars() {
                let text = format!("{neighbour}{c}{c}{neighbour}");
                assert_eq!(text.graphemes(true).count(), 4, "{text:?}");
            }
        }
    }
}
