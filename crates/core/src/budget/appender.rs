//! Counting the ids of a text that grows at its end.
//!
//! In: pieces of text. Out: after each piece how many ids the text so far has, and which. They must always be those
//! of encoding the text so far at once.
//!
//! Pretokens that no further text changes are encoded once and for all. Of those that may still change (mostly one)
//! the encodings of all prefixes are kept (`prefixes`), so that a character takes constant time, however long its
//! pretoken is. Where the stages look at more than a pretoken, the text from the last place on is encoded again at
//! which any text may be cut (`words`); where there is no such place, all of it.
use std::sync::Arc;

use tokenmill_kernels::try_alloc;

use crate::engine::{Engine, Special, Text};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::watch::{Ticker, Watch};

use super::history::{History, Snapshot};
use super::prefixes::PrefixReader;
use super::pretoken_model::{PairMemo, PretokenModel};
use super::pretokens::Pretokens;
use super::words::Words;

/// A text that grows at its end, and the number of its ids.
#[derive(Debug)]
pub struct Appender {
    engine: Arc<Engine>,
    special: Special,
    text: Vec<u8>,
    /// The number of characters, if all of the text is UTF-8.
    characters: Option<usize>,
    way: Way,
    memo: PairMemo,
    scratch: Box<Scratch>,
    count: usize,
    history: History,
}

/// How the ids of a text that grows are found.
#[derive(Debug, Clone)]
enum Way {
    /// Pretoken by pretoken.
    Pretokens(Box<Pretokens>),
    /// Word by word.
    Words(Box<Words>),
    /// The whole text again.
    Again,
}

impl Appender {
    /// An empty text.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    pub fn new(engine: Arc<Engine>, special: Special) -> Result<Self> {
        engine.recognizer(&special)?;
        let way = if engine.grows(&special) {
            Way::Pretokens(Box::default())
        } else if engine.has_text_cuts() {
            Way::Words(Box::default())
        } else {
            Way::Again
        };
        Ok(Self {
            engine,
            special,
            text: Vec::new(),
            characters: Some(0),
            way,
            memo: PairMemo::default(),
            scratch: Box::default(),
            count: 0,
            history: History::default(),
        })
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// As [`Engine::encode`] for the whole text; the text is then as it was before.
    pub fn push(&mut self, piece: Text<'_>, watch: &dyn Watch) -> Result<()> {
        let before = self.text.len();
        let characters = self.characters;
        if u32::try_from(before + piece.as_bytes().len()).is_err() {
            let reason = format!(
                "{} bytes are over the limit of 2^32 for one text; cut it",
                before + piece.as_bytes().len()
            );
            return Err(Error::argument(reason));
        }
        try_alloc::extend(&mut self.text, piece.as_bytes())?;
        let of_piece = match piece {
            Text::Str(text) => Some(text.chars().count()),
            Text::Bytes(_) => None,
        };
        self.characters = characters.zip(of_piece).map(|(all, more)| all + more);
        let done = self.read(watch);
        if done.is_err() {
            self.characters = characters;
            self.go_back(before, watch)?;
        }
        done
    }

    /// Reads what was appended.
    fn read(&mut self, watch: &dyn Watch) -> Result<()> {
        let Self { engine, text, way, memo, scratch, .. } = self;
        let ticker = &mut Ticker::new(watch);
        self.count = match way {
            Way::Again => engine.count(Text::Bytes(text), &self.special, 1, watch)?,
            Way::Words(words) => {
                words.read(text, (engine, &self.special), watch)?;
                words.count()
            }
            Way::Pretokens(pretokens) => {
                let model = PretokenModel::of(engine, ticker)?;
                let mut reader =
                    PrefixReader { engine, splitter: engine.splitter(), model, memo, scratch, ticker };
                pretokens.read(text, &mut reader)?;
                pretokens.count(text, &mut reader)?
            }
        };
        Ok(())
    }

    /// The number of ids of the text so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The text so far.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The number of its characters; `None` if bytes were appended.
    pub fn characters(&self) -> Option<usize> {
        self.characters
    }

