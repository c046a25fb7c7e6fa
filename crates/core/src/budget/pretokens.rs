//! The pretokens of a text that grows, with their ids.
//!
//! In: the text, whenever it has grown. Out: the ids of the pretokens that no further text changes, and the number
//! of ids of the others. All places are bytes of the whole text, which need not be UTF-8: a run of bytes that are no
//! UTF-8 is a pretoken, and what is between two such runs is split as a text of its own.
use tokenmill_kernels::try_alloc;

use crate::engine::{Engine, Text};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::bpe::Bpe;
use crate::pattern::{GrowingSplit, Plan};
use crate::span::Span;
use crate::watch::{Ticker, Unwatched};

use super::prefixes::{PrefixReader, Prefixes};
use super::pretoken_model::PretokenModel;

/// A text is read in parts of this many bytes.
const PART: usize = 4 << 10;

/// A copy of the split of an open pretoken is kept each time this many bytes were read, so that less has to be read
/// again when the text is cut within it.
const CHECKPOINT: usize = 1 << 10;

/// The pretokens of a text that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct Pretokens {
    /// The ids of the certain pretokens.
    ids: Vec<TokenId>,
    certain: Vec<Certain>,
    /// The open end of the last run of UTF-8.
    split: GrowingSplit,
    /// Up to here it is known what is UTF-8. The bytes after it may begin a character.
    known_to: usize,
    /// Where the run of bytes begins that are no UTF-8, if the text ends with one.
    invalid_from: Option<usize>,
    /// The prefixes of the open pretokens, in order, and unused ones after them.
    open: Vec<Prefixes>,
    /// Earlier states of `split`, since the last certain pretoken.
    checkpoints: Vec<GrowingSplit>,
    /// Pretokens that have become certain, and are not encoded yet.
    found: Vec<(Span, usize)>,
}

/// A pretoken that no further text changes.
#[derive(Debug, Clone, Copy)]
struct Certain {
    end: usize,
    /// The length of the text that makes it certain.
    read: usize,
    /// The number of ids up to its end.
    ids: usize,
}

impl Pretokens {
    /// Reads the text from where it ended.
    pub(super) fn read(&mut self, text: &[u8], reader: &mut PrefixReader<'_, '_>) -> Result<()> {
        for chunk in text[self.known_to..].utf8_chunks() {
            let mut valid = chunk.valid();
            if let Some(first) = valid.chars().next()
                && let Some(from) = self.invalid_from.take()
            {
                let span = Span::new(from, self.known_to);
                try_alloc::push(&mut self.found, (span, span.end + first.len_utf8()))?;
                self.encode_found(text, reader)?;
                self.split = GrowingSplit::starting_at(self.known_to);
            }
            while !valid.is_empty() {
                let end = (PART..valid.len()).find(|&at| valid.is_char_boundary(at)).unwrap_or(valid.len());
                let (part, rest) = valid.split_at(end);
                self.known_to += part.len();
                self.grow(text, reader)?;
                valid = rest;
            }
            let invalid = chunk.invalid();
            let end = self.known_to + invalid.len();
            let may_go_on = || std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if invalid.is_empty() || (end == text.len() && may_go_on()) {
                continue;
            }
            if self.invalid_from.is_none() {
                // The byte after them may be what makes them invalid.
                let read = text.len().min(end + 1);
                for span in self.split.open() {
                    try_alloc::push(&mut self.found, (span, read))?;
                }
                self.encode_found(text, reader)?;
                self.invalid_from = Some(self.known_to);
                self.split = GrowingSplit::starting_at(end);
            }
            self.known_to = end;
        }
        let is_text = self.known_to == text.len() && self.invalid_from.is_none();
        if !is_text && !reader.engine.description().is_byte_level() {
            // This says what is wrong with it.
            reader.engine.count(Text::Bytes(text), &crate::engine::Special::Text, 1, &Unwatched)?;
        }
        Ok(())
    }

