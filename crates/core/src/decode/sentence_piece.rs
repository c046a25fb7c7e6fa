//! Decodes as SentencePiece does, by the kinds of the pieces.
//!
//! Control pieces become nothing, the unknown piece becomes its surface, runs of byte pieces become
//! text (one U+FFFD for each invalid byte), and marks become spaces. Until the text has begun, a
//! leading mark is removed: once, or from every piece if extra white space is removed.
use std::collections::HashMap;
use std::sync::Arc;

use super::byte_fallback::byte_of;
use super::{Rest, Step, incomplete_tail};
use crate::description::{Merges, ModelDescription, PieceKind};
use crate::error::Result;

const MARK: char = '▁';

#[derive(Debug, Clone)]
pub(super) struct SentencePiece {
    pieces: Arc<Pieces>,
    element: String,
    /// Bytes of an incomplete character.
    run: Vec<u8>,
    /// Has text been emitted, or the one leading mark been removed?
    has_begun: bool,
}

#[derive(Debug)]
struct Pieces {
    /// Control, unknown and byte pieces.
    kinds: HashMap<String, PieceKind>,
    unk_surface: String,
    takes_mark: bool,
    takes_every_mark: bool,
}

impl SentencePiece {
    pub(super) fn new(
        model: &ModelDescription,
        unk_surface: &str,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
    ) -> Self {
        let mut kinds: HashMap<String, PieceKind> = HashMap::new();
        let all = match model {
            ModelDescription::Unigram(model) => model.kinds.as_slice(),
            ModelDescription::Bpe(model) => match &model.merges {
                Merges::ByScore { kinds, .. } => kinds.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        for ((_, bytes), &kind) in model.tokens().iter().zip(all) {
            if matches!(kind, PieceKind::Control | PieceKind::Unknown | PieceKind::Byte) {
                kinds.insert(String::from_utf8_lossy(bytes).into_owned(), kind);
            }
        }
        Self {
            pieces: Arc::new(Pieces {
                kinds,
                unk_surface: unk_surface.to_owned(),
                takes_mark: add_dummy_prefix || remove_extra_whitespaces,
                takes_every_mark: remove_extra_whitespaces,
            }),
            element: String::new(),
            run: Vec::new(),
            has_begun: false,
        }
    }

    /// Emits `self.run[..end]`.
    fn hand_on(&mut self, end: usize, to: &mut Rest<'_, '_>) -> Result<()> {
        self.has_begun |= end > 0;
        for chunk in self.run[..end].utf8_chunks() {
            to.part(chunk.valid())?;
            for _ in chunk.invalid() {
                to.part("\u{fffd}")?;
            }
        }
        self.run.drain(..end);
        Ok(())
    }
}

impl Step for SentencePiece {
    fn part(&mut self, text: &str, _to: &mut Rest<'_, '_>) -> Result<()> {
        self.element.push_str(text);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        let element = std::mem::take(&mut self.element);
        let kind = self.pieces.kinds.get(&element).copied().unwrap_or_default();
        if kind == PieceKind::Byte
            && let Some(byte) = byte_of(&element)
        {
            self.run.push(byte);
            return self.hand_on(self.run.len() - incomplete_tail(&self.run), to);
        }
        self.hand_on(self.run.len(), to)?;
        let pieces = Arc::clone(&self.pieces);
        match kind {
            PieceKind::Control => {}
            PieceKind::Unknown => {
                self.has_begun |= !pieces.unk_surface.is_empty();
                to.part(&pieces.unk_surface)?;
            }
            _ => {
                let mut text = element.as_str();
                if !self.has_begun
                    && pieces.takes_mark
                    && let Some(rest) = text.strip_prefix(MARK)
                {
                    text = rest;
                    self.has_begun = !pieces.takes_every_mark;
                }
                self.has_begun |= !text.is_empty();
                to.part(&text.replace(MARK, " "))?;
            }
        }
        self.element = element;
        self.element.clear();
        Ok(())
    }

    fn finish(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.hand_on(self.run.len(), to)?;
        to.end()
    }
}
