//! Findings of fuzzing (`fuzz/`) as cases: the input made small, and the result that is right.
use tokenmill_core::compile::compile;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, Description, EndOfWord, EndOfWordForm, Merges, ModelDescription,
    Normalizer, Pattern, PreTokenizer, Split, TokenList, UnicodeTables, UnigramDescription,
    WordLevelDescription, WordPieceDescription,
};
use tokenmill_core::engine::{Engine, Special, Text, UntrustedRanges, char_offsets};
use tokenmill_core::ids::TokenId;
use tokenmill_core::watch::Unwatched;

/// A tokenizer with a model and added tokens, and no other stage.
fn engine(model: ModelDescription, added_tokens: Vec<AddedToken>) -> Engine {
    let nothing = BpeDescription::plain(Alphabet::Bytes, TokenList::default(), Merges::ById);
    compile(Description { model, added_tokens, ..Description::of_bpe(&Split::Whole, nothing) }).unwrap()
}

fn tokens(tokens: &[&str]) -> TokenList {
    TokenList::from_entries((0..).zip(tokens.iter().map(|token| token.as_bytes().to_vec())).collect())
}

fn encode(engine: &Engine, text: &str) -> Vec<TokenId> {
    let mut ids = Vec::new();
    engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut ids).unwrap();
    ids
}

/// A special token that is also in the model's vocabulary; only byte-pair encoding left it out.
#[test]
fn no_model_makes_a_special_token_of_a_text() {
    let special = || vec![AddedToken::special(1, "<s>")];
    let words = tokens(&["?", "<s>", "a"]);
    let level = WordLevelDescription { tokens: words.clone().into(), unk: Some(0) };
    assert_eq!(encode(&engine(ModelDescription::WordLevel(level), special()), "<s>"), [0]);
    let pieces = WordPieceDescription {
        tokens: words.clone().into(),
        unk: Some(0),
        continuing_prefix: String::new(),
        max_chars: 100,
    };
    assert_eq!(encode(&engine(ModelDescription::WordPiece(pieces), special()), "a<s>"), [0]);
    let unigram = UnigramDescription {
        scores: vec![0.0; words.len()],
        tokens: words.into(),
        kinds: vec![],
        unk: Some(0),
        unk_score: -10.0,
        byte_fallback: false,
        single_precision: false,
    };
    assert_eq!(encode(&engine(ModelDescription::Unigram(unigram), special()), "a<s>"), [2, 0]);
}

/// The token of a byte may be special: then it spells nothing.
#[test]
fn unigram_spells_no_unknown_character_with_a_special_byte() {
    let described = |special: bool| {
        let bytes = tokens(&["?", "a", "<0xC3>", "<0xA9>"]);
        let model = ModelDescription::Unigram(UnigramDescription {
            scores: vec![0.0; bytes.len()],
            tokens: bytes.into(),
            kinds: vec![],
            unk: Some(0),
            unk_score: -10.0,
            byte_fallback: true,
            single_precision: false,
        });
        let added = AddedToken { is_special: special, ..AddedToken::special(3, "<0xA9>") };
        engine(model, vec![added])
    };
    assert_eq!(encode(&described(false), "aé"), [1, 2, 3]);
    assert_eq!(encode(&described(true), "aé"), [1, 0]);
}

/// The text that an empty pattern inserts stood for the whole character before it, although that character was
/// spelled with one token for each byte, so that offsets went back.
#[test]
fn what_is_inserted_behind_a_character_of_several_tokens_does_not_go_back() {
    let bytes = TokenList::from_entries((0..=255).map(|byte| (TokenId::from(byte), vec![byte])).collect());
    let model = BpeDescription::plain(Alphabet::Bytes, bytes, Merges::ById);
    let mut description = Description::of_bpe(&Split::Whole, model);
    let pattern = Pattern::Regex("x*".to_owned());
    description.normalizer = vec![Normalizer::Replace { pattern, content: "-".to_owned() }];
    let engine = compile(description).unwrap();
    let encoding = engine
        .encode_with_offsets(
            Text::Str("éa"),
            &engine.recognizer(&Special::Text).unwrap(),
            UntrustedRanges::none(),
            &Unwatched,
        )
        .unwrap();
    let spans: Vec<(usize, usize)> =
        encoding.byte_offsets.iter().map(|span| (span.start, span.end)).collect();
    assert_eq!(spans, [(0, 0), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]);
    let characters = char_offsets(Text::Str("éa"), &encoding.byte_offsets, &Unwatched).unwrap();
    assert_eq!(characters, [(0, 0), (0, 1), (0, 1), (0, 1), (1, 2), (1, 2)]);
}

