//! The bytes that each id decodes to, in one arena addressed by `u32` offsets.
//!
//! Ids may have gaps. A vocabulary with a few huge ids is stored sparsely and searched, so that the
//! table does not grow with the largest id.
//!
//! Many ids are decoded in two passes. The first reads one byte per token, and returns the size of
//! the output and whether it is ASCII. The second copies tokens, sixteen bytes at a time where
//! possible.
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};

use crate::error::{Error, Result};
use crate::ids::{TokenId, to_u32};

/// Bytes per copy. The arena ends with this many zeros, so that the last token can be copied this way.
const COPIED: usize = 16;

/// The shape of a token in one byte: its length, or [`LONG`] for any longer one, and two flags. An
/// unused id between others has no bytes, and counts as long so that it takes the slow path.
const LONG: u8 = 63;
const NOT_ASCII: u8 = 64;
const SPECIAL: u8 = 128;

/// Number of ids whose shapes are combined before they are tested.
const GROUP: usize = 128;

/// The bytes that each id decodes to.
#[derive(Debug)]
pub(crate) struct DecodedTokens {
    /// Ascending ids, whose positions are the slots; `None` if each id is its own slot.
    sparse: Option<Array<TokenId>>,
    /// Number of ids that exist.
    count: usize,
    /// The bytes of a slot are `arena[offsets[slot]..offsets[slot + 1]]`.
    arena: Array<u8>,
    offsets: Array<u32>,
    shapes: Array<u8>,
}

/// Size of the output for some ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedSize {
    /// Number of bytes.
    pub bytes: usize,
    /// Are all of them ASCII?
    pub is_ascii: bool,
}

/// Builds the table from tokens in ascending order of ids.
#[derive(Debug)]
pub(crate) struct DecodedTokensBuilder {
    /// `None` as long as each id is its own slot.
    ids: Option<Vec<TokenId>>,
    arena: Vec<u8>,
    offsets: Vec<u32>,
    shapes: Vec<u8>,
}

impl DecodedTokens {
    /// A builder with capacity for `tokens` tokens that have `bytes` bytes in all.
    pub(crate) fn with_capacity(tokens: usize, bytes: usize) -> DecodedTokensBuilder {
        let mut offsets = Vec::with_capacity(tokens + 1);
        offsets.push(0);
        let (arena, shapes) = (Vec::with_capacity(bytes + COPIED), Vec::with_capacity(tokens));
        DecodedTokensBuilder { ids: None, arena, offsets, shapes }
    }

