//! Byte-pair encoding: a pretoken becomes symbols, and neighbours merge by rank until none can.
//!
//! In: one pretoken. Out: its ids. A pretoken that may become one token at once needs a single lookup. Others are
//! merged in one of two ways, between which this module chooses:
//!
//! - `canonical`, for vocabularies over all 256 bytes whose ranks agree with one another: short pretokens are
//!   merged as rows of the kernels, and long ones window by window, in linear time but for vocabularies made
//!   against it;
//! - `general`, for all others, for dropout and for explanations: a scan for the lowest rank, or a heap for long
//!   pretokens, at n log n. The model of SentencePiece is one of these.
//!
//! The choice must never change the ids: both ways give what the naive rule gives. `docs/merging.md` has the
//! proof.
mod borders;
mod byte_pairs;
mod canonical;
mod general;
mod heap;
mod scratch;
#[cfg(test)]
pub(crate) mod tests;
mod token_cuts;
mod unbuilt;
mod whole_only;

use tokenmill_kernels::PairTable;
use tokenmill_kernels::image::{ImageReader, ImageWriter, InImage};

use crate::bits::Bits;
use crate::description::{BpeDescription, MergeList};
use crate::error::{Defect, Error, Kind, Result};
use crate::ids::{TokenId, to_u32};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::output::Output;
use super::random::Random;
use general::General;
use general::steps::merge_steps;
use whole_only::WholeOnlyFilter;

pub use canonical::table::MERGE_BATCH;
pub use canonical::{CanonicalMerges, Matcher};
pub use general::pairs::listed_merges;
pub use general::steps::{MAX_EXPLAINED_SYMBOLS, MergeStep, MergeSteps};
pub use scratch::BpeScratch;
pub use token_cuts::{TokenCuts, TokenCutsBuilder};
pub use unbuilt::Unbuilt;

/// A compiled BPE model. Immutable.
#[derive(Debug)]
pub struct Bpe {
    /// The fast way, for vocabularies for which it gives the same ids as the naive rule.
    canonical: Option<Box<CanonicalMerges>>,
    general: General,
    /// By index in the vocabulary's token list: does merging these bytes give this token?
    is_built: Bits,
    /// By index: does a pretoken with these bytes become this token, whatever merging gives? `None` if the rule for
    /// whole pretokens never differs from merging.
    is_taken_whole: Option<Bits>,
    /// A filter for the tokens that only the rule for whole pretokens gives. It has false positives.
    whole_only: Option<WholeOnlyFilter>,
}

impl Bpe {
    /// Compiles the model of a valid description. Special tokens are never made from text.
    ///
    /// # Errors
    /// A format error at `merges` for a pair that is listed twice, or for scores of symbols that are not
    /// characters; at `dropout` for a number that is no probability; errors of the watch.
    pub fn new(
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        if let Some(dropout) = description.dropout.filter(|dropout| !(0.0..=1.0).contains(dropout)) {
            let reason = format!("{dropout} is not a probability; it must be from 0 to 1");
            return Err(Error::format(Defect::Range, reason).at("dropout").at("model"));
        }
        let general = General::new(description, vocabulary)?;
        let has_prefix = description.continuing_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
        let canonical = match general.bytes().filter(|_| !has_prefix) {
            Some(bytes) => CanonicalMerges::new(&description.merges, vocabulary, bytes, ticker)?,
            None => None,
        };
        if canonical.is_none() {
            general.pairs(description, vocabulary, ticker)?;
        }
        let (canonical, is_built) = canonical.unzip();
        let canonical = canonical.map(Box::new);
        let is_built = is_built.map(Bits::from_iter);
        let mut model =
            Self { canonical, general, is_built: Bits::default(), is_taken_whole: None, whole_only: None };
        model.is_built = match is_built {
            Some(is_built) => is_built,
            None => model.built_tokens(vocabulary, ticker)?,
        };
        if description.whole_pretokens {
            let indices = 0..vocabulary.tokens().len();
            let is_output: Bits = indices.map(|index| model.general.is_output(index, vocabulary)).collect();
            model.is_taken_whole = Some(is_output).filter(|is_output| *is_output != model.is_built);
            if model.is_taken_whole.is_some() {
                let tokens = vocabulary.tokens().iter().enumerate();
                let whole_only = tokens.filter(|&(index, _)| model.is_whole_only(index));
                model.whole_only = WholeOnlyFilter::new(whole_only.map(|(_, (_, bytes))| bytes));
            }
        }
        Ok(model)
    }

