//! Counting the ids of a text that grows at its start.
//!
//! In: pieces of text. Out: after each piece how many ids the text so far has. They must always be those of encoding
//! the text so far at once.
//!
//! Where a split alone looks across pretokens, and merges are canonical, the number of ids of every suffix is kept
//! (`suffix_counts`), and a character takes constant time. Elsewhere the text up to the first place is encoded again
//! at which any text may be cut (`suffix_words`); where there is no such place, all of it.
use std::sync::Arc;

use crate::engine::{Engine, Special, Text};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::bpe::Bpe;
use crate::pattern::Plan;
use crate::watch::{Ticker, Watch};

use super::front_text::FrontText;
use super::growing::{GrowingText, characters_with, characters_without, check_length, too_short};
use super::history::{History, Snapshot};
use super::pretoken_model::{PairMemo, PretokenModel};
use super::suffix_counts::SuffixCounts;
use super::suffix_words::SuffixWords;
use super::suffixes::SuffixReader;

/// A text that grows at its start, and the number of its ids.
#[derive(Debug)]
pub struct Prepender {
    engine: Arc<Engine>,
    special: Special,
    text: FrontText,
    /// The number of characters, if all of the text is UTF-8.
    characters: Option<usize>,
    strategy: Strategy,
    memo: PairMemo,
    count: usize,
    history: History,
}

/// How the ids of a text that grows are counted.
#[derive(Debug)]
enum Strategy {
    /// Pretoken by pretoken.
    Pretokens(Box<SuffixCounts>),
    /// Word by word.
    Words(Box<SuffixWords>),
    /// The whole text again.
    Whole,
}

impl Prepender {
    /// An empty text.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    pub fn new(engine: Arc<Engine>, special: Special) -> Result<Self> {
        engine.recognizer(&special)?;
        // A suffix that the whole text never shows must be spelled, too.
        let is_canonical = engine.model().as_bpe().is_some_and(|bpe| bpe.canonical().is_some());
        let strategy = if engine.grows(&special) && is_canonical {
            Strategy::Pretokens(Box::default())
        } else if engine.has_text_cuts() {
            Strategy::Words(Box::default())
        } else {
            Strategy::Whole
        };
        Ok(Self {
            engine,
            special,
            text: FrontText::default(),
            characters: Some(0),
            strategy,
            memo: PairMemo::default(),
            count: 0,
            history: History::default(),
        })
    }

    /// Reads what was put in front.
    fn read(&mut self, watch: &dyn Watch) -> Result<()> {
        let Self { engine, special, text, strategy, memo, .. } = self;
        let text = text.as_bytes();
        self.count = match strategy {
            Strategy::Whole => engine.count(Text::Bytes(text), special, 1, watch)?,
            Strategy::Words(words) => {
                words.read(text, (engine, special), watch)?;
                words.count()
            }
            Strategy::Pretokens(suffixes) => {
                let ticker = &mut Ticker::new(watch);
                let Some(splitter) = engine.splitter() else {
                    return Err(Error::internal("a text grows without a splitter"));
                };
                let PretokenModel::Tokens(matcher) = PretokenModel::of(engine, ticker)? else {
                    return Err(Error::internal("suffixes without tokens"));
                };
                suffixes.read(text, splitter, &mut SuffixReader { engine, matcher, memo, ticker })?;
                let count = suffixes.count(text.len());
                count.ok_or_else(|| Error::internal("a text that was not read"))?
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
            Strategy::Pretokens(suffixes) => suffixes.truncate(length),
        }
        self.read(watch)
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        let of_strategy = match &self.strategy {
            Strategy::Whole => 0,
            Strategy::Words(words) => words.memory(),
            Strategy::Pretokens(suffixes) => suffixes.memory(),
        };
        self.text.memory() + self.history.memory() + self.memo.memory() + of_strategy
    }
}

impl GrowingText for Prepender {
    const AT_START: bool = true;

    fn push(&mut self, piece: Text<'_>, watch: &dyn Watch) -> Result<()> {
        let (before, characters) = (self.text.len(), self.characters);
        let length = before + piece.as_bytes().len();
        check_length(length)?;
        self.text.prepend(piece.as_bytes())?;
        self.characters = characters_with(characters, piece);
        let Err(error) = self.read(watch) else { return Ok(()) };
        // The text was read from its end; encoding it meets what is wrong from its start.
        let whole = self.engine.count(Text::Bytes(self.text.as_bytes()), &self.special, 1, watch);
        self.characters = characters;
        self.go_back(before, watch)?;
        Err(whole.err().unwrap_or(error))
    }

    fn count(&self) -> usize {
        self.count
    }

    fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn characters(&self) -> Option<usize> {
        self.characters
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    fn ids(&mut self, watch: &dyn Watch) -> Result<Vec<TokenId>> {
        let mut ids = Vec::new();
        self.engine.encode(Text::Bytes(self.text.as_bytes()), &self.special, 1, watch, &mut ids)?;
        Ok(ids)
    }

    fn truncate(&mut self, length: usize, watch: &dyn Watch) -> Result<()> {
        let Some(removed) = self.text.len().checked_sub(length) else {
            return Err(too_short(self.text.len(), length));
        };
        let left = characters_without(self.characters, &self.text.as_bytes()[..removed]);
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
        let Strategy::Pretokens(suffixes) = &self.strategy else {
            return Ok(match &self.strategy {
                Strategy::Words(words) => words.stable(),
                _ => (0, 0),
            });
        };
        let Ok(text) = std::str::from_utf8(self.text.as_bytes()) else { return Ok((0, 0)) };
        let ticker = &mut Ticker::new(watch);
        ticker.spend(text.len() / 8)?;
        let is_unsplit = self.engine.splitter().is_some_and(|splitter| splitter.plan() == Plan::Whole);
        let is_merged = self.engine.model().as_bpe().is_some_and(Bpe::builds_every_token);
        if is_unsplit && is_merged {
            return Ok(match PretokenModel::of(&self.engine, ticker)? {
                PretokenModel::Tokens(matcher) => suffixes.of_whole().settled(&matcher),
                PretokenModel::Again => (0, 0),
            });
        }
        let cut = self.engine.cuts(&self.special).next(text, 0..text.len());
        let length = cut.map_or(0, |cut| text.len() - cut.at);
        Ok((length, suffixes.count(length).unwrap_or_default()))
    }
}
