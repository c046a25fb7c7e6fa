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
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::watch::{Ticker, Watch};

use super::growing::{GrowingText, characters_with, characters_without, check_length, too_short};
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
    strategy: Strategy,
    memo: PairMemo,
    scratch: Box<Scratch>,
    count: usize,
    history: History,
}

/// How the ids of a text that grows are found.
#[derive(Debug, Clone)]
enum Strategy {
    /// Pretoken by pretoken.
    Pretokens(Box<Pretokens>),
    /// Word by word.
    Words(Box<Words>),
    /// The whole text again.
    Whole,
}

impl Appender {
    /// An empty text.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    pub fn new(engine: Arc<Engine>, special: Special) -> Result<Self> {
        engine.recognizer(&special)?;
        let strategy = if engine.grows(&special) {
            Strategy::Pretokens(Box::default())
        } else if engine.has_text_cuts() {
            Strategy::Words(Box::default())
        } else {
            Strategy::Whole
        };
        Ok(Self {
            engine,
            special,
            text: Vec::new(),
            characters: Some(0),
            strategy,
            memo: PairMemo::default(),
            scratch: Box::default(),
            count: 0,
            history: History::default(),
        })
    }

    /// Reads what was appended.
    fn read(&mut self, watch: &dyn Watch) -> Result<()> {
        let Self { engine, text, strategy, memo, scratch, .. } = self;
        let ticker = &mut Ticker::new(watch);
        self.count = match strategy {
            Strategy::Whole => engine.count(Text::Bytes(text), &self.special, 1, watch)?,
            Strategy::Words(words) => {
                words.read(text, (engine, &self.special), watch)?;
                words.count()
            }
            Strategy::Pretokens(pretokens) => {
                let model = PretokenModel::of(engine, ticker)?;
                let mut reader =
                    PrefixReader { engine, splitter: engine.splitter(), model, memo, scratch, ticker };
                pretokens.read(text, &mut reader)?;
                pretokens.count(text, &mut reader)?
            }
        };
        Ok(())
    }

    /// Makes the text as long as it was once.
    fn go_back(&mut self, length: usize, watch: &dyn Watch) -> Result<()> {
        self.text.truncate(length);
        match &mut self.strategy {
            Strategy::Whole => {}
            Strategy::Words(words) => words.truncate(length),
            Strategy::Pretokens(pretokens) => {
                let model = PretokenModel::of(&self.engine, &mut Ticker::new(watch))?;
                pretokens.truncate(&self.text, model);
            }
        }
        self.read(watch)
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        let of_strategy = match &self.strategy {
            Strategy::Whole => 0,
            Strategy::Words(words) => words.memory(),
            Strategy::Pretokens(pretokens) => pretokens.memory(),
        };
        self.text.capacity()
            + self.history.memory()
            + self.memo.memory()
            + self.scratch.memory()
            + of_strategy
    }
}

impl GrowingText for Appender {
    const AT_START: bool = false;

    fn push(&mut self, piece: Text<'_>, watch: &dyn Watch) -> Result<()> {
        let before = self.text.len();
        let characters = self.characters;
        check_length(before + piece.as_bytes().len())?;
        try_alloc::extend(&mut self.text, piece.as_bytes())?;
        self.characters = characters_with(characters, piece);
        let done = self.read(watch);
        if done.is_err() {
            self.characters = characters;
            self.go_back(before, watch)?;
        }
        done
    }

    fn count(&self) -> usize {
        self.count
    }

    fn text(&self) -> &[u8] {
        &self.text
    }

    fn characters(&self) -> Option<usize> {
        self.characters
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    fn ids(&mut self, watch: &dyn Watch) -> Result<Vec<TokenId>> {
        let Self { engine, text, strategy, memo, scratch, .. } = self;
        let mut ids = Vec::new();
        match strategy {
            Strategy::Whole => engine.encode(Text::Bytes(text), &self.special, 1, watch, &mut ids)?,
            Strategy::Words(words) => words.append_ids(&mut ids)?,
            Strategy::Pretokens(pretokens) => {
                let ticker = &mut Ticker::new(watch);
                let model = PretokenModel::of(engine, ticker)?;
                let mut reader =
                    PrefixReader { engine, splitter: engine.splitter(), model, memo, scratch, ticker };
                pretokens.append_ids(text, &mut reader, &mut ids)?;
            }
        }
        Ok(ids)
    }

    fn truncate(&mut self, length: usize, watch: &dyn Watch) -> Result<()> {
        if length > self.text.len() {
            return Err(too_short(self.text.len(), length));
        }
        let left = characters_without(self.characters, &self.text[length..]);
        self.history.note_cut(length)?;
        self.go_back(length, watch)?;
        self.characters = left;
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        self.history.snapshot(self.text.len())
    }

    fn check(&self, snapshot: Snapshot) -> Result<()> {
        self.history.check(snapshot, self.text.len())
    }

    fn stable(&self, watch: &dyn Watch) -> Result<(usize, usize)> {
        match &self.strategy {
            Strategy::Whole => Ok((0, 0)),
            Strategy::Words(words) => Ok(words.stable()),
            Strategy::Pretokens(pretokens) => {
                pretokens.stable(&self.engine, self.text.len(), &mut Ticker::new(watch))
            }
        }
    }
}
