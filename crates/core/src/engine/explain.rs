//! The output of every stage for a text, for people and for programs.
//!
//! The stages run as they do for ids, but the sink keeps what the other sinks drop. Spans are bytes of the caller's
//! text; those of tokens are the ones of [`Engine::encode_with_offsets`].
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::aligned::{AlignedText, Origins};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::MergeSteps;
use crate::model::{Model, Scratch};
use crate::span::Span;
use crate::watch::Watch;

use super::Engine;
use super::input::{Special, Text};
use super::offsets::Spans;
use super::sink::{PretokenSink, SinkResult, Spelling};
use super::untrusted::UntrustedRanges;

/// The explanation of a segment of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainedSegment {
    /// It is an added token.
    Added(Token),
    /// It is ordinary text.
    Ordinary(Ordinary),
}

/// Text between added tokens, or bytes that are no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordinary {
    /// Where it is in the text.
    pub span: Span,
    /// The steps of normalization that changed it, by name, and what each left.
    pub normalized: Vec<(String, String)>,
    /// The pretokens of the normalized text.
    pub pretokens: Vec<Pretoken>,
}

/// What the model gets, and what it makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pretoken {
    /// Its bytes as the model gets them.
    pub bytes: Vec<u8>,
    /// The part of the text that it stands for.
    pub span: Span,
    /// How it became its tokens.
    pub spelled: Spelled,
    /// Its tokens.
    pub tokens: Vec<Token>,
}

/// How a pretoken became its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelled {
    /// It is an added token that was found in normalized text; it does not go through the model.
    Added,
    /// By byte-pair encoding.
    Bpe(MergeSteps),
    /// By the longest token first.
    WordPiece,
    /// As a whole.
    WordLevel,
    /// By the most probable path.
    Unigram,
}

/// A token, and the part of the text that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Its written form.
    pub written: String,
    /// The part of the text that it stands for.
    pub span: Span,
}

struct ExplainSink<'a> {
    engine: &'a Engine,
    spans: Spans<'a>,
    segments: Vec<ExplainedSegment>,
    /// The segment that is being encoded; it is not in `segments` yet.
    open: Option<Ordinary>,
    /// The text of `open` after the last step of normalization.
    current: String,
    /// How the next pretoken was spelled.
    spelled: Spelled,
}

impl ExplainSink<'_> {
    /// The tokens that were added since there were `before`.
    fn tokens(&self, before: usize) -> std::result::Result<Vec<Token>, OutOfMemory> {
        let encoding = &self.spans.encoding;
        let each = encoding.ids.iter().zip(&encoding.byte_offsets).skip(before);
        let written = |id| self.engine.vocabulary().written(id).unwrap_or_default();
        try_alloc::collect(each.map(|(&id, &span)| Ok(Token { id, written: written(id), span })))
    }

    fn push(&mut self, pretoken: Pretoken) -> SinkResult {
        if let Some(text) = &mut self.open {
            return try_alloc::push(&mut text.pretokens, pretoken);
        }
        // Bytes that are not text go to the model alone, past all other stages.
        let text = Ordinary { span: pretoken.span, normalized: vec![], pretokens: vec![pretoken] };
        try_alloc::push(&mut self.segments, ExplainedSegment::Ordinary(text))
    }

    /// Replaces the current text.
    fn set_current(&mut self, text: &str) -> SinkResult {
        self.current.clear();
        try_alloc::push_text(&mut self.current, text)
    }
}

impl PretokenSink for ExplainSink<'_> {
    fn wants_ends(&self) -> bool {
        true
    }

    fn begin(&mut self, text: AlignedText<'_>) -> SinkResult {
        self.open = Some(Ordinary { span: text.span(), normalized: vec![], pretokens: vec![] });
        self.set_current(text.text)
    }

    fn end(&mut self) -> SinkResult {
        let Some(text) = self.open.take() else { return Ok(()) };
        try_alloc::push(&mut self.segments, ExplainedSegment::Ordinary(text))
    }

    fn normalized(&mut self, step: &str, text: &str) -> SinkResult {
        // A step may have rewritten the text without a change.
        if self.open.is_none() || self.current == text {
            return Ok(());
        }
        self.set_current(text)?;
        let copy = try_alloc::copy_text(text)?;
        if let Some(open) = &mut self.open {
            try_alloc::push(&mut open.normalized, (step.to_owned(), copy))?;
        }
        Ok(())
    }

    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        let Spelling { model, vocabulary, scratch, ticker } = with;
        model.encode(pretoken, vocabulary, scratch, ticker)?;
        self.spelled = match model {
            Model::Bpe(model) => {
                let Scratch { ids, bpe, .. } = &mut **scratch;
                let tables = (self.engine.bpe()?, *vocabulary);
                Spelled::Bpe(model.steps(pretoken, ids, tables, bpe, ticker)?)
            }
            Model::WordPiece(_) => Spelled::WordPiece,
            Model::WordLevel(_) => Spelled::WordLevel,
            Model::Unigram(_) => Spelled::Unigram,
        };
        Ok(())
    }

    fn take(&mut self, pretoken: &[u8], origins: Origins<'_>, ids: &[TokenId], ends: &[u32]) -> SinkResult {
        let before = self.spans.encoding.ids.len();
        self.spans.take(pretoken, origins, ids, ends)?;
        let pretoken = Pretoken {
            bytes: try_alloc::copy(pretoken)?,
            span: origins.span(Span::new(0, pretoken.len())),
            spelled: std::mem::replace(&mut self.spelled, Spelled::Added),
            tokens: self.tokens(before)?,
        };
        self.push(pretoken)
    }

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        let before = self.spans.encoding.ids.len();
        self.spans.added(found, id)?;
        let tokens = self.tokens(before)?;
        if self.open.is_none() {
            for token in tokens {
                try_alloc::push(&mut self.segments, ExplainedSegment::Added(token))?;
            }
            return Ok(());
        }
        let (bytes, span) = (try_alloc::copy(found.text.as_bytes())?, found.span());
        self.push(Pretoken { bytes, span, spelled: Spelled::Added, tokens })
    }
}