    /// For every ordinary token: does merging its bytes give this one token?
    fn built_tokens(&self, vocabulary: &Vocabulary, ticker: &mut Ticker<'_>) -> Result<Bits> {
        let mut scratch = BpeScratch::default();
        let mut ids = Vec::new();
        let is_built = |(id, bytes): (TokenId, &[u8])| {
            ids.clear();
            ticker.spend(bytes.len() + 16)?;
            match self.merge(bytes, &mut scratch, Output { ids: &mut ids, ends: None }, ticker) {
                Ok(()) => Ok(ids == [id]),
                Err(error) if matches!(error.kind, Kind::Cancelled) => Err(error),
                Err(_) => Ok(false),
            }
        };
        vocabulary.tokens().iter().map(is_built).collect()
    }

    /// May a pretoken with the bytes of the token at this index become it at once?
    pub fn may_become(&self, index: usize) -> bool {
        self.is_taken_whole.as_ref().unwrap_or(&self.is_built).contains(index)
    }

    /// Does merging the bytes of every token that a text may become give this token, so that the rule for whole
    /// pretokens changes nothing?
    pub fn builds_every_token(&self) -> bool {
        self.whole_only.is_none()
    }

    /// Are these the merges that texts use, in the order of their ranks? False where that is not known.
    pub fn merges_by(&self, merges: &MergeList) -> bool {
        self.canonical.as_ref().is_some_and(|canonical| canonical.are(merges))
    }

    /// All pairs that merge.
    fn pairs(&self, description: &BpeDescription, vocabulary: &Vocabulary) -> Result<&PairTable> {
        self.general.pairs(description, vocabulary, &mut Ticker::new(&Unwatched))
    }