    /// The tokenizer.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The ids of the text so far.
    ///
    /// # Errors
    /// Out of memory; cancellation.
    pub fn ids(&mut self, watch: &dyn Watch) -> Result<Vec<TokenId>> {
        let Self { engine, text, way, memo, scratch, .. } = self;
        let mut ids = Vec::new();
        match way {
            Way::Again => engine.encode(Text::Bytes(text), &self.special, 1, watch, &mut ids)?,
            Way::Words(words) => words.append_ids(&mut ids)?,
            Way::Pretokens(pretokens) => {
                let ticker = &mut Ticker::new(watch);
                let model = PretokenModel::of(engine, ticker)?;
                let mut reader =
                    PrefixReader { engine, splitter: engine.splitter(), model, memo, scratch, ticker };
                pretokens.append_ids(text, &mut reader, &mut ids)?;
            }
        }
        Ok(ids)
    }

    /// Cuts the text to its first `length` bytes.
    ///
    /// # Errors
    /// A budget error if it is shorter; as [`Self::push`] for a text that ends inside a character.
    pub fn truncate(&mut self, length: usize, watch: &dyn Watch) -> Result<()> {
        if length > self.text.len() {
            let reason = format!("the text has {} bytes; it cannot be cut to {length}", self.text.len());
            return Err(Error::budget(None, None, reason));
        }
        let removed = &self.text[length..];
        let left =
            self.characters.map(|all| all - removed.iter().filter(|&byte| byte & 0xc0 != 0x80).count());
        self.history.note_cut(length)?;
        self.go_back(length, watch)?;
        self.characters = left;
        Ok(())
    }

    /// Cuts the text to its first `count` characters.
    ///
    /// # Errors
    /// As [`Self::truncate`]; a budget error if bytes were appended.
    pub fn truncate_characters(&mut self, count: usize, watch: &dyn Watch) -> Result<()> {
        let Some(all) = self.characters else {
            let reason = "bytes were appended to this text, so that it is cut by bytes";
            return Err(Error::budget(None, None, reason));
        };
        let Some(removed) = all.checked_sub(count) else {
            let reason = format!("the text has {all} characters; it cannot be cut to {count}");
            return Err(Error::budget(None, None, reason));
        };
        let starts = self.text.iter().rev().enumerate().filter(|(_, byte)| *byte & 0xc0 != 0x80);
        let bytes = if removed == 0 { 0 } else { starts.map(|(at, _)| at + 1).nth(removed - 1).unwrap_or(0) };
        self.truncate(self.text.len() - bytes, watch)
    }

    /// What [`Self::restore`] goes back to: the text so far.
    pub fn snapshot(&self) -> Snapshot {
        self.history.snapshot(self.text.len())
    }

    /// Removes everything that was appended since a snapshot.
    ///
    /// # Errors
    /// A budget error if the text was cut to less than it had then.
    pub fn restore(&mut self, snapshot: Snapshot, watch: &dyn Watch) -> Result<()> {
        self.history.check(snapshot, self.text.len())?;
        self.truncate(snapshot.length(), watch)
    }

    /// Makes the text as long as it was once.
    fn go_back(&mut self, length: usize, watch: &dyn Watch) -> Result<()> {
        self.text.truncate(length);
        match &mut self.way {
            Way::Again => {}
            Way::Words(words) => words.truncate(length),
            Way::Pretokens(pretokens) => {
                let model = PretokenModel::of(&self.engine, &mut Ticker::new(watch))?;
                pretokens.truncate(&self.text, model);
            }
        }
        self.read(watch)
    }

    /// A number of bytes and of ids that nothing that is appended changes; not always the largest.
    ///
    /// # Errors
    /// Those of the watch.
    pub fn stable(&self, watch: &dyn Watch) -> Result<(usize, usize)> {
        match &self.way {
            Way::Again => Ok((0, 0)),
            Way::Words(words) => Ok(words.stable()),
            Way::Pretokens(pretokens) => {
                pretokens.stable(&self.engine, self.text.len(), &mut Ticker::new(watch))
            }
        }
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        let way = match &self.way {
            Way::Again => 0,
            Way::Words(words) => words.memory(),
            Way::Pretokens(pretokens) => pretokens.memory(),
        };
        self.text.capacity() + self.history.memory() + self.memo.memory() + self.scratch.memory() + way
    }
}
