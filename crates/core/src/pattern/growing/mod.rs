//! The pretokens of a text that grows at its end; `backward` has those of one that grows at its start.
//!
//! In: the text, one character more at a time. Out: pretokens that no further text changes, and those that the rest
//! has if the text ends here. Both together must always be the pretokens that the splitter gives for the text so
//! far.
//!
//! Only the match at the last border that is certain can be real; what follows from where it ends *now* is a guess
//! that is dropped when it ends elsewhere. A character is read by one or two matches at a time, and again only when
//! a border moves back, which an arm does by a bounded amount, or over a run of white space that is read at most
//! twice again. So the time is linear in the text.
mod backward;
mod open_match;

use super::arm_scanner::ArmScanner;
use super::atoms::Atoms;
use super::{Engine, Splitter};
use crate::span::Span;
pub use backward::{BackwardSplit, FirstPretoken};
use open_match::{Char, OpenMatch};

/// The open end of a text that grows: the pretokens that may still change.
#[derive(Debug, Default, Clone)]
pub struct GrowingSplit {
    /// The first begins at the last certain border, each other where the one before ends now. A match that none of
    /// the arms gives is a gap of one character.
    open: Vec<OpenMatch>,
    /// Where each of them ends now, and what it is.
    ends: Vec<(usize, Found)>,
    /// For reuse.
    spare: Vec<OpenMatch>,
    /// Where the text ends.
    end: usize,
    /// Where the first pretoken begins that may still change.
    certain: usize,
    /// The end of a gap that begins there, and the atom of its last character: it is certain when a match follows.
    gap: Option<(usize, u8)>,
}

/// What an open match is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Match,
    /// A character of a gap. It joins the gap before it, if there is one.
    Gap,
    /// A character of a gap, after a gap of another part.
    OtherGap,
}

impl Splitter {
    /// Can the pretokens of a text that grows be told character by character? Only if a scanner runs the pattern,
    /// or there is none.
    pub fn grows(&self) -> bool {
        matches!(self.engine, Engine::Whole | Engine::Scanner(_) | Engine::CustomScanner(_))
    }

    /// Reads the text from where it ended to its new end. Calls `certain` for each pretoken that is certain from
    /// now on, in order, and with the length of the text that made it so. What was read before must not have
    /// changed, and `text` must be UTF-8 from there on where the split began.
    pub fn grow(&self, split: &mut GrowingSplit, text: &[u8], mut certain: impl FnMut(Span, usize)) {
        match &self.engine {
            Engine::Scanner(scanner) => split.grow(&scanner.arms, text, &mut certain),
            Engine::CustomScanner(scanner) => split.grow(&scanner.arms, text, &mut certain),
            _ => split.end = text.len(),
        }
    }
}

impl GrowingSplit {
    /// A text that is empty up to byte `start`.
    pub fn starting_at(start: usize) -> Self {
        Self { end: start, certain: start, ..Self::default() }
    }

    /// The pretokens after the last certain one, if the text ends here. They tile the rest of the text.
    pub fn open(&self) -> impl Iterator<Item = Span> {
        let mut start = self.certain;
        let mut ends = self.ends.iter().copied().peekable();
        let mut is_whole = self.ends.is_empty() && self.certain < self.end;
        let mut in_gap = self.gap.is_some();
        std::iter::from_fn(move || {
            if std::mem::take(&mut is_whole) {
                in_gap = false;
                return Some(Span::new(start, self.end));
            }
            // Gaps that follow one another are one pretoken.
            let mut end = if std::mem::take(&mut in_gap) { self.gap.map(|(end, _)| end) } else { None };
            while let Some(&(next, found)) = ends.peek() {
                if end.is_some() && found != Found::Gap {
                    break;
                }
                end = Some(next);
                ends.next();
                if found == Found::Match {
                    break;
                }
            }
            let span = Span::new(start, end?);
            start = span.end;
            Some(span)
        })
    }

