//! Finds the added tokens of a text without encoding the rest.
use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::aligned::{AlignedText, Origins};
use crate::error::Result;
use crate::ids::TokenId;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Watch;

use super::Engine;
use super::input::Text;
use super::pipeline::{Run, SinkAdapter};
use super::recognizer::Recognizer;
use super::sink::SinkResult;
use super::untrusted::UntrustedRanges;

/// Keeps the added tokens; the text between them is not encoded.
struct Found(Vec<(Span, TokenId)>);

impl SinkAdapter for Found {
    const WANTS_ORIGINS: bool = true;

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        try_alloc::push(&mut self.0, (found.span(), id))
    }

    fn encode_split(&mut self, _: &Splitter, _: AlignedText<'_>, _: &mut Run<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn encode_pretokenized(&mut self, _: AlignedText<'_>, _: &mut Run<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn encode_bytes(&mut self, _: &[u8], _: Origins<'_>, _: &mut Run<'_, '_>) -> Result<()> {
        Ok(())
    }
}

impl Engine {
    /// The added tokens that are recognised in a text, in order: the bytes of the text that each stands for, as in
    /// [`Engine::encode_with_offsets`] without trimming, and its id. Those that the model gives are not among them.
    ///
    /// # Errors
    /// A special-token error under [`Special::Raise`](super::Special::Raise); bytes that are not text where the
    /// vocabulary is made of characters; errors of a normalizer; cancellation.
    pub fn find_added(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<Vec<(Span, TokenId)>> {
        let mut found = Found(Vec::new());
        self.encode_into(text, recognizer, untrusted, Prefetcher::default(), watch, &mut found)?;
        Ok(found.0)
    }
}
