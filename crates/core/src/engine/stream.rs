//! Decoding id by id: text as soon as it is certain.
use std::sync::Arc;

use tokenmill_kernels::try_alloc;

use crate::decode::{Row, incomplete_tail};
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};

use super::decode::undefined;
use super::{DecodeOptions, Engine, Undefined};

/// Ids that come one at a time.
///
/// The outputs of all steps and of [`Self::finish`], joined, are what [`Engine::decode`] gives for all ids at once.
/// No output ends inside a character: bytes that begin one are held back until it is complete or known to be
/// invalid. Text that the steps of a decoder are not sure of yet is held back too. A step takes constant time on
/// average, whatever came before.
#[derive(Debug, Clone)]
pub struct DecodeStream {
    engine: Arc<Engine>,
    options: DecodeOptions,
    /// `None` where each id stands for its own bytes.
    row: Option<Row>,
    /// The bytes of an incomplete character.
    held: Vec<u8>,
    /// The number of ids taken.
    taken: usize,
}

impl DecodeStream {
    /// A stream that has taken no ids.
    pub fn new(engine: Arc<Engine>, options: DecodeOptions) -> Self {
        let row = engine.stages.chain.as_ref().map(crate::decode::Chain::start);
        Self { engine, options, row, held: Vec::new(), taken: 0 }
    }

    /// Takes the next id; the bytes that are certain now are appended to `out`.
    ///
    /// # Errors
    /// As [`Engine::decode`]. After a vocabulary error the stream is as if the id had not come.
    pub fn step(&mut self, id: TokenId, out: &mut Vec<u8>, watch: &dyn Watch) -> Result<()> {
        let Some(row) = &mut self.row else {
            let start = out.len();
            try_alloc::extend(out, &self.held)?;
            if let Err(error) = self.engine.append_bytes(id, self.taken, self.options, out) {
                out.truncate(start);
                return Err(error);
            }
            let end = out.len() - incomplete_tail(&out[start..]);
            self.held.clear();
            self.held.extend_from_slice(&out[end..]);
            out.truncate(end);
            self.taken += 1;
            return Ok(());
        };
        let token = self.engine.token_to_decode(id, self.taken, self.options)?;
        self.taken += 1;
        match token {
            Some(token) => row.token(&token, out, &mut Ticker::new(watch)),
            None => Ok(()),
        }
    }

    /// Takes many ids; the bytes that are certain then are appended to `out`.
    ///
    /// # Errors
    /// As [`Engine::decode`]. After a vocabulary error the stream is as if none of the ids had come.
    pub fn extend(&mut self, ids: &[TokenId], out: &mut Vec<u8>, watch: &dyn Watch) -> Result<()> {
        if self.options.undefined == Undefined::Error {
            let vocabulary = &self.engine.stages.vocabulary;
            if let Some(at) = ids.iter().position(|&id| !vocabulary.contains(id)) {
                return Err(undefined(ids[at], self.taken + at));
            }
        }
        let mut ticker = Ticker::new(watch);
        for &id in ids {
            self.step(id, out, watch)?;
            ticker.spend(1)?;
        }
        Ok(())
    }

    /// Ends the text: the bytes that were held back are appended to `out`, and the stream starts anew.
    ///
    /// # Errors
    /// A pattern that exceeds its limit; errors of the watch. The stream starts anew in any case.
    pub fn finish(&mut self, out: &mut Vec<u8>, watch: &dyn Watch) -> Result<()> {
        out.append(&mut self.held);
        let row = self.row.take();
        self.reset();
        match row {
            Some(mut row) => row.finish(out, &mut Ticker::new(watch)),
            None => Ok(()),
        }
    }

    /// The number of ids since the start.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The bytes that are held back: what [`Self::finish`] would give now.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn pending(&self, watch: &dyn Watch) -> Result<Vec<u8>> {
        let mut pending = Vec::new();
        self.clone().finish(&mut pending, watch)?;
        Ok(pending)
    }

    /// Drops all state: the stream starts anew.
    pub fn reset(&mut self) {
        self.held.clear();
        self.taken = 0;
        self.row = self.engine.stages.chain.as_ref().map(crate::decode::Chain::start);
    }
}