    /// Where the text ends that was read.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Where the first pretoken begins that may still change.
    pub fn certain(&self) -> usize {
        self.certain
    }

    fn grow<A: Atoms>(
        &mut self,
        scanner: &ArmScanner<A>,
        bytes: &[u8],
        certain: &mut dyn FnMut(Span, usize),
    ) {
        while self.end < bytes.len() {
            let (atom, width) = scanner.atoms().at(bytes, self.end);
            let next = Char { atom, start: self.end, end: self.end + width };
            self.end = next.end;
            let bytes = &bytes[..self.end];
            if self.open.is_empty() {
                self.begin(scanner, bytes, next);
            } else {
                for open in &mut self.open {
                    open.read(scanner, bytes, next);
                }
            }
            self.settle(scanner, bytes, certain);
        }
    }

    /// Opens a match at a character.
    fn begin<A: Atoms>(&mut self, scanner: &ArmScanner<A>, bytes: &[u8], first: Char) {
        let mut open = self.spare.pop().unwrap_or_default();
        open.begin(scanner, bytes, first);
        self.open.push(open);
    }

    /// Finds out where each open match ends now. Those that are certain are removed, and those that begin where
    /// none ends any more are opened anew.
    fn settle<A: Atoms>(
        &mut self,
        scanner: &ArmScanner<A>,
        bytes: &[u8],
        certain: &mut dyn FnMut(Span, usize),
    ) {
        self.ends.clear();
        let mut at = 0;
        while at < self.open.len() {
            let outcome = self.open[at].outcome(scanner, bytes, self.end);
            let atom = self.open[at].first_atom;
            let found = if outcome.end.is_some() { Found::Match } else { self.gap_at(scanner, at, atom) };
            let end = outcome.end.unwrap_or(self.open[at].first_end);
            // Matches that were opened elsewhere are dropped.
            if self.open.get(at + 1).is_some_and(|next| next.start != end) {
                self.spare.extend(self.open.drain(at + 1..));
            }
            if self.open.len() == at + 1 && end < self.end {
                self.open_from(scanner, bytes, end);
            }
            if at == 0 && outcome.is_final {
                self.spare.push(self.open.remove(0));
                self.is_certain(end, found, atom, certain);
            } else {
                self.ends.push((end, found));
                at += 1;
            }
        }
    }

    /// Opens a match at a place inside the text, and reads the text from there on.
    fn open_from<A: Atoms>(&mut self, scanner: &ArmScanner<A>, bytes: &[u8], from: usize) {
        let mut at = from;
        while at < self.end {
            let (atom, width) = scanner.atoms().at(bytes, at);
            let next = Char { atom, start: at, end: at + width };
            let read = &bytes[..next.end];
            if at == from {
                self.begin(scanner, read, next);
            } else if let Some(open) = self.open.last_mut() {
                open.read(scanner, read, next);
            }
            at = next.end;
        }
    }

    /// What a gap at an open match is: of one part with the gap before it, or of another.
    fn gap_at<A: Atoms>(&self, scanner: &ArmScanner<A>, at: usize, atom: u8) -> Found {
        let before = match at.checked_sub(1) {
            Some(before) if self.ends[before].1 == Found::Match => None,
            Some(before) => Some(self.open[before].first_atom),
            None => self.gap.map(|(_, atom)| atom),
        };
        let is_other = before.is_some_and(|before| !scanner.parts().same_part(before, atom));
        if is_other { Found::OtherGap } else { Found::Gap }
    }

    /// The first open match is certain to end here. A gap is certain only when a match or another gap follows it.
    fn is_certain(&mut self, end: usize, found: Found, atom: u8, certain: &mut dyn FnMut(Span, usize)) {
        if found != Found::Gap
            && let Some((gap, _)) = self.gap.take()
        {
            certain(Span::new(self.certain, gap), self.end);
            self.certain = gap;
        }
        if found == Found::Match {
            certain(Span::new(self.certain, end), self.end);
            self.certain = end;
        } else {
            self.gap = Some((end, atom));
        }
    }
}