    /// Appends the ids of a pretoken to `ids`, and where the part of each ends to `ends`.
    ///
    /// # Errors
    /// An unknown-token error for a symbol outside the alphabet; cancellation.
    #[inline]
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut BpeScratch,
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let mut output = Output { ids, ends };
        if let Some(index) = vocabulary.find_index(pretoken)
            && self.may_become(index)
        {
            return Ok(output.push(vocabulary.tokens().id(index), to_u32(pretoken.len()))?);
        }
        self.merge(pretoken, scratch, output, ticker)
    }

    /// As [`Self::encode`], for a segment of a pretoken between two [cuts](TokenCuts): without the rule for
    /// whole pretokens.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_segment(
        &self,
        segment: &[u8],
        scratch: &mut BpeScratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // Looking the segment up would give nothing else than merging.
        self.merge(segment, scratch, Output { ids, ends: None }, ticker)
    }

    /// The canonical merges, if there are any: texts then have cuts, and segments can be merged side by side.
    pub fn canonical(&self) -> Option<&CanonicalMerges> {
        self.canonical.as_deref()
    }

    /// The canonical merges, if they give the ids of this pretoken: of the whole, or of the segments between its
    /// cuts, whose joined ids are the same. `None` if it is a token by the rule for whole pretokens.
    #[inline]
    pub fn canonical_for(&self, pretoken: &[u8], vocabulary: &Vocabulary) -> Option<&CanonicalMerges> {
        self.canonical().filter(|_| self.taken_whole(pretoken, vocabulary).is_none())
    }

    /// The id of a pretoken that is a token by the rule for whole pretokens alone.
    #[inline]
    pub fn taken_whole(&self, pretoken: &[u8], vocabulary: &Vocabulary) -> Option<TokenId> {
        self.whole_only.as_ref().filter(|filter| filter.may_hold(pretoken))?;
        let index = vocabulary.find_index(pretoken).filter(|&index| self.is_whole_only(index))?;
        Some(vocabulary.tokens().id(index))
    }

    /// Is it a token by the rule for whole pretokens alone?
    fn is_whole_only(&self, index: usize) -> bool {
        self.may_become(index) && !self.is_built.contains(index)
    }

    /// Does a segment always have the ids that it has as a pretoken, so that one cache may hold both?
    pub fn segments_encode_as_pretokens(&self) -> bool {
        self.is_taken_whole.is_none()
    }

    fn merge(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // Places and ends are 32-bit numbers.
        if u32::try_from(pretoken.len()).is_err() {
            return Err(Error::argument(format!(
                "a pretoken of {} bytes is over the limit of 2^32; choose a split that cuts the text",
                pretoken.len()
            )));
        }
        match &self.canonical {
            Some(canonical) => canonical.encode(pretoken, scratch, output, ticker),
            None => self.general.encode(pretoken, scratch, output, ticker),
        }
    }

    /// As [`Self::encode`], by the table of all pairs and a heap, whatever the vocabulary and the length.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_by_heap(
        &self,
        pretoken: &[u8],
        (description, vocabulary): (&BpeDescription, &Vocabulary),
        scratch: &mut BpeScratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        self.pairs(description, vocabulary)?;
        self.general.encode_scanning(0, pretoken, scratch, Output { ids, ends: None }, ticker)
    }

    /// As [`Self::encode`], with merges skipped at random and without the rule for whole pretokens.
    ///
    /// If merges are listed, a skipped merge may still be made after the next one, as in the tokenizers library; if
    /// they go by score it may not, as in SentencePiece.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(
        &self,
        pretoken: &[u8],
        (description, vocabulary): (&BpeDescription, &Vocabulary),
        scratch: &mut BpeScratch,
        chance: (f64, &mut Random),
        (ids, ends): (&mut Vec<TokenId>, Option<&mut Vec<u32>>),
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let pairs = self.pairs(description, vocabulary)?;
        self.general.sample(pairs, pretoken, scratch, chance, Output { ids, ends }, ticker)
    }

    /// The steps that lead from a pretoken to `ids`, the ids that it has.
    ///
    /// # Errors
    /// As [`Self::encode`]. Cost: quadratic in the number of symbols, which has a limit.
    pub fn steps(
        &self,
        pretoken: &[u8],
        ids: &[TokenId],
        (description, vocabulary): (&BpeDescription, &Vocabulary),
        scratch: &mut BpeScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<MergeSteps> {
        let pairs = self.pairs(description, vocabulary)?;
        let is_whole = vocabulary.find_index(pretoken).is_some_and(|index| self.may_become(index));
        let steps = merge_steps(&self.general, pairs, pretoken, vocabulary, scratch, ticker);
        let symbols = &scratch.symbols;
        let is_merged = symbols.len() == 1 && (!self.general.symbols_are_ids() || symbols == ids);
        match steps {
            // A token by the rule for whole pretokens need not consist of symbols.
            Err(error) if is_whole && matches!(error.kind, Kind::UnknownToken { .. }) => {
                Ok(MergeSteps::Whole)
            }
            Ok(MergeSteps::Merged { .. }) if is_whole && !is_merged => Ok(MergeSteps::Whole),
            steps => steps,
        }
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        self.general.is_byte_complete()
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.general.memory()
            + self.canonical.as_ref().map_or(0, |canonical| canonical.memory())
            + self.is_built.memory()
            + self.whole_only.as_ref().map_or(0, WholeOnlyFilter::memory)
            + self.is_taken_whole.as_ref().map_or(0, Bits::memory)
    }

    /// Appends the tables to an image.
    pub(crate) fn write(&self, image: &mut ImageWriter) {
        self.general.write(image);
        image.optional(self.canonical.as_deref());
        self.is_built.write(image);
        image.optional(self.is_taken_whole.as_ref());
        image.optional(self.whole_only.as_ref());
    }

    /// The tables of an image, for the same description.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read(
        description: &BpeDescription,
        vocabulary: &Vocabulary,
        image: &mut ImageReader,
    ) -> Result<Self> {
        Ok(Self {
            general: General::read(description, vocabulary, image)?,
            canonical: image.optional()?.map(Box::new),
            is_built: Bits::read(image)?,
            is_taken_whole: image.optional()?,
            whole_only: image.optional()?,
        })
    }
}
