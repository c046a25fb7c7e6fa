//! How many characters start before each byte of a text.
//!
//! In: a text, part by part. Out: places in bytes as places in characters. A lookup takes a dozen
//! instructions, wherever it is; the table takes a quarter of the bytes of the text. The level never changes a result.
use crate::cpu::Level;
use crate::planes::{PLANE_BITS, WINDOW, leads};
use crate::try_alloc::{self, OutOfMemory};

/// Where the characters of a text start.
#[derive(Debug)]
pub struct CharStarts {
    blocks: Vec<Block>,
    /// The characters of all blocks.
    count: usize,
}

/// [`PLANE_BITS`] bytes of a text.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// How many characters start before them.
    before: usize,
    /// Bit `n` is set if byte `n` starts a character, or is after the end of the text.
    starts: u64,
}

impl CharStarts {
    /// Capacity for the blocks of a text of `length` bytes.
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn with_capacity(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self { blocks: try_alloc::vec(length / PLANE_BITS + 1)?, count: 0 })
    }

    /// Appends the next part of the text, which is valid UTF-8. The length of each part but the last must be a multiple
    /// of 64.
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn append(&mut self, level: Level, text: &[u8]) -> Result<(), OutOfMemory> {
        for at in (0..text.len()).step_by(PLANE_BITS) {
            let rest = &text[at..];
            let starts = if let Some(window) = rest.first_chunk::<WINDOW>() {
                leads(level, window)
            } else {
                let mut window = [0; WINDOW];
                window[..rest.len()].copy_from_slice(rest);
                leads(level, &window)
            };
            self.append_block(starts, rest.len())?;
        }
        Ok(())
    }

    /// As [`Self::append`], for `length` bytes of any text: `starts` says which of them start a character, counted from
    /// the first of these bytes.
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn append_where(&mut self, length: usize, starts: impl Fn(usize) -> bool) -> Result<(), OutOfMemory> {
        for at in (0..length).step_by(PLANE_BITS) {
            let in_block = PLANE_BITS.min(length - at);
            let bits = (0..in_block).fold(0, |bits, byte| bits | u64::from(starts(at + byte)) << byte);
            self.append_block(bits, in_block)?;
        }
        Ok(())
    }

    /// Appends a block of `length` bytes: bit `n` of `starts` says whether its byte `n` starts a character.
    fn append_block(&mut self, starts: u64, length: usize) -> Result<(), OutOfMemory> {
        let after = if length < PLANE_BITS { u64::MAX << length } else { 0 };
        try_alloc::push(&mut self.blocks, Block { before: self.count, starts: starts | after })?;
        self.count += (starts & !after).count_ones() as usize;
        Ok(())
    }

    /// Converts each span from bytes to characters, and passes its start and end to `emit`: the start is the number of
    /// the character that holds the first byte, the end is how many characters start before the end
    /// of the span. The spans must be within the text.
    #[inline]
    pub fn each_span(
        &self,
        level: Level,
        spans: impl Iterator<Item = (usize, usize)>,
        emit: impl FnMut(usize, usize),
    ) {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
                // These include all that the function enables.
                unsafe { each_span_x86(self, spans, emit) }
            }
            _ => each_span(self, spans, emit),
        }
    }
}

/// The same loop compiled with other features, which count the bits of a word by one instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn each_span_x86(
    table: &CharStarts,
    spans: impl Iterator<Item = (usize, usize)>,
    emit: impl FnMut(usize, usize),
) {
    each_span(table, spans, emit);
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of the caller")]
fn each_span(
    table: &CharStarts,
    spans: impl Iterator<Item = (usize, usize)>,
    mut emit: impl FnMut(usize, usize),
) {
    let after = Block { before: table.count, starts: u64::MAX };
    let block_of = |byte: usize| table.blocks.get(byte / PLANE_BITS).unwrap_or(&after);
    // At the end of the text there may be no block, and then the bit of `byte` is the first.
    let before = |block: &Block, byte: usize| {
        let bits = block.starts & !(u64::MAX << (byte % PLANE_BITS));
        block.before + bits.count_ones() as usize
    };
    for (start, end) in spans {
        let block = block_of(start);
        let is_inside = block.starts >> (start % PLANE_BITS) & 1 == 0;
        emit(before(block, start) - usize::from(is_inside), before(block_of(end), end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn characters_are_those_that_start_before(
            text in "(\\PC|[a-zé語🦊]{0,80}){0,9}",
            piece in 1..4_usize,
            places in prop::collection::vec((0..400_usize, 0..400_usize), 0..30),
        ) {
            let bytes = text.as_bytes();
            let place = |at: usize| at.min(bytes.len());
            let spans: Vec<_> = places.iter().map(|&(a, b)| (place(a.min(b)), place(a.max(b)))).collect();
            let count = |to: usize| bytes[..to].iter().filter(|&byte| byte & 0xC0 != 0x80).count();
            let want: Vec<_> = spans
                .iter()
                .map(|&(start, end)| (count(start) - usize::from(!text.is_char_boundary(start)), count(end)))
                .collect();
            for level in cpu::available() {
                let mut table = CharStarts::with_capacity(bytes.len()).unwrap();
                for piece in bytes.chunks(piece * PLANE_BITS) {
                    table.append(level, piece).unwrap();
                }
                let mut got = Vec::new();
                table.each_span(level, spans.iter().copied(), |start, end| got.push((start, end)));
                prop_assert_eq!(&got, &want, "{}", level);
                let mut table = CharStarts::with_capacity(bytes.len()).unwrap();
                table.append_where(bytes.len(), |byte| text.is_char_boundary(byte)).unwrap();
                let mut again = Vec::new();
                table.each_span(level, spans.iter().copied(), |start, end| again.push((start, end)));
                prop_assert_eq!(&again, &want, "{}", level);
            }
        }
    }
}
