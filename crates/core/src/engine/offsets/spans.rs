//! The sink that keeps ids and the part of the text that each stands for.
//!
//! In: pretokens with their ids and origins, and added tokens. Out: an [`Encoding`].
use tokenmill_kernels::try_alloc;

use crate::aligned::{AlignedText, Origins};
use crate::engine::input::placed;
use crate::engine::sink::{PretokenSink, SinkResult};
use crate::engine::{Engine, Stages};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::unigram::Unigram;
use crate::model::{SAME_PART, Scratch};
use crate::postprocess::white_space_at_ends;
use crate::span::Span;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// Ids, and the text that each stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// For each id, its span in the bytes of the caller's text. The spans tile the text if the model is over bytes
    /// and nothing is normalized.
    pub byte_offsets: Vec<Span>,
    /// For each id, the number of its pretoken. Added tokens are counted, too.
    pub words: Vec<u32>,
    /// The text of each id whose text differs from its token: an added token with the white space that it takes,
    /// and text unknown to a Unigram model. By the index of the id, ascending.
    pub surfaces: Vec<(usize, String)>,
}

/// Most texts have at least this many bytes for each id.
pub(super) const BYTES_PER_ID: usize = 3;

/// A sink that keeps ids and the part of the text that each stands for.
pub(in crate::engine) struct Spans<'a> {
    pub(in crate::engine) encoding: Encoding,
    /// The number of the next pretoken, or of the current word.
    pub(super) word: u32,
    /// Has the caller split the text into words? Then all ids belong to the current word.
    pub(super) is_pretokenized: bool,
    /// Are the numbers of pretokens and the surfaces kept, too?
    pub(super) keeps_words: bool,
    /// A buffer for the ends of pretokens.
    pub(super) ends: Vec<usize>,
    /// How many ids had a text that differs from their token, whether or not it is kept.
    pub(super) surfaces_seen: usize,
    /// The vocabulary, for the written forms of tokens; set if offsets leave out white space.
    trims: Option<&'a Vocabulary>,
    in_bytes: bool,
    vocabulary: &'a Vocabulary,
    /// The unknown token, if a Unigram model has one: it stands for any text.
    unknown: Option<TokenId>,
}

impl<'a> Spans<'a> {
    pub(in crate::engine) fn new(engine: &'a Engine, is_pretokenized: bool) -> Self {
        let trims = engine.stages.post_processors.trims_offsets().then_some(&engine.stages.vocabulary);
        let in_bytes = engine.description.is_byte_level();
        let vocabulary = &engine.stages.vocabulary;
        let unknown = engine.stages.model.as_unigram().and_then(Unigram::unknown);
        Self {
            encoding: Encoding::default(),
            word: 0,
            is_pretokenized,
            keeps_words: true,
            ends: Vec::new(),
            surfaces_seen: 0,
            trims,
            in_bytes,
            vocabulary,
            unknown,
        }
    }

    /// A sink that appends to these ids and spans, and keeps neither numbers of pretokens nor surfaces.
    pub(super) fn without_words(engine: &'a Engine, ids: Vec<TokenId>, byte_offsets: Vec<Span>) -> Self {
        let encoding = Encoding { ids, byte_offsets, ..Encoding::default() };
        Self { encoding, keeps_words: false, ..Self::new(engine, false) }
    }

    /// Reserves capacity for about as many ids as a text of `bytes` bytes has.
    pub(super) fn reserve_for(&mut self, bytes: usize) -> SinkResult {
        self.reserve(bytes / BYTES_PER_ID)
    }

    /// Notes the text of the next id, which differs from its token.
    fn note_surface(&mut self, surface: &str) -> SinkResult {
        self.surfaces_seen += 1;
        if !self.keeps_words {
            return Ok(());
        }
        let surface = try_alloc::copy_text(surface)?;
        try_alloc::push(&mut self.encoding.surfaces, (self.encoding.ids.len(), surface))
    }