/// A pretoken that ends inside a decomposed character: the mark after it stood for a place after the whole
/// character, although the next pretoken is the rest of that character.
#[test]
fn a_mark_within_a_decomposed_character_does_not_stand_behind_it() {
    let end_of_word = Some(EndOfWord { symbol: "_".to_owned(), form: EndOfWordForm::Separate });
    let model = BpeDescription::plain(
        Alphabet::Chars { end_of_word },
        tokens(&["_", "I", "\u{307}", "a", " "]),
        Merges::listed(vec![]),
    );
    let mut description = Description::of_bpe(&Split::Whole, model);
    description.normalizer = vec![Normalizer::Nfkd(UnicodeTables::Current)];
    description.pre_tokenizer = vec![PreTokenizer::FixedLength(1)];
    let spans = |description: &Description| {
        let engine = compile(description.clone()).unwrap();
        let encoding = engine
            .encode_with_offsets(
                Text::Str("İa"),
                &engine.recognizer(&Special::Text).unwrap(),
                UntrustedRanges::none(),
                &Unwatched,
            )
            .unwrap();
        encoding.byte_offsets.iter().map(|span| (span.start, span.end)).collect::<Vec<_>>()
    };
    assert_eq!(spans(&description), [(0, 2), (0, 0), (0, 2), (2, 2), (2, 3), (3, 3)]);
    // A rewritten text also records where the next one begins.
    description.pre_tokenizer.push(PreTokenizer::PrefixSpace);
    let spans = spans(&description);
    assert!(spans.is_sorted_by_key(|&(start, _)| start) && spans.contains(&(0, 0)), "{spans:?}");
}

/// A Unigram model without tokens for all bytes: some unknown characters become bytes, some the unknown token.
#[test]
fn bytes_and_unknown_tokens_stand_in_the_order_of_the_text() {
    let model = UnigramDescription {
        tokens: tokens(&["<unk>", "<0xC3>", "<0xA9>", "a"]).into(),
        scores: vec![0.0, 0.0, 0.0, -1.0],
        kinds: vec![],
        unk: Some(0),
        unk_score: -10.0,
        byte_fallback: true,
        single_precision: true,
    };
    let engine = engine(ModelDescription::Unigram(model), vec![]);
    for (text, want) in [("é한", &[1, 2, 0][..]), ("한é", &[0, 1, 2]), ("aé한한é", &[3, 1, 2, 0, 1, 2])]
    {
        assert_eq!(encode(&engine, text), want, "{text}");
        let encoding = engine
            .encode_with_offsets(
                Text::Str(text),
                &engine.recognizer(&Special::Text).unwrap(),
                UntrustedRanges::none(),
                &Unwatched,
            )
            .unwrap();
        let ends: Vec<usize> = encoding.byte_offsets.iter().map(|span| span.end).collect();
        assert!(ends.is_sorted() && ends.last() == Some(&text.len()), "{text}: {ends:?}");
    }
}

/// A length that is as large as a byte allows, in the first bytes of another kind of file.
#[test]
fn what_starts_like_a_sentencepiece_model_is_looked_at_without_overflow() {
    for rest in [&[0xFF, 0xFF][..], &[0x05, 0xFF, 0x00], &[0xFE, 0xFE, 0xFE]] {
        let file =
            std::env::temp_dir().join(format!("tokenmill-found-{}-{}", std::process::id(), rest.len()));
        std::fs::write(&file, [&[0x0A][..], rest].concat()).unwrap();
        let loaded = tokenmill_io::load(&file, &tokenmill_io::LoadOptions::default(), &Unwatched);
        std::fs::remove_file(&file).unwrap();
        assert!(loaded.is_err());
    }
}