    /// Number of ids that exist.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        let ids = self.sparse.as_ref().map_or(0, Array::memory);
        ids + self.arena.memory() + self.offsets.memory() + self.shapes.memory()
    }

    /// Does this id exist?
    #[inline]
    pub(crate) fn contains(&self, id: TokenId) -> bool {
        self.slot(id).is_some()
    }

    /// The bytes of an id; `None` if it does not exist.
    #[inline]
    pub(crate) fn get(&self, id: TokenId) -> Option<&[u8]> {
        let (start, end) = self.bounds(self.slot(id)?);
        Some(&self.arena[start..end])
    }

    /// The number of bytes of an id; 0 if it does not exist.
    #[inline]
    pub(crate) fn length(&self, id: TokenId) -> usize {
        match self.shapes.get(id as usize) {
            Some(shape) if self.sparse.is_none() && shape & LONG != LONG => usize::from(shape & LONG),
            _ => self.get(id).map_or(0, <[u8]>::len),
        }
    }

    /// The slot of an id; `None` if it does not exist.
    #[inline]
    fn slot(&self, id: TokenId) -> Option<usize> {
        let slot = match &self.sparse {
            None => id as usize,
            Some(ids) => ids.binary_search(&id).ok()?,
        };
        let &shape = self.shapes.get(slot)?;
        let is_one = shape != LONG || {
            let (start, end) = self.bounds(slot);
            end > start
        };
        is_one.then_some(slot)
    }

    #[inline]
    fn bounds(&self, slot: usize) -> (usize, usize) {
        (self.offsets[slot] as usize, self.offsets[slot + 1] as usize)
    }

    /// The size of the output for `ids`; special tokens are left out if `skip_special`. `undefined`
    /// returns the replacement for an id that does not exist, by its position.
    ///
    /// # Errors
    /// Errors of `undefined`.
    pub(crate) fn measure(
        &self,
        ids: &[TokenId],
        skip_special: bool,
        undefined: impl Fn(usize) -> Result<&'static str>,
    ) -> Result<DecodedSize> {
        let mut all = DecodedSize { bytes: 0, is_ascii: true };
        for (group, ids) in ids.chunks(GROUP).enumerate() {
            let size = match self.measure_plain(ids, skip_special) {
                Some(size) => size,
                None => {
                    self.measure_any(ids, skip_special, |position| undefined(group * GROUP + position))?
                }
            };
            all.bytes += size.bytes;
            all.is_ascii &= size.is_ascii;
        }
        Ok(all)
    }

    /// The size of the output if all ids exist and are short, without a branch per id; else `None`.
    #[inline]
    fn measure_plain(&self, ids: &[TokenId], skip_special: bool) -> Option<DecodedSize> {
        if self.sparse.is_some() {
            return None;
        }
        let (mut bytes, mut all, mut longest) = (0, 0, 0);
        for &id in ids {
            let shape = self.shapes.get(id as usize).copied().unwrap_or(LONG);
            // A skipped token has no bytes.
            let shape = if skip_special && shape & SPECIAL != 0 { 0 } else { shape };
            bytes += usize::from(shape & LONG);
            longest = longest.max(shape & LONG);
            all |= shape;
        }
        (longest < LONG).then_some(DecodedSize { bytes, is_ascii: all & NOT_ASCII == 0 })
    }

    fn measure_any(
        &self,
        ids: &[TokenId],
        skip_special: bool,
        undefined: impl Fn(usize) -> Result<&'static str>,
    ) -> Result<DecodedSize> {
        let mut all = DecodedSize { bytes: 0, is_ascii: true };
        for (position, &id) in ids.iter().enumerate() {
            let Some(slot) = self.slot(id) else {
                let text = undefined(position)?;
                all.bytes += text.len();
                all.is_ascii &= text.is_ascii();
                continue;
            };
            let shape = self.shapes[slot];
            if skip_special && shape & SPECIAL != 0 {
                continue;
            }
            let (start, end) = self.bounds(slot);
            all.bytes += end - start;
            all.is_ascii &= shape & NOT_ASCII == 0;
        }
        Ok(all)
    }

    /// Copies the bytes of `ids` to the front of `bytes` and returns their number. `bytes` must be
    /// at least as long as [`Self::measure`] returns for the same arguments. Bytes after the copied
    /// ones may be overwritten.
    ///
    /// # Errors
    /// Errors of `undefined`; an internal error if `bytes` is too short.
    pub(crate) fn copy(
        &self,
        ids: &[TokenId],
        skip_special: bool,
        undefined: impl Fn(usize) -> Result<&'static str>,
        bytes: &mut [u8],
    ) -> Result<usize> {
        let mut at = 0;
        for (position, &id) in ids.iter().enumerate() {
            // The fast path, for nearly all ids: dense, short, not empty and not skipped.
            if let Some(&[start, end]) = self.dense_offsets(id)
                && let length @ 1..=COPIED = (end - start) as usize
                && !(skip_special && self.shapes[id as usize] & SPECIAL != 0)
                && let Some(from) = self.arena.get(start as usize..start as usize + COPIED)
                && let Some(to) = bytes.get_mut(at..at + COPIED)
            {
                to.copy_from_slice(from);
                at += length;
                continue;
            }
            let token = match self.slot(id) {
                Some(slot) if skip_special && self.shapes[slot] & SPECIAL != 0 => continue,
                Some(slot) => {
                    let (start, end) = self.bounds(slot);
                    &self.arena[start..end]
                }
                None => undefined(position)?.as_bytes(),
            };
            copy_exactly(token, bytes, at)?;
            at += token.len();
        }
        Ok(at)
    }

    /// Start and end of an id's bytes; `None` for a sparse table.
    #[inline]
    fn dense_offsets(&self, id: TokenId) -> Option<&[u32; 2]> {
        if self.sparse.is_some() {
            return None;
        }
        self.offsets.get(id as usize..)?.first_chunk()
    }
}

fn copy_exactly(from: &[u8], to: &mut [u8], at: usize) -> Result<()> {
    match to.get_mut(at..at + from.len()) {
        Some(to) => to.copy_from_slice(from),
        None => return Err(Error::internal("decoded bytes are more than was measured")),
    }
    Ok(())
}

impl DecodedTokensBuilder {
    /// Adds a token; its id must be larger than all before it.
    #[inline]
    pub(crate) fn push(&mut self, id: TokenId, bytes: &[u8], is_special: bool) {
        let length = u8::try_from(bytes.len()).map_or(LONG, |length| length.min(LONG));
        let not_ascii = if bytes.is_ascii() { 0 } else { NOT_ASCII };
        let special = if is_special { SPECIAL } else { 0 };
        let slot = to_u32(self.shapes.len());
        if self.ids.is_some() || id != slot {
            self.ids.get_or_insert_with(|| (0..slot).collect()).push(id);
        }
        self.shapes.push(length | not_ascii | special);
        self.arena.extend_from_slice(bytes);
        self.offsets.push(to_u32(self.arena.len()));
    }

    /// Builds the table.
    pub(crate) fn finish(mut self) -> DecodedTokens {
        self.arena.extend_from_slice(&[0; COPIED]);
        let count = self.shapes.len();
        let mut sparse = None;
        if let Some(ids) = self.ids.take() {
            let last = ids.last().map_or(0, |&last| last as usize);
            if last > 4 * ids.len() + 65_536 {
                sparse = Some(ids.into());
            } else {
                self.spread(&ids, last);
            }
        }
        let Self { ids: _, arena, offsets, shapes } = self;
        DecodedTokens { sparse, count, arena: arena.into(), offsets: offsets.into(), shapes: shapes.into() }
    }