    /// Reserves capacity for `count` ids.
    pub(super) fn reserve(&mut self, count: usize) -> SinkResult {
        try_alloc::reserve(&mut self.encoding.ids, count)?;
        try_alloc::reserve(&mut self.encoding.byte_offsets, count)?;
        if self.keeps_words { try_alloc::reserve(&mut self.encoding.words, count) } else { Ok(()) }
    }

    /// Pushes an id for which capacity is reserved.
    fn push(&mut self, id: TokenId, span: Span) {
        self.push_numbered(id, span, self.word);
    }

    /// Pushes an id of the pretoken with this number, for which capacity is reserved.
    #[inline]
    pub(super) fn push_numbered(&mut self, id: TokenId, span: Span, word: u32) {
        self.encoding.ids.push(id);
        self.encoding.byte_offsets.push(span);
        if self.keeps_words {
            self.encoding.words.push(word);
        }
    }

    /// Numbers the ids from `before` on: all ids of one pretoken.
    pub(super) fn number_pretoken(&mut self, before: usize) -> SinkResult {
        let count = self.encoding.ids.len();
        if self.keeps_words {
            try_alloc::reserve(&mut self.encoding.words, count - before)?;
            self.encoding.words.resize(count, self.word);
        }
        self.next_pretoken();
        Ok(())
    }

    fn next_pretoken(&mut self) {
        self.word += u32::from(!self.is_pretokenized);
    }

    /// Drops all but the first `count` ids.
    pub(super) fn truncate(&mut self, count: usize) {
        let Encoding { ids, byte_offsets, words, surfaces } = &mut self.encoding;
        ids.truncate(count);
        byte_offsets.truncate(count);
        words.truncate(count);
        while surfaces.last().is_some_and(|(index, _)| *index >= count) {
            surfaces.pop();
        }
    }

    /// Spells a pretoken by the model.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn spell_one(
        &mut self,
        pretoken: AlignedText<'_>,
        stages: &Stages,
        (scratch, ticker): (&mut Scratch, &mut Ticker<'_>),
    ) -> Result<()> {
        let (Stages { model, vocabulary, .. }, text) = (stages, pretoken.text.as_bytes());
        let spelled = model.encode(text, vocabulary, scratch, ticker);
        spelled.map_err(|error| placed(error, pretoken.origins))?;
        Ok(self.take(text, pretoken.origins, &scratch.ids, &scratch.ends)?)
    }
}

impl PretokenSink for Spans<'_> {
    fn wants_ends(&self) -> bool {
        true
    }

    fn take(&mut self, pretoken: &[u8], origins: Origins<'_>, ids: &[TokenId], ends: &[u32]) -> SinkResult {
        self.reserve(ids.len())?;
        let mut start = 0;
        let mut part = Span::new(0, 0);
        for (&id, &end) in ids.iter().zip(ends) {
            if end != SAME_PART {
                part = Span::new(start, end as usize);
                start = part.end;
            }
            let mut kept = part;
            if let Some(vocabulary) = self.trims {
                let written = || vocabulary.written(id).unwrap_or_default();
                let (leading, trailing) = white_space_at_ends(part.of(pretoken), self.in_bytes, written);
                kept = Span::new(part.start + leading, part.end - trailing);
            }
            if Some(id) == self.unknown {
                self.note_surface(&String::from_utf8_lossy(part.of(pretoken)))?;
            }
            self.push(id, origins.span(kept));
        }
        self.next_pretoken();
        Ok(())
    }

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.reserve(1)?;
        let mut part = Span::new(0, found.text.len());
        if self.trims.is_some() {
            let written = || found.text.to_owned();
            let (leading, trailing) = white_space_at_ends(found.text.as_bytes(), false, written);
            part = Span::new(leading, part.end - trailing);
        }
        if self.vocabulary.added_by_id(id).is_none_or(|token| token.content != found.text) {
            self.note_surface(found.text)?;
        }
        self.push(id, found.origins.span(part));
        self.next_pretoken();
        Ok(())
    }
}
