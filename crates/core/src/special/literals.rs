//! Multi-literal search: leftmost first, longest at each position. Linear in the text; construction
//! is linear in the literals, for any set of literals.
//!
//! The `aho-corasick` crate alone is not linear for long literals: it may build a DFA that is
//! quadratic for a literal such as `xxx...`, its vectorised search compares long literals at every
//! position, and after a match that is a prefix of a longer literal it reads on, again and again.
//! So it gets only the first [`SHORT`] bytes of each literal, which bounds all three. If some
//! literals are longer, it finds a position at which one may start; from there, blocks of text are
//! scanned backwards with an automaton of the reversed literals, which finds the longest literal
//! that starts at each position.
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use tokenmill_kernels::{Automaton, NO_KEY, State};

use crate::error::{Error, Result};
use crate::span::Span;
use crate::watch::Ticker;

/// Bytes of each literal that the `aho-corasick` crate gets. The literals of published tokenizers
/// are shorter.
const SHORT: usize = 256;

/// Limit for a DFA: the total length of all literals times the longest one's, in bytes. It bounds
/// the work of construction for each byte value.
const TABLE_WORK: usize = 1 << 18;

/// Block size of the backward scan in bytes; at least the length of the longest literal.
const BLOCK: usize = 64 << 10;

/// A compiled set of literals. An empty set finds nothing and costs nothing.
#[derive(Debug, Clone)]
pub struct LiteralMatcher {
    /// Finds the literals, or the first [`SHORT`] bytes of each.
    forwards: Option<AhoCorasick>,
    /// Finds reversed literals, if some are longer than [`SHORT`].
    backwards: Option<Arc<Backwards>>,
    /// Length in bytes of the longest literal of `forwards`.
    longest: usize,
    /// Bytes of text per search.
    window: usize,
}

#[derive(Debug)]
struct Backwards {
    automaton: Automaton,
    /// Length in bytes of each literal.
    lengths: Vec<usize>,
    block: usize,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPart<L = usize> {
    /// Ordinary text, never empty.
    Ordinary(Span),
    /// A literal, by its index in the matcher's list (or by the caller's own key).
    Literal(L, Span),
}

impl LiteralMatcher {
    /// Builds a matcher; a literal is identified by its index. Of equal literals the first is
    /// found. Cost: near-linear in their bytes.
    ///
    /// # Errors
    /// A special-token error for an empty literal, or if there are too many to build.
    pub fn new<'a>(literals: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        Self::with_limits(literals, SHORT, BLOCK)
    }

    fn with_limits<'a>(
        literals: impl IntoIterator<Item = &'a str>,
        short: usize,
        block: usize,
    ) -> Result<Self> {
        let literals: Vec<&[u8]> = literals.into_iter().map(str::as_bytes).collect();
        if literals.iter().any(|literal| literal.is_empty()) {
            return Err(Error::special("", "an empty literal would match everywhere; leave it out"));
        }
        let Some(longest) = literals.iter().map(|literal| literal.len()).max() else {
            return Ok(Self { forwards: None, backwards: None, longest: 0, window: 0 });
        };
        let starts = literals.iter().map(|literal| &literal[..literal.len().min(short)]);
        let bytes: usize = starts.clone().map(<[u8]>::len).sum();
        let may_be_table = bytes.saturating_mul(longest.min(short)) <= TABLE_WORK;
        let forwards = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // For more literals the crate never builds a DFA.
            .kind((!may_be_table && literals.len() <= 100).then_some(AhoCorasickKind::ContiguousNFA))
            .build(starts)
            .map_err(|error| {
                let first = String::from_utf8_lossy(literals[0]);
                Error::special(first, format!("too many added tokens to search for: {error}"))
            })?;
        let backwards = (longest > short).then(|| Arc::new(Backwards::new(&literals, longest.max(block))));
        let longest = longest.min(short);
        Ok(Self { forwards: Some(forwards), backwards, longest, window: longest.max(1 << 20) * 2 })
    }

    /// Does the matcher have no literals?
    pub fn is_empty(&self) -> bool {
        self.forwards.is_none()
    }

    /// Starts a search of `text`.
    pub fn search<'a>(&'a self, text: &'a [u8]) -> Search<'a> {
        Search { matcher: self, text, ahead: Vec::new(), known_to: 0 }
    }

    /// The first match of `forwards` in `text[from..]`. The text is searched in windows, so that
    /// the watch is polled in a document of gigabytes.
    fn find_forwards(
        &self,
        text: &[u8],
        mut from: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(usize, Span)>> {
        let Some(automaton) = &self.forwards else { return Ok(None) };
        loop {
            let end = text.len().min(from + self.window);
            // A literal that starts up to here ends inside the window, so it is the longest at its
            // position and no earlier one was missed. Later matches are searched for again.
            let sure = if end == text.len() { end } else { end - self.longest };
            if let Some(found) = automaton.find(aho_corasick::Input::new(&text[..end]).range(from..))
                && found.start() <= sure
            {
                ticker.spend((found.end() - from) / 4)?;
                return Ok(Some((found.pattern().as_usize(), Span::new(found.start(), found.end()))));
            }
            if end == text.len() {
                ticker.spend((end - from) / 4)?;
                return Ok(None);
            }
            ticker.spend((sure + 1 - from) / 4)?;
            from = sure + 1;
        }
    }

    /// Calls `emit` for the parts of `text` in order; together they cover it.
    ///
    /// # Errors
    /// Errors of `emit` and of the watch.
    pub fn for_each_part(
        &self,
        text: &[u8],
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(TextPart, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        let mut search = self.search(text);
        while let Some((index, literal)) = search.next(start, ticker)? {
            if literal.start > start {
                emit(TextPart::Ordinary(Span::new(start, literal.start)), ticker)?;
            }
            emit(TextPart::Literal(index, literal), ticker)?;
            start = literal.end;
        }
        if start < text.len() {
            emit(TextPart::Ordinary(Span::new(start, text.len())), ticker)
        } else {
            Ok(())
        }
    }
}

impl Backwards {
    fn new(literals: &[&[u8]], block: usize) -> Self {
        let reversed: Vec<Vec<u8>> =
            literals.iter().map(|literal| literal.iter().rev().copied().collect()).collect();
        // The automaton keeps the last of equal literals, so the order is reversed.
        let numbered = (0u32..).zip(&reversed).map(|(number, literal)| (number, literal.as_slice()));
        let automaton = Automaton::new(numbered.collect::<Vec<_>>().into_iter().rev());
        Self { automaton, lengths: literals.iter().map(|literal| literal.len()).collect(), block }
    }

    /// Appends each position in `from..to` at which a literal starts, with the longest literal
    /// there; last position first.
    fn read(&self, text: &[u8], from: usize, to: usize, found: &mut Vec<(usize, u32)>) {
        let mut state = State::START;
        for at in (from..text.len().min(to + self.automaton.longest_key())).rev() {
            state = self.automaton.step(state, text[at]);
            let literal = self.automaton.longest(state);
            if literal != NO_KEY && at < to {
                found.push((at, literal));
            }
        }
    }
}

/// The state of a search of one text, from start to end.
#[derive(Debug)]
pub struct Search<'a> {
    matcher: &'a LiteralMatcher,
    text: &'a [u8],
    /// Matches in the current block: position and literal, the next one last.
    ahead: Vec<(usize, u32)>,
    /// End of the current block in the text.
    known_to: usize,
}