    /// Splits the text up to where it is known.
    fn grow(&mut self, text: &[u8], reader: &mut PrefixReader<'_, '_>) -> Result<()> {
        let Some(splitter) = reader.splitter else {
            return Err(Error::internal("a text grows without a splitter"));
        };
        let (found, certain) = (&mut self.found, self.split.certain());
        let mut failed = Ok(());
        splitter.grow(&mut self.split, &text[..self.known_to], |span, read| {
            if failed.is_ok() {
                failed = try_alloc::push(found, (span, read));
            }
        });
        failed?;
        if self.split.certain() > certain {
            self.checkpoints.clear();
        }
        let last = self.checkpoints.last().map_or(self.split.certain(), GrowingSplit::end);
        if self.known_to >= last + CHECKPOINT {
            try_alloc::push(&mut self.checkpoints, self.split.clone())?;
        }
        self.encode_found(text, reader)
    }

    /// Appends the ids of pretokens that have become certain.
    fn encode_found(&mut self, text: &[u8], reader: &mut PrefixReader<'_, '_>) -> Result<()> {
        let found = std::mem::take(&mut self.found);
        for &(span, read) in &found {
            let prefixes = prefixes_of(&mut self.open, 0, span.start)?;
            reader.ids(prefixes, text, span.end, &mut self.ids)?;
            // Behind it stand those of the next one.
            self.open.rotate_left(1);
            try_alloc::push(&mut self.certain, Certain { end: span.end, read, ids: self.ids.len() })?;
        }
        self.found = found;
        self.found.clear();
        Ok(())
    }

    /// Calls `each` for the open pretokens, as they are if the text ends here.
    fn for_each_open(
        &mut self,
        length: usize,
        mut each: impl FnMut(Span, &mut Prefixes) -> Result<()>,
    ) -> Result<()> {
        if let Some(from) = self.invalid_from {
            return each(Span::new(from, length), prefixes_of(&mut self.open, 0, from)?);
        }
        let rest = (self.known_to < length).then_some(Span::new(self.known_to, length));
        for (number, span) in self.split.open().chain(rest).enumerate() {
            each(span, prefixes_of(&mut self.open, number, span.start)?)?;
        }
        Ok(())
    }

    /// The number of ids, if the text ends here.
    pub(super) fn count(&mut self, text: &[u8], reader: &mut PrefixReader<'_, '_>) -> Result<usize> {
        let mut count = self.ids.len();
        self.for_each_open(text.len(), |span, prefixes| {
            count += reader.count(prefixes, text, span.end)?;
            Ok(())
        })?;
        Ok(count)
    }

    /// Appends the ids, if the text ends here.
    pub(super) fn append_ids(
        &mut self,
        text: &[u8],
        reader: &mut PrefixReader<'_, '_>,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        try_alloc::extend(ids, &self.ids)?;
        self.for_each_open(text.len(), |span, prefixes| reader.ids(prefixes, text, span.end, ids))
    }

    /// Forgets what followed a text, which must be read again from where it ends now.
    pub(super) fn truncate(&mut self, text: &[u8], model: PretokenModel<'_>) {
        while self.certain.last().is_some_and(|last| last.read > text.len()) {
            self.certain.pop();
        }
        let (end, ids) = self.certain.last().map_or((0, 0), |last| (last.end, last.ids));
        self.ids.truncate(ids);
        self.found.clear();
        self.invalid_from = None;
        self.checkpoints.retain(|split| split.end() <= text.len() && split.certain() == end);
        self.split = self.checkpoints.last().cloned().unwrap_or_else(|| GrowingSplit::starting_at(end));
        self.known_to = self.split.end();
        for prefixes in &mut self.open {
            match model {
                PretokenModel::Tokens(matcher) if (end..=text.len()).contains(&prefixes.start) => {
                    prefixes.truncate(&matcher, text, text.len() - prefixes.start);
                }
                _ => prefixes.begin(usize::MAX),
            }
        }
    }

