use std::cell::Cell;

use proptest::prelude::*;

use super::super::{Engine, Source, Text, UntrustedOfRow};
use super::*;
use crate::compile::compile;
use crate::description::{
    Alphabet, BpeDescription, Description, Merges, Normalizer, Pattern, Split, TokenList,
};
use crate::watch::Unwatched;

thread_local! {
    /// The number of matchers made on this thread.
    pub(super) static MADE: Cell<usize> = const { Cell::new(0) };
}

fn described(added_tokens: Vec<AddedToken>, normalizer: Vec<Normalizer>) -> Description {
    let entries = (0..=255_u8).map(|byte| (u32::from(byte), vec![byte]));
    let more = ["ab", "ba", "aa", "<a", "ab>", "<ab>"];
    let more = (256..).zip(more.map(|token| token.as_bytes().to_vec()));
    let tokens = TokenList::from_entries(entries.chain(more).collect());
    let model = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById);
    Description { added_tokens, normalizer, ..Description::of_bpe(&Split::Whole, model) }
}

fn special_only(literals: &[&str]) -> Engine {
    let token = |(id, literal): (u32, &&str)| AddedToken::special(id, *literal);
    compile(described((1000..).zip(literals).map(token).collect(), vec![])).unwrap()
}

#[test]
fn a_set_of_literals_has_its_matchers_made_once_for_all_rows() {
    let engine = special_only(&["<s>", "<t>"]);
    let special = Special::Only(vec!["<s>".to_owned()]);
    let rows = [Some(Source::Text(Text::Str("a<s>a"))); 50];
    MADE.set(0);
    let (ids, _) = engine.encode_batch(&rows, &special, false, 1, &Unwatched).unwrap();
    let a = u32::from(b'a');
    assert_eq!(ids, [a, 1000, a].repeat(50));
    assert_eq!(engine.count_batch(&rows, &special, false, 1, &Unwatched).unwrap(), [3; 50]);
    // One matcher for each pass over the text, in each of the two calls.
    assert_eq!(MADE.get(), 4);
}

fn found(
    engine: &Engine,
    text: &str,
    untrusted: &[(usize, usize)],
    special: &Special,
    protected: &[TokenId],
) -> Vec<(usize, usize, TokenId)> {
    let ranges = UntrustedRanges::new(untrusted.iter().map(|&(a, b)| Span::new(a, b))).unwrap();
    let recognizer = engine.recognizer(special).unwrap();
    let recognizer = recognizer.protecting(protected).unwrap();
    let found = engine.find_added(Text::Str(text), &recognizer, &ranges, &Unwatched).unwrap();
    found.into_iter().map(|(span, id)| (span.start, span.end, id)).collect()
}

#[test]
fn a_literal_that_holds_an_untrusted_byte_is_dropped_before_the_longest_one_is_chosen() {
    let engine = special_only(&["<a>", "<a>b", "a><", "<"]);
    let parse = |untrusted: &[(usize, usize)]| found(&engine, "<a>b<a>", untrusted, &Special::Parse, &[]);
    assert_eq!(parse(&[]), [(0, 4, 1001), (4, 7, 1000)]);
    // A shorter literal at the same position.
    assert_eq!(parse(&[(3, 4)]), [(0, 3, 1000), (4, 7, 1000)]);
    assert_eq!(parse(&[(2, 4)]), [(0, 1, 1003), (4, 7, 1000)]);
    // A literal that begins inside the dropped one.
    assert_eq!(found(&engine, "<a><", &[(0, 1)], &Special::Parse, &[]), [(1, 4, 1002)]);
    // No literal is completed across the end of a range, and an empty range has no effect.
    assert_eq!(found(&engine, "<a>", &[(2, 3)], &Special::Parse, &[]), [(0, 1, 1003)]);
    assert_eq!(found(&engine, "<a>", &[(0, 2)], &Special::Parse, &[]), []);
    assert_eq!(found(&engine, "<a>", &[(2, 2)], &Special::Parse, &[]), [(0, 3, 1000)]);
}

