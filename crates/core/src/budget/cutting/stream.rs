//! The chunks of a text that is read in parts.
//!
//! In: the parts, as bytes. Out: after each part the chunks that no further text changes. Together they must be those
//! of the whole text. What is kept is the text from the last border on before the last chunk.
use std::sync::Arc;

use tokenmill_kernels::try_alloc;

use crate::engine::{Engine, Special};
use crate::error::{Error, Place, Result};
use crate::span::Span;
use crate::watch::Watch;

use super::borders::Borders;
use super::chunks::{ChunkOptions, Chunker, Chunks};
use super::search::Search;

/// Cuts a text that is read in parts.
#[derive(Debug)]
pub struct ChunkStream {
    engine: Arc<Engine>,
    options: ChunkOptions,
    special: Special,
    /// The most ids of a chunk without special tokens.
    most: usize,
    threads: usize,
    /// The text that is kept.
    text: String,
    /// Bytes after it that begin a character.
    rest: Vec<u8>,
    /// The bytes and the characters before it.
    before: (usize, usize),
    /// The last chunk, in the text that is kept.
    last: Option<Span>,
    /// No chunk is looked for before the text has this many bytes.
    wanted: usize,
}

/// Chunks of a part, with their text.
#[derive(Debug, Default)]
pub struct StreamedChunks {
    /// The text that they are in.
    pub text: String,
    /// The bytes and the characters before it.
    pub before: (usize, usize),
    /// The chunks, in this text.
    pub chunks: Chunks,
}

impl ChunkStream {
    /// An empty text. Threads are used as by [`Engine::chunk`].
    ///
    /// # Errors
    /// As [`Engine::chunk`], for the options.
    pub fn new(engine: Arc<Engine>, options: ChunkOptions, special: Special, threads: usize) -> Result<Self> {
        let most = engine.most_of_chunk(&options)?;
        engine.recognizer(&special)?;
        let (text, rest) = (String::new(), Vec::new());
        Ok(Self {
            engine,
            options,
            special,
            most,
            threads,
            text,
            rest,
            before: (0, 0),
            last: None,
            wanted: 0,
        })
    }

    /// Reads the next part. `is_last` says that nothing follows.
    ///
    /// # Errors
    /// As [`Engine::chunk`]; a format error for bytes that are no UTF-8, with their place.
    pub fn push(&mut self, part: &[u8], is_last: bool, watch: &dyn Watch) -> Result<StreamedChunks> {
        self.read(part, is_last)?;
        if !is_last && self.text.len() < self.wanted {
            return Ok(StreamedChunks::default());
        }
        let mut chunks = Chunks::default();
        let (last, from) = self.cut(is_last, watch, &mut chunks)?;
        let before = self.before;
        if is_last || chunks.spans.is_empty() {
            // A longer text is worth another look.
            self.wanted = 2 * self.text.len();
            let text = if is_last { std::mem::take(&mut self.text) } else { String::new() };
            return Ok(StreamedChunks { text, before, chunks });
        }
        let mut kept = try_alloc::string(self.text.len() - from)?;
        kept.push_str(&self.text[from..]);
        let text = std::mem::replace(&mut self.text, kept);
        self.before = (before.0 + from, before.1 + text[..from].chars().count());
        self.last = last.map(|last| Span::new(last.start - from, last.end - from));
        self.wanted = 0;
        Ok(StreamedChunks { text, before, chunks })
    }

    /// Cuts the text that is kept. The last chunk, and from where on the text is needed for the next one.
    fn cut(&self, is_all: bool, watch: &dyn Watch, chunks: &mut Chunks) -> Result<(Option<Span>, usize)> {
        let Self { engine, options, special, text, .. } = self;
        let recognizer = engine.recognizer(special)?;
        recognizer.check(text.as_bytes(), watch).map_err(|error| self.moved(error))?;
        let search = Search::new(engine, &recognizer, (text, special), watch).through_all(self.threads);
        let mut chunker = Chunker {
            engine,
            text,
            is_all,
            characters_before: self.before.1,
            options,
            most: self.most,
            search,
            borders: Vec::new(),
        };
        chunker.cut(self.last, chunks).map_err(|error| self.moved(error))?;
        let last = chunks.spans.last().copied();
        // Borders are searched from a border on.
        let from = last.map_or(0, |last| kept_from(&mut chunker.borders, last.start));
        Ok((last, from))
    }

    fn read(&mut self, part: &[u8], is_last: bool) -> Result<()> {
        try_alloc::extend(&mut self.rest, part)?;
        let valid = match std::str::from_utf8(&self.rest) {
            Ok(valid) => valid.len(),
            Err(error) if error.error_len().is_none() && !is_last => error.valid_up_to(),
            Err(error) => {
                let at = self.before.0 + self.text.len() + error.valid_up_to();
                return Err(Error::argument(format!("the text is not UTF-8 (byte {at})")));
            }
        };
        try_alloc::reserve_text(&mut self.text, valid)?;
        self.text.push_str(std::str::from_utf8(&self.rest[..valid]).unwrap_or_default());
        self.rest.drain(..valid);
        Ok(())
    }

    /// An error, with its place in the whole text, in characters: so [`Engine::chunk`] gives it to a caller with a
    /// `str`.
    fn moved(&self, error: Error) -> Error {
        error.placed(|place| match place {
            Place::Byte(at) => {
                let before = self.text.char_indices().take_while(|&(start, _)| start < at).count();
                Place::Character(self.before.1 + before)
            }
            Place::Character(_) => place,
        })
    }
}

/// The last place, not after `at`, that is a border of each kind in use.
fn kept_from(borders: &mut [Borders<'_>], at: usize) -> usize {
    let mut from = at;
    loop {
        let lowest = borders.iter_mut().map(|borders| borders.last_before(from)).min().unwrap_or(from);
        if lowest == from {
            return from;
        }
        from = lowest;
    }
}
