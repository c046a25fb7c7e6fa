//! A text that grows at its start.
use tokenmill_kernels::{OutOfMemory, try_alloc};

/// Bytes with free capacity in front of them.
#[derive(Debug, Default)]
pub(super) struct FrontText {
    bytes: Vec<u8>,
    /// Where the text begins.
    start: usize,
}

impl FrontText {
    /// The text.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Its number of bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Prepends a piece. Cost: amortized constant per byte.
    ///
    /// # Errors
    /// Out of memory; the text is then as it was.
    pub(super) fn prepend(&mut self, piece: &[u8]) -> Result<(), OutOfMemory> {
        if piece.len() > self.start {
            let length = self.len();
            let capacity = (2 * length).max(length + piece.len()).max(64);
            let mut bytes = try_alloc::filled(0, capacity)?;
            bytes[capacity - length..].copy_from_slice(self.as_bytes());
            *self = Self { bytes, start: capacity - length };
        }
        self.start -= piece.len();
        self.bytes[self.start..self.start + piece.len()].copy_from_slice(piece);
        Ok(())
    }

    /// Keeps the last `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.start = self.bytes.len().saturating_sub(length).max(self.start);
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_in_front_of_what_was_there() {
        let (mut text, mut want) = (FrontText::default(), Vec::new());
        for (number, piece) in
            ["c", "", "ab", "a longer piece than all before together, or so", "x"].iter().enumerate()
        {
            text.prepend(piece.as_bytes()).unwrap();
            want.splice(0..0, piece.bytes());
            assert_eq!(text.as_bytes(), want);
            if number == 2 {
                text.truncate(2);
                want.drain(..1);
                assert_eq!((text.as_bytes(), text.len()), (&want[..], 2));
            }
        }
    }
}