#[test]
fn tokens_that_are_not_special_are_dropped_only_if_they_are_protected() {
    let plain = |id, content: &str| AddedToken { is_special: false, ..AddedToken::special(id, content) };
    let tokens = vec![AddedToken::special(1000, "<s>"), plain(1001, "<s"), plain(1002, "s>")];
    let engine = compile(described(tokens, vec![])).unwrap();
    let all = &[(0, 3)][..];
    for special in [Special::Text, Special::Parse, Special::Only(vec!["<s>".to_owned()])] {
        assert_eq!(found(&engine, "<s>", all, &special, &[]), [(0, 2, 1001)]);
        assert_eq!(found(&engine, "<s>", all, &special, &[1001]), [(1, 3, 1002)]);
        assert_eq!(found(&engine, "<s>", all, &special, &[1001, 1002]), []);
    }
    // A trusted special token that is plain text still hides shorter tokens.
    assert_eq!(found(&engine, "<s>", &[], &Special::Text, &[]), []);
    assert_eq!(found(&engine, "<s>", &[(3, 3)], &Special::Text, &[1001]), []);
    // Any special token is an error, trusted or not.
    let recognizer = engine.recognizer(&Special::Raise).unwrap();
    let ranges = UntrustedRanges::new([Span::new(0, 3)]).unwrap();
    let raised = engine.find_added(Text::Str("<s>"), &recognizer, &ranges, &Unwatched).unwrap_err();
    assert!(matches!(raised.into_kind(), Kind::SpecialToken { token, .. } if token == "<s>"));
    let unknown = recognizer.protecting(&[5]).err().unwrap();
    assert!(matches!(unknown.kind, Kind::Vocabulary { id: Some(5), .. }));
}

#[test]
fn white_space_that_a_token_takes_need_not_be_trusted() {
    let both = AddedToken { lstrip: true, rstrip: true, ..AddedToken::special(1000, "<m>") };
    let engine = compile(described(vec![both], vec![])).unwrap();
    assert_eq!(found(&engine, "a <m> b", &[(0, 2), (5, 7)], &Special::Parse, &[]), [(1, 6, 1000)]);
    assert_eq!(found(&engine, "a <m> b", &[(0, 3)], &Special::Parse, &[]), []);
}

#[test]
fn a_character_that_normalization_removes_or_divides_counts() {
    let normalized = |id, content: &str| AddedToken { normalized: true, ..AddedToken::special(id, content) };
    let replace = |from: &str, to: &str| Normalizer::Replace {
        pattern: Pattern::Literal(from.to_owned()),
        content: to.to_owned(),
    };
    let normalizer = vec![replace("_", ""), replace("W", "a>b"), Normalizer::Lowercase];
    let engine = compile(described(vec![normalized(1000, "<A>")], normalizer)).unwrap();
    let parse =
        |text: &str, untrusted: &[(usize, usize)]| found(&engine, text, untrusted, &Special::Parse, &[]);
    assert_eq!(parse("<_A>", &[]), [(0, 4, 1000)]);
    assert_eq!(parse("<_A>", &[(1, 2)]), []);
    assert_eq!(parse("_<a>_", &[(0, 1), (4, 5)]), [(1, 4, 1000)]);
    assert_eq!(parse("<Wx", &[]), [(0, 2, 1000)]);
    assert_eq!(parse("<Wx", &[(1, 2)]), []);
    assert_eq!(parse("<Wx", &[(2, 3)]), [(0, 2, 1000)]);
}

/// A text, and for each of its bytes the bytes of the caller's text that it stands for.
#[derive(Clone)]
struct Mapped {
    text: String,
    each: Vec<(usize, usize)>,
}

impl Mapped {
    fn original(text: &str, at: usize) -> Self {
        Self { text: text.to_owned(), each: (at..at + text.len()).map(|byte| (byte, byte + 1)).collect() }
    }

    /// Normalizes like the normalizer of the test: `_` is removed, `W` becomes three letters, `É` becomes small.
    fn normalized(&self) -> Self {
        let mut new = Self { text: String::new(), each: Vec::new() };
        for (at, char) in self.text.char_indices() {
            let becomes = match char {
                '_' => String::new(),
                'W' => "aba".to_owned(),
                char => char.to_lowercase().collect(),
            };
            let origin = (self.each[at].0, self.each[at + char.len_utf8() - 1].1);
            let same = becomes == char.to_string();
            for i in 0..becomes.len() {
                new.each.push(if same { self.each[at + i] } else { origin });
            }
            new.text += &becomes;
        }
        new
    }

    fn origin(&self, range: Span) -> (usize, usize) {
        (self.each[range.start].0, self.each[range.end - 1].1)
    }

