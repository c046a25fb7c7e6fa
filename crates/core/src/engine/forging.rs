//! Protected tokens that the model itself could give: if an added token is in the model's vocabulary too, the model
//! may spell text with it although its literal was not recognised.
//!
//! In: a text of which some bytes are untrusted. Out: its ids, where no id of a protected token stands for an
//! untrusted byte. Special tokens are not part of a model, so they need no check. A pretoken in which a protected
//! token would stand for an untrusted byte is spelled by a model without any added tokens.
use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::aligned::{AlignedText, Origins};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Model;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::input::Text;
use super::pipeline::ById;
use super::recognizer::Recognizer;
use super::sink::{IdSink, PretokenSink, SinkResult};
use super::untrusted::UntrustedRanges;

/// Keeps ids, and notes whether the model gave a protected token.
struct NotedIds<'a> {
    ids: Vec<TokenId>,
    recognizer: &'a Recognizer<'a>,
    may_be_forged: bool,
}

impl IdSink for NotedIds<'_> {
    fn push_ids(&mut self, ids: &[TokenId]) -> SinkResult {
        self.may_be_forged |= ids.iter().any(|&id| self.recognizer.may_forge(id));
        self.ids.push_ids(ids)
    }

    fn push_added(&mut self, id: TokenId) -> SinkResult {
        self.ids.push_added(id)
    }
}

/// Keeps ids whose pretokens have been checked one by one.
struct CheckedIds(Vec<TokenId>);

impl PretokenSink for CheckedIds {
    fn wants_ends(&self) -> bool {
        true
    }

    fn take(&mut self, _: &[u8], _: Origins<'_>, ids: &[TokenId], _: &[u32]) -> SinkResult {
        try_alloc::extend(&mut self.0, ids)
    }

    fn added(&mut self, _: AlignedText<'_>, id: TokenId) -> SinkResult {
        try_alloc::push(&mut self.0, id)
    }
}

impl Engine {
    /// As [`Engine::encode_ids`], if the model could give a protected token. The text is first encoded through the
    /// cache, which does not say where ids are in the text; if such an id occurs, the text is encoded again,
    /// pretoken by pretoken.
    pub(super) fn encode_ids_unforged<S: IdSink>(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        next: Prefetcher,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        let mut noted = NotedIds { ids: Vec::new(), recognizer, may_be_forged: false };
        self.encode_into(text, recognizer, untrusted, next, watch, &mut ById(&mut noted))?;
        if !noted.may_be_forged {
            return Ok(sink.push_ids(&noted.ids)?);
        }
        noted.ids.clear();
        let mut looked = CheckedIds(noted.ids);
        self.encode_pretokens(text, recognizer, untrusted, watch, &mut looked)?;
        Ok(sink.push_ids(&looked.0)?)
    }

