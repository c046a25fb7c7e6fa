//! The scanner: runs the arms of a pattern over a text, leftmost and first arm first, as the
//! regular expression they come from would be matched.
//!
//! Every arm either fails on the first characters or matches what it has looked at, apart from
//! white space and case runs, which are looked through a constant number of times; so a scan is
//! linear in the text whatever the text is.
use super::arms::{Arm, Case, Literals, Run};
use super::atoms::{self, AtomSet, Atoms};
use super::own_atoms::MAX_ATOMS;
use super::planes::{Planes, WalkRoom};
use crate::error::Result;
use crate::span::Span;

/// A pattern as arms, with what each character may begin.
#[derive(Debug)]
pub(super) struct Scanner<A> {
    atoms: A,
    arms: Vec<Arm>,
    /// For each atom, the arms that a match starting with it may come from: bit n is arm n.
    first: [u32; MAX_ATOMS],
    /// For each atom, the atoms before which the text may be cut behind it.
    cuts: [AtomSet; MAX_ATOMS],
    /// The faster way to the same, for patterns that have one.
    planes: Option<Planes>,
}

/// How far [`Scanner::safe_cut`] looks, in bytes.
const WINDOW: usize = 64 * 1024;

/// The white space around the position of the scan.
#[derive(Debug, Default)]
pub(super) struct White {
    /// It holds from where it was looked at up to here.
    end: usize,
    /// One past the last line end in it; 0 without one.
    newline: usize,
    /// Where its last character starts.
    last: usize,
    /// Where its last line feed starts; 0 without one.
    line_feed: usize,
}

impl<A: Atoms> Scanner<A> {
    /// `arms` are at most 32.
    pub(super) fn new(atoms: A, arms: Vec<Arm>) -> Self {
        let mut first = [0; MAX_ATOMS];
        for (i, arm) in arms.iter().enumerate() {
            let starts = starts(&atoms, arm);
            for (atom, arms) in first.iter_mut().enumerate() {
                if starts >> atom & 1 == 1 {
                    *arms |= 1 << i;
                }
            }
        }
        let cuts = cuts(&atoms, &arms);
        let planes = Planes::new(&atoms, &arms);
        Self { atoms, arms, first, cuts, planes }
    }

    pub(super) fn atoms(&self) -> &A {
        &self.atoms
    }

    /// Does it run by bit planes?
    #[cfg(test)]
    pub(super) fn has_planes(&self) -> bool {
        self.planes.is_some()
    }

