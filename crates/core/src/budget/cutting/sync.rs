//! Places at which the search for borders may start.
//!
//! In: a text and a position. Out: an earlier position such that searching from there finds the borders of the whole
//! text. The rules of UAX 29 look back only a few characters, so the state between two plain characters is known.
use memchr::memrchr2;

use super::border::Border;

/// The last such position in `from..=at`, and whether it is itself a border.
pub(super) fn place_before(border: Border, text: &str, from: usize, at: usize) -> Option<(usize, bool)> {
    let from = from.max(1);
    if border == Border::Line {
        return Some((line_before(text.as_bytes(), from, at)?, true));
    }
    let end = (from..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at))?;
    let mut right = text[end..].chars().next()?;
    let mut place = end;
    for left in text[..end].chars().rev() {
        if place < from {
            return None;
        }
        if is_place(border, left, right) {
            return Some((place, border != Border::Sentence));
        }
        (place, right) = (place - left.len_utf8(), left);
    }
    None
}

/// The last place in `from..=at` where a line begins.
fn line_before(text: &[u8], from: usize, at: usize) -> Option<usize> {
    let mut end = at.min(text.len());
    loop {
        let place = from + memrchr2(b'\n', b'\r', text.get(from - 1..end)?)?;
        if text[place - 1] != b'\r' || text.get(place) != Some(&b'\n') {
            return Some(place);
        }
        end = place - 1;
    }
}

fn is_place(border: Border, left: char, right: char) -> bool {
    match border {
        // Each of these is always a grapheme by itself.
        Border::Grapheme => {
            let is_plain = |c: char| matches!(c, ' '..='~') || is_ideograph(c) || is_kana(c);
            is_plain(left) && is_plain(right)
        }
        // A space joins only other spaces, an ideograph joins nothing.
        Border::Word => {
            (left == ' ' && (right.is_ascii_alphanumeric() || is_cyrillic(right)))
                || (is_ideograph(left) && is_ideograph(right))
        }
        // No sentence ends between them, and no rule is pending after the left one.
        Border::Sentence => {
            let is_plain =
                |c: char| c.is_ascii_lowercase() || is_ideograph(c) || is_kana(c) || is_small_cyrillic(c);
            is_plain(left) && is_plain(right)
        }
        Border::Character | Border::Line => false,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fa5}')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}')
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{410}'..='\u{44f}')
}

fn is_small_cyrillic(c: char) -> bool {
    matches!(c, '\u{430}'..='\u{44f}')
}
