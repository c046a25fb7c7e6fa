//! Where ids go: two kinds of sinks.
//!
//! In: ids in the order of the text. Out: whatever a caller makes of them. An [`IdSink`] gets ids alone, so
//! pretokens may be looked up in batches. A [`PretokenSink`] gets each pretoken with its ids and origins, and may
//! spell it itself; no cache is used. The sink never changes which tokens are found in a text.
use tokenmill_kernels::{OutOfMemory, pages};

use crate::aligned::{AlignedText, Origins};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::{Model, Scratch};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// An error if the memory for what the sink keeps cannot be allocated.
pub(crate) type SinkResult = std::result::Result<(), OutOfMemory>;

/// Takes ids alone.
pub(crate) trait IdSink {
    /// The ids of pretokens.
    fn push_ids(&mut self, ids: &[TokenId]) -> SinkResult;

    /// Takes the ends of the next pretokens, in bytes of the text that is split. Their ids are pushed later.
    #[inline]
    fn take_ends(&mut self, _ends: &[usize]) -> SinkResult {
        Ok(())
    }

    /// The id of an added token.
    #[inline]
    fn push_added(&mut self, id: TokenId) -> SinkResult {
        self.push_ids(&[id])
    }
}

impl IdSink for Vec<TokenId> {
    #[inline]
    fn push_ids(&mut self, ids: &[TokenId]) -> SinkResult {
        pages::extend(self, ids)
    }
}

/// Counts ids.
#[derive(Default)]
pub(crate) struct Counter(pub(super) usize);

impl Counter {
    /// How many there were.
    pub(crate) fn count(&self) -> usize {
        self.0
    }
}

impl IdSink for Counter {
    #[inline]
    fn push_ids(&mut self, ids: &[TokenId]) -> SinkResult {
        self.0 += ids.len();
        Ok(())
    }
}

/// What is needed to spell a pretoken.
pub(crate) struct Spelling<'a, 'w> {
    pub(crate) model: &'a Model,
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) ticker: &'a mut Ticker<'w>,
}

/// Takes pretokens with their ids.
pub(crate) trait PretokenSink {
    /// Does [`Self::take`] need to know where in a pretoken each id ends?
    fn wants_ends(&self) -> bool {
        false
    }

    /// A text between added tokens of the first pass begins.
    #[inline]
    fn begin(&mut self, _text: AlignedText<'_>) -> SinkResult {
        Ok(())
    }

    /// The end of the text that [`Self::begin`] announced.
    #[inline]
    fn end(&mut self) -> SinkResult {
        Ok(())
    }

    /// A step of normalization, and the text that it left.
    #[inline]
    fn normalized(&mut self, _step: &str, _text: &str) -> SinkResult {
        Ok(())
    }

    /// Spells a pretoken into the scratch, for [`Self::take`].
    ///
    /// # Errors
    /// Those of the model.
    #[inline]
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        with.model.encode(pretoken, with.vocabulary, with.scratch, with.ticker)
    }

    /// Takes the ids of a pretoken: its bytes, their origins, and where the part of each id ends. Does nothing by
    /// default, for sinks that override [`Self::spell`] and keep the ids themselves.
    #[inline]
    fn take(&mut self, _pretoken: &[u8], _: Origins<'_>, _ids: &[TokenId], _ends: &[u32]) -> SinkResult {
        Ok(())
    }

    /// An added token, and the text that it was found as.
    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult;
}