    fn slice(&self, range: Span) -> Self {
        Self {
            text: self.text[range.start..range.end].to_owned(),
            each: self.each[range.start..range.end].to_vec(),
        }
    }
}

/// An added token for the naive definition: its literal and conditions, and whether it is guarded.
struct Naive {
    token: AddedToken,
    literal: String,
    is_guarded: bool,
}

/// The naive definition: takes all occurrences of all literals except the dropped ones, chooses the leftmost, of
/// these the longest, of these the first in the list, and continues after it. Then tests the conditions of each.
fn parts_naively(
    tokens: &[Naive],
    text: &Mapped,
    marks: &[bool],
    skips_special: bool,
) -> Vec<(Option<TokenId>, Span)> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut occurrences = Vec::new();
    for at in 0..text.text.len() {
        for (index, naive) in tokens.iter().enumerate() {
            if text.text.as_bytes()[at..].starts_with(naive.literal.as_bytes()) {
                let span = Span::new(at, at + naive.literal.len());
                let (from, to) = text.origin(span);
                if !(naive.is_guarded && marks[from..to].contains(&true)) {
                    occurrences.push((at, std::cmp::Reverse(span.len()), index));
                }
            }
        }
    }
    occurrences.sort_unstable();
    let (mut parts, mut start, mut from) = (Vec::new(), 0, 0);
    for (at, std::cmp::Reverse(length), index) in occurrences {
        if at < from {
            continue;
        }
        from = at + length;
        let AddedToken { id, is_special, single_word, lstrip, rstrip, .. } = tokens[index].token;
        let (before, after) = (&text.text[..at], &text.text[from..]);
        let beside = before.chars().next_back().into_iter().chain(after.chars().next());
        if (skips_special && is_special) || (single_word && beside.into_iter().any(is_word)) {
            continue;
        }
        let mut span = Span::new(at, from);
        if lstrip {
            span.start = before.trim_end().len().max(start);
        }
        if rstrip {
            span.end = text.text.len() - after.trim_start().len();
        }
        if span.start < span.end {
            if start < span.start {
                parts.push((None, Span::new(start, span.start)));
            }
            parts.push((Some(id), span));
            start = span.end;
        }
    }
    if start < text.text.len() {
        parts.push((None, Span::new(start, text.text.len())));
    }
    parts
}

/// Literals that are parts of others or overlap with them; some are equal after normalization.
fn added_token() -> impl Strategy<Value = (String, [bool; 6])> {
    let literal = prop_oneof![
        "(<a>|<ab>|<|a>|ab|ba|aab){1,2}",
        "[<>ab]{1,4}",
        "<[abAB_]{1,3}>",
        "a{1,6}",
        "( a|É|é| |b_|W|\\n<){1,2}",
    ];
    (literal, any::<[bool; 6]>())
}

