//! What texts that grow at one end have in common.
use std::sync::Arc;

use crate::engine::{Engine, Text};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::watch::Watch;

use super::history::Snapshot;

/// A text that grows at its end or at its start, and the number of its ids.
pub trait GrowingText {
    /// Does it grow at its start?
    const AT_START: bool;

    /// Adds a piece.
    ///
    /// # Errors
    /// As [`Engine::encode`] for the whole text; the text is then as it was before.
    fn push(&mut self, piece: Text<'_>, watch: &dyn Watch) -> Result<()>;

    /// The number of ids of the text so far.
    fn count(&self) -> usize;

    /// The text so far.
    fn text(&self) -> &[u8];

    /// The number of its characters; `None` if bytes were pushed.
    fn characters(&self) -> Option<usize>;

    /// The tokenizer.
    fn engine(&self) -> &Arc<Engine>;

    /// The ids of the text so far.
    ///
    /// # Errors
    /// Out of memory; cancellation.
    fn ids(&mut self, watch: &dyn Watch) -> Result<Vec<TokenId>>;

    /// Keeps `length` bytes: the first ones, or the last ones of a text that grows at its start.
    ///
    /// # Errors
    /// A budget error if it is shorter; as [`Self::push`] for a text that is cut inside a character.
    fn truncate(&mut self, length: usize, watch: &dyn Watch) -> Result<()>;

    /// What [`Self::restore`] goes back to: the text so far.
    fn snapshot(&self) -> Snapshot;

    /// Checks that the text still has all that it had at a snapshot.
    ///
    /// # Errors
    /// A budget error if it was cut to less.
    fn check(&self, snapshot: Snapshot) -> Result<()>;

    /// A number of bytes, from the end that does not grow, and of their ids that nothing that is pushed changes; not
    /// always the largest.
    ///
    /// # Errors
    /// Those of the watch.
    fn stable(&self, watch: &dyn Watch) -> Result<(usize, usize)>;

    /// Keeps `count` characters, as [`Self::truncate`] keeps bytes.
    ///
    /// # Errors
    /// As [`Self::truncate`]; a budget error if bytes were pushed.
    fn truncate_characters(&mut self, count: usize, watch: &dyn Watch) -> Result<()> {
        let Some(all) = self.characters() else {
            let reason = "bytes were pushed to this text, so that it is cut by bytes";
            return Err(Error::budget(None, None, reason));
        };
        let Some(removed) = all.checked_sub(count) else {
            let reason = format!("the text has {all} characters; it cannot be cut to {count}");
            return Err(Error::budget(None, None, reason));
        };
        let text = self.text();
        let is_start = |(_, byte): &(usize, &u8)| *byte & 0xc0 != 0x80;
        let bytes = if removed == 0 {
            0
        } else if Self::AT_START {
            let start = text.iter().enumerate().filter(is_start).nth(removed);
            start.map_or(text.len(), |(at, _)| at)
        } else {
            let start = text.iter().rev().enumerate().filter(is_start).nth(removed - 1);
            start.map_or(text.len(), |(at, _)| at + 1)
        };
        let length = text.len() - bytes;
        self.truncate(length, watch)
    }

    /// Removes everything that was pushed since a snapshot.
    ///
    /// # Errors
    /// A budget error if the text was cut to less than it had then.
    fn restore(&mut self, snapshot: Snapshot, watch: &dyn Watch) -> Result<()> {
        self.check(snapshot)?;
        self.truncate(snapshot.length(), watch)
    }
}

/// The error for a text that is too short to be cut to a length.
pub(super) fn too_short(has: usize, length: usize) -> Error {
    let reason = format!("the text has {has} bytes; it cannot be cut to {length}");
    Error::budget(None, None, reason)
}

/// Checks that a text can have this many bytes.
pub(super) fn check_length(length: usize) -> Result<()> {
    if u32::try_from(length).is_ok() {
        return Ok(());
    }
    Err(Error::argument(format!("{length} bytes are over the limit of 2^32 for one text; cut it")))
}

/// The number of characters of a text and a piece, if both are UTF-8.
pub(super) fn characters_with(all: Option<usize>, piece: Text<'_>) -> Option<usize> {
    match piece {
        Text::Str(text) => all.map(|all| all + text.chars().count()),
        Text::Bytes(_) => None,
    }
}

/// The number of characters without those of some bytes.
pub(super) fn characters_without(all: Option<usize>, removed: &[u8]) -> Option<usize> {
    all.map(|all| all - removed.iter().filter(|&byte| byte & 0xc0 != 0x80).count())
}
