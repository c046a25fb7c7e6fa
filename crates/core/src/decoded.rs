//! What each id decodes to: all bytes in one arena, addressed by `u32` offsets.
//!
//! Ids may have holes; a vocabulary with a few huge ids costs a search instead of a huge table. Many
//! ids are decoded in two passes: one over a byte for each token that says how much room they need
//! and whether all is ASCII, and one that copies, sixteen bytes at once whatever the length.
use crate::error::{Error, Result};
use crate::ids::{TokenId, to_u32};

/// Bytes that are copied at once. So many zeros stand behind the last token in the arena.
const COPIED: usize = 16;

/// A token's shape in a byte: its length, or [`LONG`] where that has no room, and two flags. An id between others
/// that is none has no bytes, and is long all the same.
const LONG: u8 = 63;
const NOT_ASCII: u8 = 64;
const SPECIAL: u8 = 128;

/// Ids whose shapes are put together before any is looked at.
const GROUP: usize = 128;

/// What each id decodes to.
#[derive(Debug)]
pub(crate) struct DecodedTokens {
    /// Ids ascending, whose places are the slots; `None` where each id is its own slot.
    sparse: Option<Vec<TokenId>>,
    /// How many ids there are.
    count: usize,
    /// The bytes of each slot: `arena[offsets[slot]..offsets[slot + 1]]`.
    arena: Vec<u8>,
    offsets: Vec<u32>,
    shapes: Vec<u8>,
}

/// How much room the bytes of some ids take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedSize {
    /// How many bytes.
    pub bytes: usize,
    /// Are all of them ASCII?
    pub is_ascii: bool,
}

/// Takes tokens in the order of their ids.
#[derive(Debug)]
pub(crate) struct DecodedTokensBuilder {
    /// None as long as each id is its own slot.
    ids: Option<Vec<TokenId>>,
    tokens: DecodedTokens,
}

impl DecodedTokens {
    /// A table with room for so many tokens, which have so many bytes in all.
    pub(crate) fn with_capacity(tokens: usize, bytes: usize) -> DecodedTokensBuilder {
        let mut offsets = Vec::with_capacity(tokens + 1);
        offsets.push(0);
        DecodedTokensBuilder {
            ids: None,
            tokens: Self {
                sparse: None,
                count: 0,
                arena: Vec::with_capacity(bytes + COPIED),
                offsets,
                shapes: Vec::with_capacity(tokens),
            },
        }
    }

    /// How many ids there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        let ids = self.sparse.as_ref().map_or(0, |ids| 4 * ids.capacity());
        ids + self.arena.capacity() + 4 * self.offsets.capacity() + self.shapes.capacity()
    }

    /// Is this id one of them?
    #[inline]
    pub(crate) fn contains(&self, id: TokenId) -> bool {
        self.slot(id).is_some()
    }

    /// The bytes of an id.
    #[inline]
    pub(crate) fn get(&self, id: TokenId) -> Option<&[u8]> {
        let (start, end) = self.bounds(self.slot(id)?);
        Some(&self.arena[start..end])
    }

    /// Where an id stands in the tables.
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

    /// The room for the bytes of `ids`, without those of special tokens where these are skipped.
    /// `undefined` says what stands for the id at a position that does not exist.
    ///
    /// # Errors
    /// Those of `undefined`.
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

    /// The room for ids that are all there and short; without a branch at each.
    #[inline]
    fn measure_plain(&self, ids: &[TokenId], skip_special: bool) -> Option<DecodedSize> {
        if self.sparse.is_some() {
            return None;
        }
        let (mut bytes, mut all, mut longest) = (0, 0, 0);
        for &id in ids {
            let shape = self.shapes.get(id as usize).copied().unwrap_or(LONG);
            // Nothing is left of what is skipped.
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

    /// Copies the bytes of `ids` to the front of `bytes`, which has room for what [`Self::measure`]
    /// says of the same arguments; how many they are. What lies behind them may be overwritten.
    ///
    /// # Errors
    /// Those of `undefined`.
    pub(crate) fn copy(
        &self,
        ids: &[TokenId],
        skip_special: bool,
        undefined: impl Fn(usize) -> Result<&'static str>,
        bytes: &mut [u8],
    ) -> Result<usize> {
        let mut at = 0;
        for (position, &id) in ids.iter().enumerate() {
            // What has bytes, is its own slot and is not skipped, as nearly all are.
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

    /// Where the bytes of an id begin and end, if it is its own slot.
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
    /// The next id, above all before it, and its bytes.
    #[inline]
    pub(crate) fn push(&mut self, id: TokenId, bytes: &[u8], is_special: bool) {
        let length = u8::try_from(bytes.len()).map_or(LONG, |length| length.min(LONG));
        let not_ascii = if bytes.is_ascii() { 0 } else { NOT_ASCII };
        let special = if is_special { SPECIAL } else { 0 };
        let slot = to_u32(self.tokens.shapes.len());
        if self.ids.is_some() || id != slot {
            self.ids.get_or_insert_with(|| (0..slot).collect()).push(id);
        }
        self.tokens.shapes.push(length | not_ascii | special);
        self.tokens.arena.extend_from_slice(bytes);
        self.tokens.offsets.push(to_u32(self.tokens.arena.len()));
    }

    /// All ids are in.
    pub(crate) fn finish(self) -> DecodedTokens {
        let Self { ids, mut tokens } = self;
        tokens.arena.extend_from_slice(&[0; COPIED]);
        tokens.count = tokens.shapes.len();
        let Some(ids) = ids else { return tokens };
        let last = ids.last().map_or(0, |&last| last as usize);
        if last > 4 * ids.len() + 65_536 {
            tokens.sparse = Some(ids);
        } else {
            tokens.spread(&ids, last);
        }
        tokens
    }
}

impl DecodedTokens {
    /// Gives each id its own slot, and those between them one without bytes.
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
            // Less room is an error, never a panic.
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
