//! Raw segments against all stages.
use proptest::prelude::*;

use super::{check, check_parts};
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, Behavior, BpeDescription, Description, Merge, Merges, ModelDescription, Normalizer,
    Pattern, PieceKind, PreTokenizer, PrependScheme, SentencePieceRules, TokenList,
};
use crate::engine::raw::Raw;
use crate::engine::{Engine, Special, Text};
use crate::ids::to_u32;
use crate::watch::Unwatched;

const MARK: char = '\u{2581}';

fn replace(content: &str) -> Normalizer {
    Normalizer::Replace { pattern: Pattern::Literal(" ".to_owned()), content: content.to_owned() }
}

fn metaspace(prepend: PrependScheme, split: bool) -> PreTokenizer {
    PreTokenizer::Metaspace { replacement: MARK, prepend, split }
}

fn sentence_piece(add_dummy_prefix: bool, escape_whitespaces: bool) -> Normalizer {
    Normalizer::SentencePiece(SentencePieceRules {
        add_dummy_prefix,
        escape_whitespaces,
        ..SentencePieceRules::default()
    })
}

/// Stages before a model that leave raw segments.
fn all_stages() -> Vec<(Vec<Normalizer>, Vec<PreTokenizer>)> {
    let prepend = |prefix: &str| Normalizer::Prepend(prefix.to_owned());
    let at_spaces = PreTokenizer::Split {
        pattern: Pattern::Literal(" ".to_owned()),
        behavior: Behavior::MergedWithPrevious,
        invert: false,
    };
    vec![
        (vec![], vec![]),
        (vec![prepend("\u{2581}"), replace("\u{2581}")], vec![]),
        (vec![replace("\u{2581}"), prepend("\u{2581}")], vec![]),
        (vec![prepend(" "), replace("\u{2581}")], vec![]),
        (vec![prepend(" ")], vec![]),
        (vec![replace("\u{2581}"), prepend("ab")], vec![]),
        (vec![replace("b")], vec![]),
        (vec![replace("\u{2581}")], vec![at_spaces]),
        (vec![sentence_piece(true, true)], vec![]),
        (vec![sentence_piece(false, true)], vec![]),
        (vec![sentence_piece(true, false)], vec![]),
        (vec![], vec![metaspace(PrependScheme::First, false)]),
        (vec![], vec![metaspace(PrependScheme::First, true)]),
        (vec![sentence_piece(true, true)], vec![metaspace(PrependScheme::First, false)]),
        (vec![prepend("\u{2581}"), replace("\u{2581}")], vec![metaspace(PrependScheme::Always, false)]),
        (vec![], vec![metaspace(PrependScheme::Always, true)]),
        (vec![], vec![metaspace(PrependScheme::Never, true)]),
        (vec![replace("\u{2581}")], vec![metaspace(PrependScheme::Always, false)]),
    ]
}

/// What symbols are made of; some are no tokens.
const CHARACTERS: [char; 9] = ['a', 'b', '1', '\n', MARK, 'é', '語', '中', '\u{10400}'];

/// A model over characters and all byte tokens. Each of `joins` joins two earlier symbols; scores are drawn from few
/// numbers, so that some are equal.
fn model(joins: &[(usize, usize)], scores: &[u8], by_score: bool, is_user_defined: bool) -> BpeDescription {
    let mut tokens: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut kinds = vec![PieceKind::Byte; tokens.len()];
    tokens.extend(CHARACTERS[..7].iter().map(char::to_string));
    let first = 256;
    let mut merges = Vec::new();
    for &(left, right) in joins {
        let [left, right] = [left, right].map(|number| first + number % (tokens.len() - first));
        let joined = format!("{}{}", tokens[left], tokens[right]);
        if joined.chars().count() > 8 || tokens.contains(&joined) {
            continue;
        }
        merges.push([left, right, tokens.len()].map(to_u32));
        tokens.push(joined);
    }
    kinds.resize(tokens.len(), PieceKind::Normal);
    if is_user_defined && let Some(last) = kinds.last_mut() {
        *last = PieceKind::UserDefined;
    }
    let score = |index: usize| -f32::from(scores[index % scores.len()]);
    let merges = if by_score {
        Merges::ByScore { scores: (0..tokens.len()).map(score).collect(), kinds }
    } else {
        Merges::listed(merges.into_iter().map(|[left, right, result]| Merge { left, right, result }))
    };
    let tokens = TokenList::from_entries((0..).zip(tokens.into_iter().map(String::into_bytes)).collect());
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, merges);
    BpeDescription { byte_fallback: true, ..plain }
}