    /// The model without added tokens, which the first call makes. Cost of that call: that of compiling a model.
    ///
    /// # Errors
    /// Errors of the watch.
    pub(super) fn without_added_tokens(&self, ticker: &mut Ticker<'_>) -> Result<(&Vocabulary, &Model)> {
        if let Some((vocabulary, model)) = self.unforgeable.get() {
            return Ok((vocabulary, model));
        }
        let mut description = self.description.clone();
        description.added_tokens.iter_mut().for_each(|token| token.is_special = true);
        let vocabulary = Vocabulary::new(&description);
        let model = Model::new(&description.model, &vocabulary, ticker)?;
        let (vocabulary, model) = self.unforgeable.get_or_make(|| (vocabulary, model));
        Ok((vocabulary, model))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::compile;
    use crate::description::{
        AddedToken, Alphabet, BpeDescription, Description, Merges, ModelDescription, Split, TokenList,
        UnigramDescription, WordLevelDescription, WordPieceDescription,
    };
    use crate::engine::Special;
    use crate::span::Span;
    use crate::watch::Unwatched;

    const PIECES: [&str; 8] = ["?", "a", "b", "<", ">", "<a", "<a>", "##>"];

    /// An engine for each model. The vocabulary holds `<a>` (6), an added token that matches only as a single word.
    fn engines() -> Vec<Engine> {
        let tokens =
            TokenList::from_entries((0..).zip(PIECES.map(|piece| piece.as_bytes().to_vec())).collect());
        let plain = BpeDescription::plain(Alphabet::Bytes, tokens.clone(), Merges::ById);
        let tokens = Arc::new(tokens);
        let unigram = UnigramDescription {
            tokens: Arc::clone(&tokens),
            scores: vec![-1.0; PIECES.len()],
            kinds: vec![],
            unk: Some(0),
            unk_score: -9.0,
            byte_fallback: false,
            single_precision: false,
        };
        let wordpiece = WordPieceDescription {
            tokens: Arc::clone(&tokens),
            unk: Some(0),
            continuing_prefix: "##".to_owned(),
            max_chars: 100,
        };
        let models = [
            ModelDescription::Bpe(plain.clone()),
            ModelDescription::Unigram(unigram),
            ModelDescription::WordPiece(wordpiece),
            ModelDescription::WordLevel(WordLevelDescription { tokens, unk: Some(0) }),
        ];
        let token = AddedToken { is_special: false, single_word: true, ..AddedToken::special(6, "<a>") };
        let of_model = |model| {
            let description = Description::of_bpe(&Split::Pattern("[^b]+|b".to_owned()), plain.clone());
            let added_tokens =
                vec![token.clone(), AddedToken { is_special: false, ..AddedToken::special(9, "+") }];
            compile(Description { added_tokens, model, ..description }).unwrap()
        };
        models.into_iter().map(of_model).collect()
    }

    fn encoded(
        engine: &Engine,
        text: &str,
        untrusted: (usize, usize),
        protected: &[TokenId],
    ) -> Vec<TokenId> {
        let ranges = UntrustedRanges::new([Span::new(untrusted.0, untrusted.1)]).unwrap();
        let recognizer = engine.recognizer(&Special::Text).unwrap();
        let recognizer = recognizer.protecting(protected).unwrap();
        let text = Text::Str(text);
        let mut ids = Vec::new();
        engine.encode_untrusted(text, &recognizer, &ranges, &Unwatched, &mut ids).unwrap();
        let spans = engine.encode_with_offsets(text, &recognizer, &ranges, &Unwatched).unwrap();
        assert_eq!(spans.ids, ids);
        ids
    }

    #[test]
    fn no_model_gives_a_protected_token_for_untrusted_text() {
        // The ids of the literal in each model without the token.
        let without: [&[TokenId]; 4] = [&[5, 4], &[5, 4], &[5, 7], &[0]];
        for (engine, without) in engines().iter().zip(without) {
            // The literal matches only without word characters beside it, so `b<a>` leaves it to the model.
            let (all, part) = ("b<a>", (3, 4));
            assert_eq!(encoded(engine, all, (0, 0), &[6]), [2, 6]);
            assert_eq!(encoded(engine, all, (0, 4), &[]), [2, 6]);
            for untrusted in [(0, 4), (1, 2), part] {
                assert_eq!(encoded(engine, all, untrusted, &[6]), [&[2], without].concat());
            }
            // Where it is trusted, the token stays.
            assert_eq!(encoded(engine, all, (0, 1), &[6]), [2, 6]);
            assert_eq!(encoded(engine, "b<a>b<a>", (5, 6), &[6]), [&[2, 6, 2], without].concat());
            assert_eq!(encoded(engine, "<a>+<a>", (4, 5), &[6]), [&[6, 9], without].concat());
        }
    }

    #[test]
    fn what_the_model_gives_for_unknown_text_is_no_forgery() {
        for engine in &engines()[1..] {
            let mut description = engine.description().clone();
            description
                .added_tokens
                .insert(0, AddedToken { is_special: false, ..AddedToken::special(0, "?") });
            let engine = compile(description).unwrap();
            assert_eq!(encoded(&engine, "é", (0, 2), &[0]), [0]);
        }
    }

    #[test]
    fn the_other_model_is_made_only_when_it_is_needed() {
        let engine = &engines()[1];
        // The first offsets make a table of lengths.
        encoded(engine, "b<a>", (0, 1), &[6, 9]);
        let before = engine.memory_usage().model;
        encoded(engine, "ab", (0, 2), &[6, 9]);
        assert_eq!(engine.memory_usage().model, before);
        encoded(engine, "b<a>", (0, 4), &[6, 9]);
        assert!(engine.memory_usage().model > before);
    }
}
