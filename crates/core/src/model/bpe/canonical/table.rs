//! Symbols, and tables by symbol: which two merge to which, and the id and length of each. Bytes are numbered
//! first, then products.
//!
//! In: the merges that `build` found. Out: lookups. Of two merges that are possible in a text, the one with the
//! lower product must always be the one that the vocabulary ranks first.
use tokenmill_kernels::image::{Array, ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{MergeTable, NO_MERGE, try_alloc};

use crate::error::Result;
use crate::ids::TokenId;
use crate::model::output::Output;

/// The number of symbols that are bytes: products come after these.
pub(super) const BYTES: u32 = 256;

/// The number of pretokens that are merged side by side. Several cost little more than one, because they wait for
/// memory together.
pub const MERGE_BATCH: usize = 16;

/// The parts of a product that is not built: no text merges to it.
pub(super) const NOT_BUILT: (u32, u32) = (NO_MERGE, NO_MERGE);

/// The merges of a vocabulary while they are built.
pub(super) struct Built {
    pub(super) merges: MergeTable,
    /// By product: the two symbols that it is merged from; [`NOT_BUILT`] if no text merges to it.
    pub(super) parts: Vec<(u32, u32)>,
    /// By symbol: its id.
    pub(super) ids: Vec<TokenId>,
}

/// The tables that merging looks up.
#[derive(Debug)]
pub(in crate::model::bpe) struct SymbolTable {
    pub(in crate::model::bpe) merges: MergeTable,
    pub(in crate::model::bpe) ids: Array<TokenId>,
    /// The length of each symbol in bytes; 0 for one that is not built.
    pub(super) lengths: Array<u32>,
}

impl SymbolTable {
    pub(super) fn new(merges: MergeTable, ids: Vec<TokenId>, parts: &[(u32, u32)]) -> Self {
        let mut lengths = vec![1; BYTES as usize];
        lengths.reserve(parts.len());
        for &(left, right) in parts {
            let length = |part: u32| lengths[part as usize];
            lengths.push(if (left, right) == NOT_BUILT { 0 } else { length(left) + length(right) });
        }
        Self { merges, ids: ids.into(), lengths: lengths.into() }
    }

    #[inline]
    pub(super) fn length(&self, symbol: u32) -> usize {
        self.lengths[symbol as usize] as usize
    }

    /// Appends the ids of a row of symbols that begins at the start of its pretoken.
    #[inline]
    pub(super) fn write(&self, row: &[u32], output: Output<'_>) -> Result<()> {
        try_alloc::reserve(output.ids, row.len())?;
        output.ids.extend(row.iter().map(|&symbol| self.ids[symbol as usize]));
        if let Some(ends) = output.ends {
            let mut end = 0;
            try_alloc::reserve(ends, row.len())?;
            ends.extend(row.iter().map(|&symbol| {
                end += self.lengths[symbol as usize];
                end
            }));
        }
        Ok(())
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.merges.memory() + self.ids.memory() + self.lengths.memory()
    }
}

impl InImage for SymbolTable {
    fn write(&self, image: &mut ImageWriter) {
        self.merges.write(image);
        image.array(&self.ids);
        image.array(&self.lengths);
    }

    fn read(image: &mut ImageReader) -> std::result::Result<Self, ImageError> {
        let (merges, ids) = (MergeTable::read(image)?, image.array::<TokenId>()?);
        if ids.len() < BYTES as usize {
            return Err(ImageError::Inconsistent("a byte has no id"));
        }
        Ok(Self { merges, lengths: image.array_of(ids.len())?, ids })
    }
}

/// Replaces `symbols` by the bytes of a pretoken.
pub(super) fn start(pretoken: &[u8], symbols: &mut Vec<u32>) -> Result<()> {
    symbols.clear();
    try_alloc::reserve(symbols, pretoken.len())?;
    symbols.extend(pretoken.iter().copied().map(u32::from));
    Ok(())
}