fn engine(
    model: BpeDescription,
    (normalizer, pre_tokenizer): (Vec<Normalizer>, Vec<PreTokenizer>),
) -> Engine {
    let description =
        Description { normalizer, pre_tokenizer, ..Description::of_model(ModelDescription::Bpe(model)) };
    let added_tokens = vec![AddedToken::special(100_000, "<s>")];
    compile(Description { added_tokens, ..description }).unwrap()
}

#[test]
fn threads_share_a_long_text() {
    for stages in all_stages() {
        let engine = engine(model(&[(0, 1), (4, 8), (4, 4)], &[0], false, false), stages);
        let text = "ab 1 ab\n<s>  ab 語ba \u{2581}".repeat(30_000);
        for special in [Special::Text, Special::Parse] {
            let encode = |threads| {
                let mut ids = Vec::new();
                engine.encode(Text::Str(&text), &special, threads, &Unwatched, &mut ids).unwrap();
                ids
            };
            assert!(encode(3) == encode(1));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 128 } else { 2048 }))]
    #[test]
    fn their_ids_are_those_of_the_text(
        joins in prop::collection::vec((0..1000_usize, 0..1000_usize), 0..24),
        scores in prop::collection::vec(0..4_u8, 1..7),
        [by_score, is_user_defined] in any::<[bool; 2]>(),
        size in 1..20_usize,
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
        texts in prop::collection::vec("(a|b|1| |\u{2581}|\n|é|語|中|☃|\u{10400}|<s>|<0x0A>| ab|  1){0,30}|a{60,200}", 3),
    ) {
        for stages in all_stages() {
            let splits = stages.1.iter().any(|step| matches!(step, PreTokenizer::Metaspace { split: true, .. }));
            let engine = engine(model(&joins, &scores, by_score, is_user_defined), stages);
            // No token with a mark inside may be made where a text is split at marks.
            prop_assert!(has_segments(&engine) || splits);
            let engine = engine.with_cache_bytes(Some(cache_bytes));
            for text in &texts {
                check(&engine, text)?;
                check_parts(&engine, text, size)?;
            }
        }
    }
}

fn has_segments(engine: &Engine) -> bool {
    matches!(engine.stages.raw, Some(Raw::Segments(_)))
}