/// Pieces of literals among other text.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("<a|b>|>|[abAB]{1,3}|<ab>| |É|é|W|_|\\n|<a>|aaaa", 0..14)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn what_is_found_is_what_the_naive_rule_finds(
        given in prop::collection::vec(added_token(), 1..9),
        text in text(),
        marked in prop::collection::vec((0usize..40, 0usize..8), 0..6),
        policy in 0..3,
        normalizes in any::<bool>(),
    ) {
        let mut tokens: Vec<(AddedToken, bool)> = Vec::new();
        for (content, [is_special, single_word, lstrip, rstrip, normalized, is_protected]) in given {
            // The normalized literal must not be empty.
            let is_known = tokens.iter().any(|(token, _)| token.content == content);
            if !is_known && content.chars().any(|char| char != '_') {
                let id = 1000 + u32::try_from(tokens.len()).unwrap();
                // White space that tokens include makes the whole text one token too often.
                let (lstrip, rstrip) = (lstrip && single_word, rstrip && is_special);
                let token =
                    AddedToken { id, content, is_special, single_word, lstrip, rstrip, normalized };
                tokens.push((token, is_protected));
            }
        }
        prop_assume!(!tokens.is_empty());
        let replace = |from: &str, to: &str| Normalizer::Replace {
            pattern: Pattern::Literal(from.to_owned()),
            content: to.to_owned(),
        };
        let normalizer = if normalizes {
            vec![replace("_", ""), replace("W", "aba"), Normalizer::Lowercase]
        } else {
            vec![]
        };
        let engine =
            compile(described(tokens.iter().map(|(token, _)| token.clone()).collect(), normalizer)).unwrap();
        let chosen: Vec<String> =
            tokens.iter().filter(|(token, _)| token.is_special).map(|(token, _)| token.content.clone()).step_by(2).collect();
        let special = match policy {
            0 => Special::Text,
            1 => Special::Parse,
            _ => Special::Only(chosen.clone()),
        };
        let protected: Vec<TokenId> =
            tokens.iter().filter(|(_, is_protected)| *is_protected).map(|(token, _)| token.id).collect();

        // The naive definition.
        let mut marks = vec![false; text.len() + 1];
        let mut spans = Vec::new();
        for (start, length) in marked {
            let (start, end) = (start.min(text.len()), (start + length).min(text.len()));
            spans.push(Span::new(start, end));
            marks[start..end].fill(true);
        }
        let naive = |is_later: bool| -> Vec<Naive> {
            let keep = |token: &AddedToken| {
                token.normalized == is_later
                    && !(token.is_special && policy == 2 && !chosen.contains(&token.content))
            };
            let each = tokens.iter().filter(|(token, _)| keep(token));
            each.map(|(token, is_protected)| {
                let mapped = Mapped::original(&token.content, 0);
                let literal = if is_later && normalizes { mapped.normalized().text } else { token.content.clone() };
                Naive { token: token.clone(), literal, is_guarded: token.is_special || *is_protected }
            })
            .collect()
        };
        let (first, second) = (naive(false), naive(true));
        let mut want = Vec::new();
        let whole = Mapped::original(&text, 0);
        for (id, span) in parts_naively(&first, &whole, &marks, policy == 0) {
            if let Some(id) = id {
                want.push((span.start, span.end, id));
                continue;
            }
            let piece = whole.slice(span);
            let piece = if normalizes { piece.normalized() } else { piece };
            for (id, span) in parts_naively(&second, &piece, &marks, policy == 0) {
                if let Some(id) = id {
                    let (start, end) = piece.origin(span);
                    want.push((start, end, id));
                }
            }
        }

        let ranges = UntrustedRanges::new(spans).unwrap();
        let recognizer = engine.recognizer(&special).unwrap();
        let recognizer = recognizer.protecting(&protected).unwrap();
        let found = engine.find_added(Text::Str(&text), &recognizer, &ranges, &Unwatched).unwrap();
        let found: Vec<_> = found.into_iter().map(|(span, id)| (span.start, span.end, id)).collect();
        prop_assert_eq!(&found, &want);

        // All methods agree.
        let encoding =
            engine.encode_with_offsets(Text::Str(&text), &recognizer, &ranges, &Unwatched).unwrap();
        let mut ids = Vec::new();
        engine.encode_untrusted(Text::Str(&text), &recognizer, &ranges, &Unwatched, &mut ids).unwrap();
        prop_assert_eq!(&ids, &encoding.ids);
        let count = engine.count_untrusted(Text::Str(&text), &recognizer, &ranges, &Unwatched).unwrap();
        prop_assert_eq!(count, ids.len());
        let added: Vec<TokenId> = ids.iter().copied().filter(|id| *id >= 1000).collect();
        prop_assert_eq!(added, want.iter().map(|(_, _, id)| *id).collect::<Vec<_>>());
        let rows = [Some(Source::Text(Text::Str(&text))), None, Some(Source::Text(Text::Bytes(text.as_bytes())))];
        let untrusted: UntrustedOfRow<'_> = &|_, _, _| Ok(ranges.clone());
        let (flat, ends) =
            engine.encode_batch_untrusted(&rows, untrusted, &[&recognizer], false, 1, &Unwatched).unwrap();
        prop_assert_eq!(ends, [0, ids.len() as i64, ids.len() as i64, 2 * ids.len() as i64]);
        prop_assert_eq!(flat, ids.repeat(2));
        let counts = engine.count_batch_untrusted(&rows, untrusted, &[&recognizer], false, 1, &Unwatched).unwrap();
        prop_assert_eq!(counts, [count as i64, 0, count as i64]);
        if ranges.is_empty() {
            let mut plain = Vec::new();
            engine.encode(Text::Str(&text), &special, 1, &Unwatched, &mut plain).unwrap();
            prop_assert_eq!(ids, plain);
        }
    }
}