    /// A number of bytes and of ids that no further text changes.
    pub(super) fn stable(
        &self,
        engine: &Engine,
        length: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<(usize, usize)> {
        let (end, ids) = self.certain.last().map_or((0, 0), |last| (last.end, last.ids));
        let is_unsplit = engine.splitter().is_some_and(|splitter| splitter.plan() == Plan::Whole);
        let is_merged = engine.model().as_bpe().is_some_and(Bpe::builds_every_token);
        let is_text = self.invalid_from.is_none() && self.known_to == length;
        let prefixes = self.open.first().filter(|prefixes| prefixes.start == end);
        match (PretokenModel::of(engine, ticker)?, prefixes) {
            (PretokenModel::Tokens(matcher), Some(prefixes)) if is_unsplit && is_merged && is_text => {
                let (bytes, count) = prefixes.settled(&matcher);
                Ok((end + bytes, ids + count))
            }
            _ => Ok((end, ids)),
        }
    }

    /// Does every text that goes on from here have more than `limit` ids? Asked when the text so far has. False also
    /// where this is not known.
    ///
    /// As long as a text is one pretoken, each prefix has one token more than a prefix that is shorter by no more than
    /// the longest token. So if the last prefixes, as many as that token has bytes, all have too many, longer ones
    /// have, too. The first open pretoken ends where it ends now, or it goes on, at least to just before the last
    /// character. So it must be over the limit as a prefix of a pretoken that goes on; and so must be each pretoken
    /// after it, for the case that the one before ends there. White space may also end at its last line end, or just
    /// before it, when it is known what follows.
    pub(super) fn stays_over(
        &mut self,
        text: &[u8],
        reader: &mut PrefixReader<'_, '_>,
        limit: usize,
    ) -> Result<bool> {
        if self.ids.len() > limit {
            return Ok(true);
        }
        let PretokenModel::Tokens(matcher) = reader.model else { return Ok(false) };
        if self.invalid_from.is_some() || self.known_to < text.len() {
            return Ok(false);
        }
        // A character more, which a pretoken may give back.
        let window = matcher.longest_length() + 4;
        let spans: Vec<Span> = self.split.open().collect();
        let mut before = self.ids.len();
        for (number, &span) in spans.iter().enumerate() {
            // Behind this the limit is passed by any id.
            if number > 0 && before >= limit {
                return Ok(true);
            }
            let prefixes = prefixes_of(&mut self.open, number, span.start)?;
            if !reader.are_over(prefixes, text, limit - before, window)? {
                return Ok(false);
            }
            if number == 0 {
                let line_end = text[span.start..].iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
                for end in line_end.into_iter().flat_map(|at| [at, at + 1]).filter(|&end| end > 0) {
                    let start = span.start + end;
                    let known = before + reader.count(prefixes, text, start)?;
                    if known < limit
                        && !reader.are_over(&mut Prefixes::starting_at(start), text, limit - known, window)?
                    {
                        return Ok(false);
                    }
                }
            }
            before += reader.count(prefixes, text, span.end)?;
        }
        Ok(true)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * self.ids.capacity()
            + size_of::<Certain>() * self.certain.capacity()
            + self.open.iter().map(Prefixes::memory).sum::<usize>()
    }
}

/// The prefixes of the pretoken that begins at a place, moved to this number; empty ones if there are none yet.
fn prefixes_of(open: &mut Vec<Prefixes>, number: usize, start: usize) -> Result<&mut Prefixes> {
    if open.len() <= number {
        try_alloc::reserve(open, number + 1 - open.len())?;
        open.resize_with(number + 1, Prefixes::default);
    }
    match open[number..].iter().position(|prefixes| prefixes.start == start) {
        Some(at) => open.swap(number, number + at),
        None => open[number].begin(start),
    }
    Ok(&mut open[number])
}
