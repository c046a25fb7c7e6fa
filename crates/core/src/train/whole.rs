//! A document that is learned from as a whole and in order, so that its ids are known at the end.
//!
//! In: one document. Out: what lies between its special tokens, not sorted and each time it occurs, and where the
//! special tokens are. The merges are those of counted pretokens: they depend on the multiset alone or, for the
//! first-seen tie-break, on the order of first occurrences, which is that of the document.
use tokenmill_kernels::try_alloc;

use super::count::{Counter, Segment};
use super::layout::Layout;
use super::learn::Special;
use super::options::TrainOptions;
use super::types::Types;
use crate::error::{Kind, Result};
use crate::watch::Ticker;

/// A document to learn from.
#[derive(Debug)]
pub(super) struct WholeText {
    /// What lies between special tokens, in order. Each is one pretoken, since nothing else cuts the text.
    pub(super) pretokens: Types,
    pub(super) specials: Specials,
    /// Bytes of the document.
    pub(super) bytes: u64,
}

/// The number of each special token, and of the pretokens before it, in order.
#[derive(Debug, Default)]
pub(super) struct Specials(Vec<(usize, usize)>);

impl Specials {
    /// The special tokens with their ids, next to `learned` other tokens.
    pub(super) fn with_ids(&self, layout: &Layout, learned: usize) -> impl ExactSizeIterator<Item = Special> {
        self.0.iter().map(move |&(number, after)| Special { id: layout.special_id(number, learned), after })
    }
}

impl WholeText {
    /// Reads a document.
    ///
    /// # Errors
    /// Errors of the normalizer and of the watch; [`Kind::MemoryEstimate`] before anything is made that goes with the
    /// length of the text.
    pub(super) fn read(
        document: &str,
        counter: &Counter,
        options: &TrainOptions,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        check_memory(document.len(), options)?;
        let (mut pretokens, mut specials) = (Types::default(), Vec::new());
        counter.for_each_segment(document, ticker, |segment, ticker| match segment {
            Segment::Ordinary("") => Ok(()),
            Segment::Ordinary(text) => pretokens.push(text, ticker),
            Segment::Special(number) => Ok(try_alloc::push(&mut specials, (number, pretokens.len()))?),
        })?;
        if pretokens.bytes() > document.len() {
            // A normalizer made it longer.
            check_memory(pretokens.bytes(), options)?;
        }
        Ok(Self { pretokens, specials: Specials(specials), bytes: document.len() as u64 })
    }
}

/// Refuses a text of `bytes` bytes if learning from it would take more memory than there is.
fn check_memory(bytes: usize, options: &TrainOptions) -> Result<()> {
    let needed = estimate(bytes as u64, options.min_frequency());
    // Limits of the process, and of systems that promise no more than they have, show only when memory is asked for.
    // Nothing is written to it, so this takes no time.
    let is_refused = usize::try_from(needed).is_ok_and(|needed| try_alloc::vec::<u8>(needed).is_err());
    let available = options.memory.filter(|&available| needed > available);
    if is_refused || available.is_some() {
        let reason = format!(
            "a text of {bytes} bytes is too long to learn from as a whole; take a part of it, or train with a split and \
             encode it"
        );
        return Err(Kind::MemoryEstimate { bytes: needed, available, reason }.into());
    }
    Ok(())
}

/// About so much memory does learning take at once.
fn estimate(bytes: u64, min_frequency: u64) -> u64 {
    /// The text (1), cells (8), the number of the pair at each position (4), and the positions of each pair (4).
    const COUNTING: u64 = 17;
    /// Cells (8) and positions (4): a merge makes two for the one that it takes, but the longer tokens get, the more pairs
    /// are rare, whose positions are not kept.
    const MERGING: u64 = 12;
    /// A tracked pair: what is known of it (32), its entry in the table (20) and in the queue (32), what arrays that grow
    /// hold in reserve, and its list of positions as an allocation.
    const PAIR: u64 = 128;
    // A tracked pair has `min_frequency` positions or more. In English, with a minimum of 2 and 65,536 tokens, there is
    // one for 9 bytes of 1 MB, and for 19 bytes of 40 MB.
    let pairs = bytes / min_frequency.saturating_mul(4);
    bytes
        .saturating_mul(COUNTING)
        .max(bytes.saturating_mul(MERGING).saturating_add(pairs.saturating_mul(PAIR)))
}
