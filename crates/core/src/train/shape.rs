//! How the bytes of a token lie within characters.
//!
//! In: the shapes of two neighbours. Out: that of both together, if it lies within one character or is made of whole
//! ones.

/// The shape of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Whole characters.
    Whole,
    /// The first bytes of a character that lacks this many more.
    Begun(u8),
    /// This many bytes inside a character.
    Inside(u8),
}

impl Shape {
    /// The shape of a byte of UTF-8.
    pub(super) fn of_byte(byte: u8) -> Self {
        match byte {
            0..0x80 => Self::Whole,
            0x80..0xC0 => Self::Inside(1),
            0xC0..0xE0 => Self::Begun(1),
            0xE0..0xF0 => Self::Begun(2),
            _ => Self::Begun(3),
        }
    }

    /// The shape of two tokens side by side.
    pub(super) fn joined(self, right: Self) -> Option<Self> {
        match (self, right) {
            (Self::Whole, Self::Whole) => Some(Self::Whole),
            (Self::Begun(lacks), Self::Inside(length)) => match lacks.checked_sub(length)? {
                0 => Some(Self::Whole),
                lacks => Some(Self::Begun(lacks)),
            },
            (Self::Inside(left), Self::Inside(right)) if left + right <= 3 => {
                Some(Self::Inside(left + right))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of some bytes, joined in any order.
    fn of(bytes: &[u8]) -> Option<Shape> {
        if let [byte] = bytes {
            return Some(Shape::of_byte(*byte));
        }
        (1..bytes.len()).find_map(|at| of(&bytes[..at])?.joined(of(&bytes[at..])?))
    }

    #[test]
    fn parts_of_a_text_lie_within_a_character_or_are_whole_ones() {
        let text = "aé漢😀é b漢😀😀";
        for start in 0..text.len() {
            for end in start + 1..=text.len().min(start + 9) {
                let bytes = &text.as_bytes()[start..end];
                let is_whole = text.is_char_boundary(start) && text.is_char_boundary(end);
                let is_within = (start + 1..end).all(|at| !text.is_char_boundary(at));
                assert_eq!(of(bytes).is_some(), is_whole || is_within, "{start}..{end}");
                if is_whole {
                    assert_eq!(of(bytes), Some(Shape::Whole));
                }
            }
        }
    }
}
