//! A part of a text under a budget, and a whole text in such parts.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::description::Side;
use crate::engine::{Engine, Recognizer, Special, Text};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::span::Span;
use crate::threads;
use crate::watch::Watch;

use super::border::Border;
use super::borders::Borders;
use super::search::Search;

/// What to do with a part between two borders that is over the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// Cut it at finer borders; an error for a character that is over the budget.
    Split,
    /// An error.
    Error,
    /// It is a chunk of its own.
    Keep,
}

/// How a text is cut into chunks.
#[derive(Debug, Clone, Copy)]
pub struct ChunkOptions {
    /// The most ids of a chunk, with special tokens.
    pub limit: usize,
    /// The most ids of the end of a chunk that the next one repeats.
    pub overlap: usize,
    /// Where chunks begin and end.
    pub border: Border,
    /// What to do with what does not fit.
    pub oversize: Oversize,
    /// Do special tokens around a chunk count?
    pub adds_special: bool,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes in the text.
    pub span: Span,
    /// The ids that it has when it is encoded by itself.
    pub ids: Vec<TokenId>,
}

/// The chunks of a text, in flat arrays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunks {
    /// The bytes of each.
    pub spans: Vec<Span>,
    /// The ids of all, concatenated.
    pub ids: Vec<TokenId>,
    /// Where the ids of each end.
    pub ends: Vec<usize>,
}

impl Engine {
    /// The longest prefix of a text, or with [`Side::Left`] its longest suffix, that ends or begins at a border and
    /// has at most `limit` ids when encoded by itself. It may be empty.
    ///
    /// # Errors
    /// As [`Engine::encode`], for what was read; a budget error if the special tokens alone are over the limit.
    pub fn truncate(
        &self,
        text: &str,
        (limit, side): (usize, Side),
        border: Border,
        (special, adds_special): (&Special, bool),
        watch: &dyn Watch,
    ) -> Result<Chunk> {
        let recognizer = self.recognizer(special)?;
        recognizer.check(text.as_bytes(), watch)?;
        let most = self.most_of_text(limit, adds_special)?;
        let mut search = Search::new(self, &recognizer, (text, special), watch);
        let mut borders = Borders::new(border, text, 0);
        let span = match side {
            Side::Right => {
                let end = search.longest_prefix(0, most, &mut borders, 0)?.end;
                if end.is_none() {
                    search.ids.clear();
                }
                Span::new(0, end.unwrap_or(0))
            }
            Side::Left => {
                let start = search.longest_suffix(text.len(), most, &mut borders, 0)?;
                search.ids.clear();
                self.encode(Text::Str(&text[start..]), special, 1, watch, &mut search.ids)?;
                Span::new(start, text.len())
            }
        };
        let mut ids = std::mem::take(&mut search.ids);
        self.add_special_tokens(&mut ids, 0, adds_special)?;
        Ok(Chunk { span, ids })
    }

