//! The types that hold a code unit, and how wide the code units of a text must be.

/// An unsigned number that holds a code unit.
pub trait CodeUnit: Copy + Into<u32> {
    /// The lowest bits of a code point: the whole code point if the unit is wide enough.
    fn of(code_point: u32) -> Self;
}

impl CodeUnit for u8 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point as u8
    }
}

impl CodeUnit for u16 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point as u16
    }
}

impl CodeUnit for u32 {
    #[inline]
    fn of(code_point: u32) -> Self {
        code_point
    }
}

/// The narrowest code units that hold every character of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitWidth {
    /// One byte, and all below 128.
    Ascii,
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
}
