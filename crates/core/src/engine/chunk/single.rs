//! One pretoken: what is known of it, and how it is spelled.
use tokenmill_kernels::short_table::{self, INLINE, Key};

use super::parts::is_kept;
use crate::aligned::Piece;
use crate::engine::Engine;
use crate::engine::cache::{Learnt, key_of};
use crate::engine::encode::{Sink, Wants, placed};
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::span::Span;
use crate::watch::Ticker;

impl Engine {
    /// Encodes one pretoken, for a sink that asks for ids or their number alone.
    pub(in super::super) fn encode_known<S: Sink>(
        &self,
        pretoken: Piece<'_>,
        learnt: &mut Learnt,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let give = |sink: &mut S, ids: &[TokenId]| match S::WANTS {
            Wants::Count => {
                sink.count(ids.len());
                Ok(())
            }
            _ => sink.extend(ids),
        };
        let text = pretoken.text.as_bytes();
        let key = key_of(text);
        let hash = short_table::hash(key);
        if let Some(ids) = self.known(key, hash, text, learnt, &mut [0; INLINE]) {
            give(sink, ids)?;
            let saved = usize::from(ids.len() > 1);
            learnt.note(1, 0, saved);
            return Ok(());
        }
        self.spell(text, learnt, scratch, ticker).map_err(|error| placed(error, pretoken.origins))?;
        learnt.learn(key, hash, text, &scratch.ids);
        learnt.note(1, 1, 0);
        Ok(give(sink, &scratch.ids)?)
    }

    /// What is known of a pretoken, perhaps in `room`.
    pub(in super::super) fn known<'a>(
        &self,
        key: Key,
        hash: u64,
        pretoken: &[u8],
        learnt: &'a Learnt,
        room: &'a mut [TokenId; INLINE],
    ) -> Option<&'a [TokenId]> {
        if !is_kept(key) {
            return None;
        }
        let value = learnt.get(key, hash).or_else(|| self.seed.get(key, hash))?;
        if value.inline_len == 0 {
            return learnt.ids_apart(&value, pretoken);
        }
        *room = value.words;
        room.get(..usize::from(value.inline_len))
    }

    /// Spells a pretoken that is not known into `scratch.ids`, a long one by its segments.
    pub(super) fn spell(
        &self,
        pretoken: &[u8],
        learnt: &mut Learnt,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let vocabulary = &self.parts.vocabulary;
        let (Some(bpe), Some(segments)) =
            (self.parts.model.as_bpe(), self.segments(pretoken, Span::new(0, pretoken.len())))
        else {
            return self.parts.model.encode(pretoken, vocabulary, scratch, ticker);
        };
        let Scratch { ids, bpe: merging, .. } = scratch;
        ids.clear();
        for (key, span) in segments {
            let segment = span.of(pretoken);
            let (hash, mut room) = (short_table::hash(key), [0; INLINE]);
            let known = self.known(key, hash, segment, learnt, &mut room);
            if let Some(known) = known {
                ids.extend_from_slice(known);
                continue;
            }
            let start = ids.len();
            bpe.encode_segment(segment, vocabulary, merging, ids, ticker)?;
            if is_kept(key) {
                learnt.learn(key, hash, segment, &ids[start..]);
            }
        }
        Ok(())
    }
}