/// Stages and models for which a text is taken as a whole.
#[test]
fn there_are_none_where_a_stage_looks_farther() {
    let plain = || model(&[], &[0], false, false);
    let rules = |change: fn(&mut SentencePieceRules)| {
        let mut rules = SentencePieceRules { escape_whitespaces: true, ..SentencePieceRules::default() };
        change(&mut rules);
        vec![Normalizer::SentencePiece(rules)]
    };
    let of_stages = |normalizer: Vec<Normalizer>, pre_tokenizer: Vec<PreTokenizer>| {
        has_segments(&engine(plain(), (normalizer, pre_tokenizer)))
    };
    assert!(of_stages(rules(|_| ()), vec![]));
    assert!(!of_stages(rules(|rules| rules.remove_extra_whitespaces = true), vec![]));
    assert!(!of_stages(rules(|rules| rules.treat_whitespace_as_suffix = true), vec![]));
    assert!(!of_stages(rules(|rules| rules.user_defined = vec!["a b".to_owned()]), vec![]));
    assert!(!of_stages(vec![replace("ab")], vec![]));
    // A space is put in front that is not written as a mark.
    let prepend = Normalizer::Prepend(" ".to_owned());
    assert!(of_stages(vec![prepend.clone(), replace("\u{2581}")], vec![]));
    assert!(!of_stages(vec![replace("\u{2581}"), prepend], vec![]));
    let inverted = PreTokenizer::Split {
        pattern: Pattern::Literal(" ".to_owned()),
        behavior: Behavior::Removed,
        invert: true,
    };
    assert!(!of_stages(vec![replace("\u{2581}")], vec![inverted]));
    let never = |split| metaspace(PrependScheme::Never, split);
    assert!(of_stages(vec![], vec![never(true)]));
    assert!(!of_stages(vec![], vec![never(true), never(false)]));
    assert!(!of_stages(vec![Normalizer::Lowercase], vec![]));
    assert!(!of_stages(vec![], vec![PreTokenizer::WhitespaceSplit]));

    // A token with a mark inside, at which the text is split before.
    let with_inner_mark = |stages| has_segments(&engine(model(&[(0, 4)], &[0], false, false), stages));
    assert!(with_inner_mark((vec![], vec![never(false)])));
    assert!(!with_inner_mark((vec![], vec![never(true)])));

    let of_model = |model: BpeDescription| has_segments(&engine(model, (vec![], vec![])));
    assert!(of_model(plain()));
    assert!(!of_model(BpeDescription { byte_fallback: false, unk: Some(0), ..plain() }));
    assert!(!of_model(BpeDescription { whole_pretokens: true, ..plain() }));
    assert!(!of_model(BpeDescription { merges: Merges::ById, ..plain() }));
    // A merge of two byte tokens, which may follow one another where no token of text says so.
    let mut tokens: Vec<Vec<u8>> = plain().tokens.iter().map(|(_, token)| token.to_vec()).collect();
    let merge = Merge { left: 10, right: 10, result: to_u32(tokens.len()) };
    tokens.push(b"<0x0A><0x0A>".to_vec());
    let tokens = TokenList::from_entries((0..).zip(tokens).collect());
    assert!(of_model(BpeDescription { tokens: tokens.clone().into(), ..plain() }));
    assert!(!of_model(BpeDescription {
        tokens: tokens.into(),
        merges: Merges::listed(vec![merge]),
        ..plain()
    }));
    let BpeDescription { tokens, .. } = plain();
    let mut kinds = vec![PieceKind::Normal; tokens.len()];
    kinds[260] = PieceKind::Unused;
    let scores = vec![0.0; tokens.len()];
    assert!(!of_model(BpeDescription { merges: Merges::ByScore { scores, kinds }, ..plain() }));

    // A literal that is looked for in normalized text.
    let description = engine(plain(), (vec![replace("\u{2581}")], vec![])).description().clone();
    let added = AddedToken { normalized: true, is_special: false, ..AddedToken::special(100_001, "a b") };
    let added_tokens = vec![added];
    let engine = compile(Description { added_tokens, ..description }).unwrap();
    assert!(!has_segments(&engine));
}

/// A piece that is written like a byte token, but is an ordinary one.
#[test]
fn an_ordinary_piece_may_look_like_a_byte_token() {
    let BpeDescription { tokens, .. } = model(&[], &[0], true, false);
    let mut tokens: Vec<String> =
        tokens.iter().map(|(_, token)| String::from_utf8(token.to_vec()).unwrap()).collect();
    tokens.extend(["<", "0", "x", "4", ">", "<0", "<0x", "<0x4", "<0x41"].map(str::to_owned));
    let mut kinds = vec![PieceKind::Byte; 256];
    kinds.resize(tokens.len(), PieceKind::Normal);
    kinds[0x41] = PieceKind::Normal;
    let scores = (0..)
        .take(tokens.len())
        .map(|index: u16| if index == 0x41 { -1000.0 } else { -f32::from(index) })
        .collect();
    let tokens = TokenList::from_entries((0..).zip(tokens.into_iter().map(String::into_bytes)).collect());
    let merges = Merges::ByScore { scores, kinds };
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, merges);
    for stages in all_stages() {
        let engine = engine(BpeDescription { byte_fallback: true, ..plain.clone() }, stages);
        check(&engine, "<0x41>a<0x41> <0x41>").unwrap();
    }
}
