//! Places from which on the borders of a text can be found without what is before them.
//!
//! In: a text and a place. Out: a place not far before it. The rules of UAX 29 look at few characters to the left: so
//! between two plain characters nothing is open that the rules behind them could ask for.
use super::border::Border;

/// A place in `from..=at` from which on the borders behind it are those of the whole text, and whether it is a border
/// itself.
pub(super) fn place_before(border: Border, text: &str, from: usize, at: usize) -> Option<(usize, bool)> {
    let from = from.max(1);
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

fn is_place(border: Border, left: char, right: char) -> bool {
    match border {
        // Each of these is a grapheme of its own.
        Border::Grapheme => {
            let is_plain = |c: char| matches!(c, ' '..='~') || is_ideograph(c) || is_kana(c);
            is_plain(left) && is_plain(right)
        }
        // A space joins other spaces alone, an ideograph nothing.
        Border::Word => {
            (left == ' ' && (right.is_ascii_alphanumeric() || is_cyrillic(right)))
                || (is_ideograph(left) && is_ideograph(right))
        }
        // Nothing ends a sentence before the right one, and the left one asks for nothing.
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