impl Search<'_> {
    /// The next match at or after `from`, as (index of the literal, span in the text). `from` must
    /// not decrease from call to call.
    ///
    /// # Errors
    /// Errors of the watch.
    #[inline]
    pub fn next(&mut self, from: usize, ticker: &mut Ticker<'_>) -> Result<Option<(usize, Span)>> {
        match &self.matcher.backwards {
            None => self.matcher.find_forwards(self.text, from, ticker),
            Some(backwards) => self.next_backwards(backwards, from, ticker),
        }
    }

    fn next_backwards(
        &mut self,
        backwards: &Backwards,
        mut from: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(usize, Span)>> {
        loop {
            while let Some(&(start, literal)) = self.ahead.last() {
                if start >= from {
                    let literal = literal as usize;
                    return Ok(Some((literal, Span::new(start, start + backwards.lengths[literal]))));
                }
                self.ahead.pop();
            }
            from = from.max(self.known_to);
            let Some((_, start)) = self.matcher.find_forwards(self.text, from, ticker)? else {
                self.known_to = self.text.len();
                return Ok(None);
            };
            let start = start.start;
            self.known_to = self.text.len().min(start + backwards.block);
            ticker.spend(self.known_to - start + backwards.automaton.longest_key())?;
            backwards.read(self.text, start, self.known_to, &mut self.ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    fn segments(matcher: &LiteralMatcher, text: &str) -> Vec<TextPart> {
        let mut segments = Vec::new();
        let mut ticker = Ticker::new(&Unwatched);
        let emit = |segment, _: &mut Ticker<'_>| {
            segments.push(segment);
            Ok(())
        };
        matcher.for_each_part(text.as_bytes(), &mut ticker, emit).unwrap();
        segments
    }

    fn cut(literals: &[&str], text: &str) -> Vec<(Option<usize>, String)> {
        let matcher = LiteralMatcher::new(literals.iter().copied()).unwrap();
        let piece = |span: Span| String::from_utf8(span.of(text.as_bytes()).to_vec()).unwrap();
        segments(&matcher, text)
            .into_iter()
            .map(|segment| match segment {
                TextPart::Ordinary(span) => (None, piece(span)),
                TextPart::Literal(index, span) => (Some(index), piece(span)),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn windows_find_what_one_search_finds(text in "[ab<>é]{0,60}", window in 10usize..16) {
            let whole = LiteralMatcher::new(["<a>", "a>", "<a>b<", "é", "<<<<<"]).unwrap();
            let windowed = LiteralMatcher { window, ..whole.clone() };
            prop_assert_eq!(segments(&windowed, &text), segments(&whole, &text));
        }
    }

    #[test]
    fn the_longest_literal_at_the_leftmost_place_wins() {
        let got = cut(&["<a>", "<a>b", "b"], "x<a>bb<a>");
        let want = [(None, "x"), (Some(1), "<a>b"), (Some(2), "b"), (Some(0), "<a>")];
        assert_eq!(got, want.map(|(index, piece)| (index, piece.to_owned())));
    }

    #[test]
    fn segments_tile_the_text() {
        for text in ["", "ab", "<a>", "<a><a>", "a<a"] {
            let joined: String = cut(&["<a>"], text).into_iter().map(|(_, piece)| piece).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn an_empty_literal_is_refused() {
        assert!(LiteralMatcher::new([""]).is_err());
    }

    /// The matches by naive search.
    fn found_naively(literals: &[String], text: &str) -> Vec<(usize, Span)> {
        let (mut found, mut from) = (Vec::new(), 0);
        while from < text.len() {
            let here = literals
                .iter()
                .enumerate()
                .filter(|(_, literal)| text.as_bytes()[from..].starts_with(literal.as_bytes()));
            // Of equal literals the first.
            match here.max_by_key(|(index, literal)| (literal.len(), std::cmp::Reverse(*index))) {
                Some((index, literal)) => {
                    found.push((index, Span::new(from, from + literal.len())));
                    from += literal.len();
                }
                None => from += 1,
            }
        }
        found
    }

    fn found(matcher: &LiteralMatcher, text: &str) -> Vec<(usize, Span)> {
        let (mut found, mut from) = (Vec::new(), 0);
        let mut search = matcher.search(text.as_bytes());
        while let Some((index, span)) = search.next(from, &mut Ticker::new(&Unwatched)).unwrap() {
            found.push((index, span));
            from = span.end;
        }
        found
    }

    /// Literals that repeat themselves and each other: random ones, their repetitions, prefixes
    /// with another end, and duplicates.
    fn literals() -> impl Strategy<Value = Vec<String>> {
        let period = ("[abé]{1,3}", 1usize..8, "[abcé]{0,2}");
        let periodic = period.prop_map(|(period, times, end)| period.repeat(times) + &end);
        let one = prop_oneof!["[abcé]{1,6}", periodic];
        let nested = |literals: Vec<String>| {
            let starts: Vec<String> = literals
                .iter()
                .flat_map(|literal| {
                    let half: String = literal.chars().take(literal.chars().count() / 2).collect();
                    [format!("{half}{half}"), half]
                })
                .filter(|half| !half.is_empty())
                .take(literals.len())
                .collect();
            [literals, starts].concat()
        };
        (prop::collection::vec(one, 1..6), any::<bool>())
            .prop_map(move |(literals, is_nested)| if is_nested { nested(literals) } else { literals })
    }

    proptest! {
        #[test]
        fn every_way_of_searching_finds_what_looking_everywhere_finds(
            (literals, picks) in literals().prop_flat_map(|literals| {
                let pick = (0..literals.len(), "[abcé]{0,3}", 0usize..30);
                (Just(literals), prop::collection::vec(pick, 0..12))
            }),
            short in 1usize..9,
            block in 1usize..20,
        ) {
            // Literals, prefixes of literals, and text between them.
            let text: String = picks
                .iter()
                .map(|(index, between, length)| {
                    literals[*index].chars().take(*length).collect::<String>() + between
                })
                .collect();
            let want = found_naively(&literals, &text);
            let all = || literals.iter().map(String::as_str);
            for (short, block) in [(SHORT, BLOCK), (short, block), (short, BLOCK)] {
                let matcher = LiteralMatcher::with_limits(all(), short, block).unwrap();
                prop_assert_eq!(&found(&matcher, &text), &want, "short {}, block {}", short, block);
                let window = matcher.longest * 2 + 1;
                prop_assert_eq!(found(&LiteralMatcher { window, ..matcher }, &text), want.clone());
            }
        }
    }

    #[test]
    fn long_literals_that_repeat_themselves_are_built_and_found_in_linear_time() {
        const LIMIT: usize = 64 << 10;
        let x = "x".repeat(LIMIT - 1);
        let (almost, ab) = (format!("{x}y"), "ab".repeat(LIMIT / 2));
        let names: Vec<String> = (0..100).map(|number| format!("<{number}>")).collect();
        let text = "x".repeat(1 << 20);
        // Literals, and the number of matches of each.
        let sets: [&[(&str, usize)]; 5] = [
            &[(&almost, 0)],
            &[(&x, 16), (&ab, 0)],
            &[(&almost, 0), ("x", 1 << 20)],
            &[("x", 0), ("xx", 8), (&x, 16)],
            &[("ab", 0), ("cd", 0), (&almost, 0)],
        ];
        for set in sets {
            // The crate chooses its automaton by the number of literals.
            for others in [0, 100 - set.len(), 100] {
                let names = names[..others].iter().map(String::as_str);
                let matcher =
                    LiteralMatcher::new(set.iter().map(|(literal, _)| *literal).chain(names)).unwrap();
                let mut counts = vec![0; set.len()];
                for (index, _) in found(&matcher, &text) {
                    counts[index] += 1;
                }
                assert_eq!(counts, set.iter().map(|(_, count)| *count).collect::<Vec<_>>());
            }
        }
    }
}