    /// Gives each id its own slot, and unused ids an empty one.
    fn spread(&mut self, ids: &[TokenId], last: usize) {
        let mut offsets = Vec::with_capacity(last + 2);
        let mut shapes = Vec::with_capacity(last + 1);
        for (slot, &id) in ids.iter().enumerate() {
            let start = self.offsets[slot];
            offsets.resize(id as usize + 1, start);
            shapes.resize(id as usize, LONG);
            shapes.push(self.shapes[slot]);
        }
        offsets.extend(self.offsets.last());
        (self.offsets, self.shapes) = (offsets, shapes);
    }
}

impl InImage for DecodedTokens {
    fn write(&self, image: &mut ImageWriter) {
        image.number(u64::from(self.sparse.is_some()));
        if let Some(ids) = &self.sparse {
            image.array(ids);
        }
        image.number(self.count as u64);
        image.array(&self.arena);
        image.array(&self.offsets);
        image.array(&self.shapes);
    }

    fn read(image: &mut ImageReader) -> std::result::Result<Self, ImageError> {
        let sparse = if image.number_below(2)? == 1 { Some(image.array()?) } else { None };
        let count = image.number()? as usize;
        let (arena, offsets, shapes) = (image.array()?, image.array::<u32>()?, image.array::<u8>()?);
        if offsets.len() != shapes.len() + 1 {
            return Err(ImageError::Inconsistent("decoded tokens have another number of offsets"));
        }
        Ok(Self { sparse, count, arena, offsets, shapes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REPLACEMENT: &str = "\u{fffd}";

    /// The plain twin.
    fn joined(tokens: &[(TokenId, Vec<u8>, bool)], ids: &[TokenId], skip_special: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &id in ids {
            match tokens.iter().find(|token| token.0 == id) {
                Some(token) if skip_special && token.2 => {}
                Some(token) => bytes.extend_from_slice(&token.1),
                None => bytes.extend_from_slice(REPLACEMENT.as_bytes()),
            }
        }
        bytes
    }

    fn token() -> impl Strategy<Value = (Vec<u8>, bool)> {
        let bytes = prop_oneof![
            4 => proptest::collection::vec(0..0x80_u8, 0..18),
            2 => proptest::collection::vec(any::<u8>(), 0..18),
            1 => proptest::collection::vec(any::<u8>(), 60..70),
            1 => proptest::collection::vec(any::<u8>(), 250..260),
        ];
        (bytes, proptest::bool::weighted(0.2))
    }

    proptest! {
        #[test]
        fn two_passes_give_what_joining_gives(
            tokens in proptest::collection::vec(token(), 0..20),
            gap in prop_oneof![Just(1_u32), Just(3), Just(100_000)],
            picks in proptest::collection::vec(0..25_u32, 0..400),
            skip_special: bool,
        ) {
            let tokens: Vec<(TokenId, Vec<u8>, bool)> =
                (0..).step_by(gap as usize).zip(tokens).map(|(id, (bytes, special))| (id, bytes, special)).collect();
            let mut table = DecodedTokens::with_capacity(tokens.len(), 0);
            for (id, bytes, is_special) in &tokens {
                table.push(*id, bytes, *is_special);
            }
            let table = table.finish();
            let ids: Vec<TokenId> = picks.iter().map(|pick| pick * gap).collect();
            let plain = joined(&tokens, &ids, skip_special);
            let size = table.measure(&ids, skip_special, |_| Ok(REPLACEMENT)).unwrap();
            prop_assert_eq!(size, DecodedSize { bytes: plain.len(), is_ascii: plain.is_ascii() });
            let first = ids.iter().position(|&id| table.get(id).is_none());
            let told = |position: usize| Err(Error::internal(format!("at {position}")));
            let wanted = first.map(|position| Error::internal(format!("at {position}")).to_string());
            let measured = table.measure(&ids, skip_special, told).err().map(|error| error.to_string());
            prop_assert_eq!(&measured, &wanted);
            let mut bytes = vec![0; size.bytes];
            prop_assert_eq!(table.copy(&ids, skip_special, told, &mut bytes).err().map(|error| error.to_string()), wanted);
            prop_assert_eq!(table.copy(&ids, skip_special, |_| Ok(REPLACEMENT), &mut bytes).unwrap(), plain.len());
            prop_assert_eq!(&bytes, &plain);
            // Too short a buffer is an error, never a panic.
            if let Some(less) = bytes.len().checked_sub(1) {
                prop_assert!(table.copy(&ids, skip_special, |_| Ok(REPLACEMENT), &mut bytes[..less]).is_err());
            }
            for (id, bytes, _) in &tokens {
                prop_assert_eq!(table.get(*id), Some(&bytes[..]));
            }
            prop_assert_eq!(table.len(), tokens.len());
        }
    }
}