    /// Cuts a text into chunks. Up to `threads` threads encode what is in front of the chunk that is looked for, where
    /// ids are the bytes of the text.
    ///
    /// # Errors
    /// As [`Engine::encode`]; a budget error for an overlap that is not less than the limit, and for what does not
    /// fit, with its place.
    pub fn chunk(
        &self,
        text: &str,
        options: &ChunkOptions,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Chunks> {
        let recognizer = self.recognizer(special)?;
        recognizer.check(text.as_bytes(), watch)?;
        let mut chunks = Chunks::default();
        let most = self.most_of_chunk(options)?;
        let search = Search::new(self, &recognizer, (text, special), watch).through_all(threads);
        Chunker {
            engine: self,
            text,
            is_all: true,
            characters_before: 0,
            options,
            most,
            search,
            borders: Vec::new(),
        }
        .cut(None, &mut chunks)?;
        Ok(chunks)
    }

    /// Cuts each text of a batch into chunks; a missing one has none.
    ///
    /// # Errors
    /// As [`Self::chunk`], with the row as the field.
    pub fn chunk_batch(
        &self,
        texts: &[Option<&str>],
        options: &ChunkOptions,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Chunks>> {
        self.most_of_chunk(options)?;
        let bytes = texts.iter().flatten().map(|text| text.len()).sum();
        threads::run(texts.len(), threads::threads_for(bytes, threads), watch, |row, watch| {
            let Some(text) = texts[row] else { return Ok(Chunks::default()) };
            watch.poll()?;
            self.chunk(text, options, special, 1, watch).map_err(|error| error.at_index(row).at("texts"))
        })
    }

    /// The end of the longest part of a text from a character on that has at most `most` ids. It may be empty.
    pub(in crate::budget) fn longest_from(
        &self,
        (text, start): (&str, usize),
        most: usize,
        (special, recognizer): (&Special, &Recognizer<'_>),
        watch: &dyn Watch,
    ) -> Result<usize> {
        let mut search = Search::new(self, recognizer, (text, special), watch);
        let mut borders = Borders::new(Border::Character, text, start);
        Ok(search.longest_prefix(start, most, &mut borders, start)?.end.unwrap_or(start))
    }

    /// The most ids that a text may have without special tokens around it.
    pub(in crate::budget) fn most_of_text(&self, limit: usize, adds_special: bool) -> Result<usize> {
        self.most_without_special_tokens(limit, adds_special).ok_or_else(|| {
            let added = self.count_with_special_tokens(0, adds_special);
            let reason = format!("the special tokens alone are {added}, over the limit of {limit}");
            Error::budget(Some(added), Some(limit), reason)
        })
    }

    /// The most ids of a chunk without special tokens.
    pub(super) fn most_of_chunk(&self, options: &ChunkOptions) -> Result<usize> {
        let most = self.most_of_text(options.limit, options.adds_special)?;
        if most == 0 {
            let reason = format!("a limit of {} leaves no ids for the text", options.limit);
            return Err(Error::budget(None, Some(options.limit), reason));
        }
        if options.overlap >= most {
            let reason = format!(
                "an overlap of {} leaves nothing of a chunk of {most} ids; it must be less",
                options.overlap
            );
            return Err(Error::budget(None, Some(most), reason).at("overlap"));
        }
        Ok(most)
    }
}

/// Cuts one text, or the beginning of one.
pub(super) struct Chunker<'a> {
    pub(super) engine: &'a Engine,
    pub(super) text: &'a str,
    /// Is it all of the text? If not, only chunks are found that no further text changes.
    pub(super) is_all: bool,
    /// The characters before it, which errors count.
    pub(super) characters_before: usize,
    pub(super) options: &'a ChunkOptions,
    /// The most ids of a chunk without special tokens.
    pub(super) most: usize,
    pub(super) search: Search<'a>,
    /// The borders that were asked for, from the kind of the options to finer ones. All of them come after the start
    /// of the text, which is a border of each kind.
    pub(super) borders: Vec<Borders<'a>>,
}

impl Chunker<'_> {
    /// Appends all chunks after the last one.
    pub(super) fn cut(&mut self, mut last: Option<Span>, chunks: &mut Chunks) -> Result<()> {
        let adds_special = self.options.adds_special;
        while last.map_or(0, |last| last.end) < self.text.len() {
            self.search.poll()?;
            let Some(span) = self.next(last)? else { return Ok(()) };
            let start = chunks.ids.len();
            try_alloc::extend(&mut chunks.ids, &self.search.ids)?;
            self.engine.add_special_tokens(&mut chunks.ids, start, adds_special)?;
            try_alloc::push(&mut chunks.spans, span)?;
            try_alloc::push(&mut chunks.ends, chunks.ids.len())?;
            last = Some(span);
        }
        Ok(())
    }

    /// The chunk after the last one. Its ids are in `search.ids`. `None` if more text is needed.
    fn next(&mut self, last: Option<Span>) -> Result<Option<Span>> {
        let from = |start: usize| move |end: usize| Span::new(start, end);
        let Some(last) = last else { return Ok(self.chunk_from(0)?.map(from(0))) };
        if self.options.overlap == 0 {
            return Ok(self.chunk_from(last.end)?.map(from(last.end)));
        }
        let overlap = self.options.overlap;
        self.make_borders(0);
        self.borders[0].forget(last.start);
        let mut start =
            self.search.longest_suffix(last.end, overlap, &mut self.borders[0], last.start + 1)?;
        loop {
            if start == last.end {
                return Ok(self.chunk_from(start)?.map(from(start)));
            }
            // A chunk must reach beyond the end of the last one.
            let found = self.search.longest_prefix(start, self.most, &mut self.borders[0], last.end)?;
            if !self.is_known(0, found.last) {
                return Ok(None);
            }
            if let Some(end) = found.end {
                return Ok(Some(Span::new(start, end)));
            }
            // Later, but still with no more of the last chunk than the overlap allows.
            start = self.search.longest_suffix(last.end, overlap, &mut self.borders[0], start + 1)?;
        }
    }

    /// The end of the chunk that begins at a place; `None` if more text is needed.
    fn chunk_from(&mut self, start: usize) -> Result<Option<usize>> {
        let mut border = self.options.border;
        self.search.read_from(start, self.most)?;
        for level in 0.. {
            self.make_borders(level);
            self.borders[level].forget(start);
            let found = self.search.longest_read(self.most, &mut self.borders[level], start)?;
            if !self.is_known(level, found.last) {
                return Ok(None);
            }
            if found.end.is_some() {
                return Ok(found.end);
            }
            match (self.options.oversize, border.finer()) {
                (Oversize::Split, Some(finer)) => border = finer,
                (Oversize::Keep, _) => break,
                _ => {
                    let end = self.borders[level].first(start + 1);
                    if !self.is_known(level, end) {
                        return Ok(None);
                    }
                    return Err(self.over_budget(start..end, border)?);
                }
            }
        }
        let end = self.borders[0].first(start + 1);
        if !self.is_known(0, end) {
            return Ok(None);
        }
        self.search.ids.clear();
        self.search.append(start..end)?;
        Ok(Some(end))
    }

    /// Are the borders up to a place those of the whole text?
    fn is_known(&mut self, level: usize, at: usize) -> bool {
        self.is_all || self.borders[level].are_known(at)
    }

    /// The error for a part that does not fit.
    fn over_budget(&mut self, part: Range<usize>, border: Border) -> Result<Error> {
        self.search.ids.clear();
        self.search.append(part.clone())?;
        let (limit, adds_special) = (self.options.limit, self.options.adds_special);
        let needed = self.engine.count_with_special_tokens(self.search.ids.len(), adds_special);
        let at = self.characters_before + self.text[..part.start].chars().count();
        let mut shown: String = self.text[part.clone()].chars().take(20).collect();
        if shown.len() < part.len() {
            shown.push('…');
        }
        let advice = match border {
            Border::Character => "oversize=\"keep\" makes it a chunk of its own",
            _ => "oversize=\"split\" cuts it at finer borders, \"keep\" makes it a chunk of its own",
        };
        let reason = format!(
            "the {} at character {at}, {shown:?}, needs {needed} ids, over the limit of {limit}; {advice}",
            border.name(),
        );
        Ok(Error::budget(Some(needed), Some(limit), reason))
    }

    fn make_borders(&mut self, level: usize) {
        while self.borders.len() <= level {
            let finer = (0..self.borders.len()).try_fold(self.options.border, |border, _| border.finer());
            let Some(border) = finer else { return };
            self.borders.push(Borders::new(border, self.text, 0));
        }
    }
}