impl Engine {
    /// The output of every stage for a text: its segments in order. Their ids are those of [`Engine::encode`].
    ///
    /// # Errors
    /// As [`Engine::encode`]. Cost: that of encoding, and at most the square of
    /// [`crate::model::bpe::MAX_EXPLAINED_SYMBOLS`] for each pretoken with that many symbols.
    pub fn explain(
        &self,
        text: Text<'_>,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Vec<ExplainedSegment>> {
        let mut sink = ExplainSink {
            engine: self,
            spans: Spans::new(self, false),
            segments: Vec::new(),
            open: None,
            current: String::new(),
            spelled: Spelled::Added,
        };
        self.encode_pretokens(text, &self.recognizer(special)?, UntrustedRanges::none(), watch, &mut sink)?;
        Ok(sink.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::description::{
        AddedToken, Alphabet, BpeDescription, Description, Merges, Normalizer, Split, TokenList,
    };
    use crate::model::bpe::{MAX_EXPLAINED_SYMBOLS, MergeStep};
    use crate::watch::Unwatched;

    fn description(tokens: &[&str], split: &Split) -> Description {
        let entries = tokens.iter().zip(0..).map(|(text, id)| (id, text.as_bytes().to_vec())).collect();
        let model = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(entries), Merges::ById);
        let mut description = Description::of_bpe(split, model);
        description.added_tokens = vec![AddedToken::special(20, "<s>")];
        description
    }

    fn explained(description: &Description, text: Text<'_>) -> Vec<ExplainedSegment> {
        let engine = compile(description.clone()).unwrap();
        engine.explain(text, &Special::Parse, &Unwatched).unwrap()
    }

    fn steps(segment: &ExplainedSegment) -> &MergeSteps {
        match segment {
            ExplainedSegment::Ordinary(Ordinary { pretokens, .. }) => match &pretokens[0].spelled {
                Spelled::Bpe(steps) => steps,
                other => panic!("{other:?}"),
            },
            ExplainedSegment::Added(token) => panic!("{token:?}"),
        }
    }

    #[test]
    fn added_tokens_and_text_come_in_order_with_their_merges() {
        let split = Split::Pattern("[a-z]+| ".to_owned());
        let segments = explained(&description(&["a", "b", "ab", "abab"], &split), Text::Str("abab<s>b"));
        let token = |id, written: &str, start, end| Token {
            id,
            written: written.to_owned(),
            span: Span::new(start, end),
        };
        assert_eq!(segments[1], ExplainedSegment::Added(token(20, "<s>", 4, 7)));
        let step = |at, left: &str, right: &str, result: &str, rank| MergeStep {
            at,
            left: left.to_owned(),
            right: right.to_owned(),
            result: result.to_owned(),
            rank,
        };
        let want = MergeSteps::Merged {
            symbols: ["a", "b", "a", "b"].map(str::to_owned).to_vec(),
            merges: vec![
                step(0, "a", "b", "ab", 2),
                step(1, "a", "b", "ab", 2),
                step(0, "ab", "ab", "abab", 3),
            ],
        };
        assert_eq!(steps(&segments[0]), &want);
        let ExplainedSegment::Ordinary(last) = &segments[2] else { panic!("{segments:?}") };
        assert_eq!((last.span, &last.pretokens[0].tokens), (Span::new(7, 8), &vec![token(1, "b", 7, 8)]));
    }

    #[test]
    fn normalizers_are_told_where_they_changed_the_text() {
        let mut description = description(&["a", "b"], &Split::Whole);
        description.normalizer = vec![
            Normalizer::Strip { left: true, right: false },
            Normalizer::Lowercase,
            Normalizer::Lowercase,
        ];
        let segments = explained(&description, Text::Str(" AB"));
        let ExplainedSegment::Ordinary(text) = &segments[0] else { panic!("{segments:?}") };
        assert_eq!(text.span, Span::new(0, 3));
        assert_eq!(
            text.normalized,
            [("Strip", "AB"), ("Lowercase", "ab")].map(|(step, left)| (step.to_owned(), left.to_owned()))
        );
        assert_eq!(text.pretokens[0].span, Span::new(1, 3));
    }

    #[test]
    fn a_long_pretoken_has_no_steps_and_a_whole_one_needs_none() {
        let mut description = description(&["a", "b", "bab"], &Split::Whole);
        let long = "ab".repeat(MAX_EXPLAINED_SYMBOLS);
        let segments = explained(&description, Text::Str(&long));
        assert_eq!(steps(&segments[0]), &MergeSteps::TooLong(2 * MAX_EXPLAINED_SYMBOLS));
        if let Some(model) = description.model.as_bpe_mut() {
            model.whole_pretokens = true;
        }
        assert_eq!(steps(&explained(&description, Text::Str("bab"))[0]), &MergeSteps::Whole);
        assert!(matches!(steps(&explained(&description, Text::Str("ba"))[0]), MergeSteps::Merged { .. }));
    }
}
