//! A document that is learned from as a whole and in order, so that its ids are known at the end.
//!
//! In: one document. Out: what lies between its special tokens, not sorted and each time it occurs, and where the
//! special tokens are. The merges are those of counted pretokens: they depend on the multiset alone or, for the
//! first-seen tie-break, on the order of first occurrences, which is that of the document.
use tokenmill_kernels::try_alloc;

use super::count::{Counter, Segment};
use super::layout::Layout;
use super::learn::Special;
use super::types::Types;
use crate::error::{Kind, Result};
use crate::watch::Ticker;

/// A document to learn from.
#[derive(Debug)]
pub(super) struct WholeText {
    /// The stretches of ordinary text, in order.
    pub(super) stretches: Types,
    pub(super) specials: Specials,
    /// Bytes of the document.
    pub(super) bytes: u64,
}

/// The number of each special token, and of the stretches before it, in order.
#[derive(Debug, Default)]
pub(super) struct Specials(Vec<(usize, usize)>);

impl Specials {
    /// The special tokens with their ids, next to so many other tokens.
    pub(super) fn with_ids(&self, layout: &Layout, learned: usize) -> impl ExactSizeIterator<Item = Special> {
        self.0.iter().map(move |&(number, after)| Special { id: layout.special_id(number, learned), after })
    }
}

impl WholeText {
    /// Reads a document. `memory` is what can be had, if that is known.
    ///
    /// # Errors
    /// Errors of the normalizer and of the watch; [`Kind::MemoryEstimate`] before anything is made that goes with the
    /// length of the text.
    pub(super) fn read(
        document: &str,
        counter: &Counter,
        memory: Option<u64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        check_memory(document.len(), memory)?;
        let (mut stretches, mut specials) = (Types::default(), Vec::new());
        counter.for_each_segment(document, ticker, |segment, ticker| match segment {
            Segment::Ordinary("") => Ok(()),
            Segment::Ordinary(stretch) => stretches.push(stretch, ticker),
            Segment::Special(number) => Ok(try_alloc::push(&mut specials, (number, stretches.len()))?),
        })?;
        if stretches.bytes() > document.len() {
            // A normalizer made it longer.
            check_memory(stretches.bytes(), memory)?;
        }
        Ok(Self { stretches, specials: Specials(specials), bytes: document.len() as u64 })
    }
}

/// Bytes of memory that learning takes for each byte of text.
///
/// A cell (8), and while pairs are counted the text (1), the number of the pair at each position (4), and the positions
/// of each pair (4).
const PER_BYTE: u64 = 17;

/// Refuses a text of so many bytes if to learn from it would take more memory than there is.
fn check_memory(bytes: usize, available: Option<u64>) -> Result<()> {
    let needed = (bytes as u64).saturating_mul(PER_BYTE);
    // Limits of the process, and of systems that promise no more memory than they have, show only when it is asked for.
    // Nothing is written to it, so this takes no time.
    let is_refused = usize::try_from(needed).is_ok_and(|needed| try_alloc::vec::<u8>(needed).is_err());
    if is_refused || available.is_some_and(|available| needed > available) {
        let reason = format!(
            "a text of {bytes} bytes is too long to learn from as a whole; take a part of it, or train with a split and \
             encode it"
        );
        let available = available.filter(|&available| needed > available);
        return Err(Kind::MemoryEstimate { bytes: needed, available, reason }.into());
    }
    Ok(())
}
