//! Ids with the part of the text that each stands for.
//!
//! In: a text. Out: an [`Encoding`], or flat arrays for a `batch`. There are three ways, which must give the same:
//!
//! - `by_lookup`: ids from the lookup, as without offsets, and spans from the lengths of their tokens
//!   (`token_lengths`);
//! - `raw_words`: ids and spans from a cache of words;
//! - `spans`: pretoken by pretoken, with origins, where neither is possible.
//!
//! `characters` turns spans of bytes into spans of characters.
mod batch;
mod by_lookup;
mod cached_word;
mod characters;
mod raw_words;
mod spans;
#[cfg(test)]
pub(super) mod tests;
mod token_lengths;

use tokenmill_kernels::Prefetcher;

use super::input::Text;
use super::pipeline::ByPretoken;
use super::recognizer::Recognizer;
use super::sink::PretokenSink;
use super::untrusted::UntrustedRanges;
use super::{Engine, Stages};
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::{Ticker, Watch};
pub use batch::{CharactersOfRow, FlatEncodings};
use by_lookup::SpansByLookup;
pub use characters::{byte_spans, char_offsets, to_characters};
pub use spans::Encoding;
pub(super) use spans::Spans;
pub(super) use token_lengths::LengthTables;

impl Engine {
    /// Passes the pretokens of a text to a sink, on this thread. One copy of this code serves all sinks but those that
    /// the speed of encoding depends on.
    pub(crate) fn encode_pretokens(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
        sink: &mut dyn PretokenSink,
    ) -> Result<()> {
        self.encode_into(text, recognizer, untrusted, Prefetcher::default(), watch, &mut ByPretoken(sink))
    }

    fn encode_spans<'a>(
        &'a self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        next: Prefetcher,
        watch: &dyn Watch,
        spans: &mut Spans<'a>,
    ) -> Result<()> {
        let lengths = self.token_lengths.get_or_make(|| self.new_token_lengths());
        let mut adapter = SpansByLookup { spans, lengths };
        self.encode_into(text, recognizer, untrusted, next, watch, &mut adapter)
    }

    fn new_token_lengths(&self) -> LengthTables {
        let Stages { vocabulary, raw, post_processors, .. } = &*self.stages;
        LengthTables::new(&self.description, vocabulary, raw.as_ref(), post_processors.trims_offsets())
    }

    /// Encodes a text and says which bytes of it each id stands for. Untrusted ranges are as in
    /// [`Engine::encode_untrusted`].
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn encode_with_offsets(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<Encoding> {
        let mut sink = Spans::new(self, false);
        sink.reserve_for(text.as_bytes().len())?;
        self.encode_spans(text, recognizer, untrusted, Prefetcher::default(), watch, &mut sink)?;
        Ok(sink.encoding)
    }

    /// Encodes a text that the caller has cut into words, each as a text of its own. Offsets count within the word,
    /// and [`Encoding::words`] has the number of the word.
    ///
    /// # Errors
    /// Those of a text, as [`Engine::encode`] has them, with the number of the word as the field.
    pub fn encode_words(
        &self,
        words: &[Text<'_>],
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<Encoding> {
        let mut sink = Spans::new(self, true);
        let mut ticker = Ticker::new(watch);
        for (i, &word) in words.iter().enumerate() {
            sink.word = to_u32(i);
            let (none, next) = (UntrustedRanges::none(), Prefetcher::default());
            self.encode_spans(word, recognizer, none, next, watch, &mut sink)
                .map_err(|error| error.at_index(i).at("words"))?;
            ticker.spend(word.as_bytes().len() + 16)?;
        }
        Ok(sink.encoding)
    }
}