    #[inline]
    pub(super) fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        match &self.planes {
            Some(planes) if Planes::pays(text) => planes.for_each(self, text, |span| emit(span, true)),
            _ => self.for_each_by_arms(text, emit),
        }
    }

    /// The ends of all matches, which leave nothing out, several at a time. `None` where planes do not find them.
    #[inline]
    pub(super) fn for_each_ends<F>(&self, text: &str, room: &mut WalkRoom, emit: &mut F) -> Option<Result<()>>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        let planes = self.planes.as_ref().filter(|_| Planes::pays(text))?;
        Some(planes.for_each_ends(self, text, room, emit))
    }

    /// By planes even where the text is short.
    #[cfg(test)]
    pub(super) fn for_each_by_planes<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        match &self.planes {
            Some(planes) => planes.for_each(self, text, |span| emit(span, true)),
            None => Ok(()),
        }
    }

    /// One match after the other: the twin of the planes, and the way of patterns that have none.
    #[inline]
    pub(super) fn for_each_by_arms<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let bytes = text.as_bytes();
        let mut white = White::default();
        // Everything before `done` has been given out.
        let (mut at, mut done) = (0, 0);
        while at < bytes.len() {
            let (atom, width) = self.atoms.at(bytes, at);
            match self.match_at(bytes, at, atom, width, &mut white) {
                Some(end) => {
                    if done < at {
                        emit(Span::new(done, at), false)?;
                    }
                    emit(Span::new(at, end), true)?;
                    (at, done) = (end, end);
                }
                None => at += width,
            }
        }
        if done < at { emit(Span::new(done, at), false) } else { Ok(()) }
    }

    /// The first position from `from` on, inside the text and at most a window away, where the
    /// text can be cut without changing its pretokens.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = from.max(1);
        while at < bytes.len() && !text.is_char_boundary(at) {
            at += 1;
        }
        if at >= bytes.len() {
            return None;
        }
        let before = text[..at].chars().next_back()?;
        let mut last = self.atoms.of(u32::from(before));
        let end = bytes.len().min(from.saturating_add(WINDOW));
        while at < end {
            let (atom, width) = self.atoms.at(bytes, at);
            if self.cuts[usize::from(last)] >> atom & 1 == 1 {
                return Some(at);
            }
            last = atom;
            at += width;
        }
        None
    }

    /// Where the match that starts at `at` ends; where the character ends if there is none. `at` is a
    /// character boundary inside the text, and not before that of the call before.
    pub(super) fn end_of_match(&self, bytes: &[u8], at: usize, white: &mut White) -> usize {
        let (atom, width) = self.atoms.at(bytes, at);
        self.match_at(bytes, at, atom, width, white).unwrap_or(at + width)
    }

    #[inline]
    fn match_at(&self, bytes: &[u8], at: usize, atom: u8, width: usize, white: &mut White) -> Option<usize> {
        let atoms = &self.atoms;
        let mut candidates = self.first[usize::from(atom)];
        while candidates != 0 {
            let arm = &self.arms[candidates.trailing_zeros() as usize];
            candidates &= candidates - 1;
            let end = match arm {
                Arm::Run(run) => run.match_at(atoms, bytes, at, atom, width),
                Arm::Case(case) => case.match_at(atoms, bytes, at, atom, width),
                Arm::Literal(literals) => literals.match_at(bytes, at),
                Arm::Sequence(sets) => sequence_at(atoms, sets, bytes, at),
                Arm::BeforeLineEnd => {
                    let white = white.around(atoms, bytes, at);
                    let end = if white.end == bytes.len() { white.end } else { white.line_feed };
                    (end > at).then_some(end)
                }
                Arm::ThroughNewline => {
                    let newline = white.around(atoms, bytes, at).newline;
                    (newline > at).then_some(newline)
                }
                Arm::BeforeText => {
                    let white = white.around(atoms, bytes, at);
                    let end = if white.end == bytes.len() { white.end } else { white.last };
                    (end > at).then_some(end)
                }
                Arm::AtEnd => {
                    let end = white.around(atoms, bytes, at).end;
                    (end == bytes.len()).then_some(end)
                }
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }
}

impl White {
    /// `at` is at white space, and never before where it was last time. Looked at once however
    /// many arms and positions ask.
    #[inline]
    fn around(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize) -> &Self {
        if at >= self.end {
            let sets = atoms.sets();
            let (mut end, mut last, mut newline, mut line_feed) = (at, at, 0, 0);
            while end < bytes.len() {
                let (atom, width) = atoms.at(bytes, end);
                if sets.white >> atom & 1 == 0 {
                    break;
                }
                last = end;
                end += width;
                if sets.newlines >> atom & 1 == 1 {
                    newline = end;
                }
                if sets.line_feed >> atom & 1 == 1 {
                    line_feed = last;
                }
            }
            *self = Self { end, newline, last, line_feed };
        }
        self
    }
}

/// The end of the longest run of `set` that starts at `at`.
#[inline]
fn run(atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> usize {
    let sets = atoms.sets();
    let in_ascii = set & sets.in_ascii;
    let at = if in_ascii == sets.cased {
        letters(bytes, at, 0x20)
    } else if in_ascii == sets.lower {
        letters(bytes, at, 0)
    } else {
        at
    };
    run_by_one(atoms, bytes, at, set)
}

/// The end of the ASCII letters from `at` on as far as whole words of 8 bytes show them; with
/// `case` 0x20 those of both cases, else lower ones. Most words of a language fit into 8 bytes,
/// so this saves the branch that a loop over characters predicts wrongly at each word's end.
#[inline]
fn letters(bytes: &[u8], mut at: usize, case: u8) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    while let Some(&word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(word);
        let folded = (word | (ONES * u64::from(case))) & !HIGH;
        // Each sum sets the high bit of its byte, from 'a' on and behind 'z', and never carries.
        let from_a = folded + ONES * (0x80 - 0x61);
        let behind_z = folded + ONES * (0x80 - 0x7B);
        let others = !(from_a & !behind_z & !word) & HIGH;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at
}

#[inline]
fn run_by_one(atoms: &impl Atoms, bytes: &[u8], mut at: usize, set: AtomSet) -> usize {
    while let Some(&byte) = bytes.get(at) {
        if byte < 0x80 {
            if set >> atoms.ascii()[usize::from(byte)] & 1 == 0 {
                break;
            }
            at += 1;
        } else {
            let (code_point, width) = atoms::decode(bytes, at);
            if set >> atoms.of(code_point) & 1 == 0 {
                break;
            }
            at += width;
        }
    }
    at
}

/// Is there a character of `set` at `at`?
#[inline]
fn is_at(atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> bool {
    at < bytes.len() && set >> atoms.at(bytes, at).0 & 1 == 1
}

/// A character of each set, one after the other.
fn sequence_at(atoms: &impl Atoms, sets: &[AtomSet], bytes: &[u8], at: usize) -> Option<usize> {
    sets.iter().try_fold(at, |at, set| {
        let (atom, width) = if at < bytes.len() { atoms.at(bytes, at) } else { return None };
        (set >> atom & 1 == 1).then_some(at + width)
    })
}

fn with_suffix(suffix: Option<&Literals>, bytes: &[u8], at: usize) -> usize {
    suffix.and_then(|suffix| suffix.match_at(bytes, at)).unwrap_or(at)
}

impl Run {
    #[inline]
    fn match_at(&self, atoms: &impl Atoms, bytes: &[u8], at: usize, atom: u8, width: usize) -> Option<usize> {
        let start = if self.prefix >> atom & 1 == 1 && is_at(atoms, bytes, at + width, self.body) {
            at + width
        } else if !self.needs_prefix && self.body >> atom & 1 == 1 {
            at
        } else {
            return None;
        };
        let mut end = if self.max == usize::MAX {
            run(atoms, bytes, start, self.body)
        } else {
            let (mut end, mut left) = (start, self.max);
            while left > 0 && end < bytes.len() {
                let (atom, width) = atoms.at(bytes, end);
                if self.body >> atom & 1 == 0 {
                    break;
                }
                end += width;
                left -= 1;
            }
            end
        };
        if self.tail != 0 {
            end = run(atoms, bytes, end, self.tail);
        }
        Some(with_suffix(self.suffix.as_ref(), bytes, end))
    }
}

impl Case {
    #[inline]
    fn match_at(&self, atoms: &impl Atoms, bytes: &[u8], at: usize, atom: u8, width: usize) -> Option<usize> {
        let mut end = None;
        if self.prefix >> atom & 1 == 1 {
            end = self.letters(atoms, bytes, at + width);
        }
        if end.is_none() && (self.upper | self.lower) >> atom & 1 == 1 {
            end = self.letters(atoms, bytes, at);
        }
        end.map(|end| with_suffix(self.suffix.as_ref(), bytes, end))
    }

    /// `upper* lower+`: the upper run takes all it can, then gives characters back until one of
    /// them is in `lower` too. What was given back before that one is not in `lower`, so the
    /// lower run is that one character.
    #[inline]
    fn letters(&self, atoms: &impl Atoms, bytes: &[u8], at: usize) -> Option<usize> {
        let (mut end, mut given_back) = (at, None);
        while end < bytes.len() {
            let (atom, width) = atoms.at(bytes, end);
            if self.upper >> atom & 1 == 0 {
                if self.lower >> atom & 1 == 1 {
                    return Some(run(atoms, bytes, end + width, self.lower));
                }
                break;
            }
            end += width;
            if self.lower >> atom & 1 == 1 {
                given_back = Some(end);
            }
        }
        given_back
    }
}

impl Literals {
    fn match_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if let Some(lead) = self.lead
            && bytes.get(at) != Some(&lead)
        {
            return None;
        }
        self.texts.iter().find_map(|text| Self::end_of(text, bytes, at))
    }

    /// Where one of the texts ends, if it is what begins at `at`.
    pub(super) fn end_of(text: &[Vec<char>], bytes: &[u8], at: usize) -> Option<usize> {
        text.iter().try_fold(at, |at, choices| {
            if at >= bytes.len() {
                return None;
            }
            let (code_point, width) = atoms::decode(bytes, at);
            choices.iter().any(|&c| u32::from(c) == code_point).then_some(at + width)
        })
    }

    /// The atoms of the characters at `index` of every text.
    fn atoms(&self, atoms: &impl Atoms, index: usize) -> AtomSet {
        let chars = self.texts.iter().filter_map(|text| text.get(index));
        chars.fold(0, |set, choices| set | atoms.of_chars(choices))
    }
}

/// The atoms that a match of `arm` can start with.
fn starts(atoms: &impl Atoms, arm: &Arm) -> AtomSet {
    match arm {
        Arm::Literal(literals) => literals.atoms(atoms, 0),
        Arm::Run(run) if run.needs_prefix => run.prefix,
        Arm::Run(run) => run.prefix | run.body,
        Arm::Sequence(sets) => sets.first().copied().unwrap_or_default(),
        Arm::Case(case) => case.prefix | case.upper | case.lower,
        Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => atoms.sets().white,
    }
}

/// Behind which atom and before which other one a text may be cut.
///
/// Between `x` and `y` there is a boundary whatever stands around them when
/// - no arm can match both in a row, so no pretoken that is a match holds both;
/// - a match starts at every `y` that the scan comes to, so neither does the text between two
///   matches. The scan does come to it, as no match runs across;
/// - what the arms decide before the cut is the same when the text ends there: they look
///   further than their match only behind white space, which `x` is not, and for a character
///   that could follow `x` in a match, which `y` is not.
///
/// And nothing behind the cut depends on what stands before it, as no arm looks back.
fn cuts(atoms: &impl Atoms, arms: &[Arm]) -> [AtomSet; MAX_ATOMS] {
    let white = atoms.sets().white;
    let mut joined = [0; MAX_ATOMS];
    let mut join = |left: AtomSet, right: AtomSet| {
        for (atom, followers) in joined.iter_mut().enumerate() {
            if left >> atom & 1 == 1 {
                *followers |= right;
            }
        }
    };
    // What certainly starts a match, whatever follows it.
    let mut sure = 0;
    for arm in arms {
        let (left, suffix) = match arm {
            Arm::Literal(literals) => (0, Some(literals)),
            Arm::Run(run) => {
                sure |= if run.needs_prefix { 0 } else { run.body };
                join(run.prefix, run.body);
                if run.max > 1 {
                    join(run.body, run.body);
                }
                join(run.body | run.tail, run.tail);
                (run.body | run.tail, run.suffix.as_ref())
            }
            Arm::Case(case) => {
                sure |= case.lower;
                join(case.prefix | case.upper | case.lower, case.upper | case.lower);
                (case.upper | case.lower, case.suffix.as_ref())
            }
            Arm::Sequence(sets) => {
                sets.windows(2).for_each(|pair| join(pair[0], pair[1]));
                (0, None)
            }
            Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => {
                join(white, white);
                (0, None)
            }
        };
        if let Some(literals) = suffix {
            join(left, literals.atoms(atoms, 0));
            for text in &literals.texts {
                for pair in text.windows(2) {
                    join(atoms.of_chars(&pair[0]), atoms.of_chars(&pair[1]));
                }
            }
        }
    }
    let mut cuts = [0; MAX_ATOMS];
    for (atom, (cut, joined)) in cuts.iter_mut().zip(joined).enumerate() {
        if white >> atom & 1 == 0 {
            *cut = sure & !joined;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_by_words_are_letters_one_by_one() {
        for case in [0, 0x20] {
            let is_letter = |byte: u8| byte.is_ascii_lowercase() || case != 0 && byte.is_ascii_uppercase();
            for byte in 0..=255 {
                for place in 0..19 {
                    for filler in [b'a', b'z'] {
                        let mut bytes = [filler; 19];
                        bytes[place] = byte;
                        let end = letters(&bytes, 0, case);
                        // The last three bytes are no whole word.
                        let stop = if is_letter(byte) { 16 } else { place.min(16) };
                        assert_eq!(end, stop, "{byte} at {place}");
                    }
                }
            }
        }
        assert_eq!(letters(b"", 0, 0x20), 0);
        assert_eq!(letters(b"abc", 5, 0x20), 5);
    }
}
