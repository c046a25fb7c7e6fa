//! A SentencePiece character map, applied as the tokenizers library does.
//!
//! The map is applied to grapheme clusters: if a key is a prefix of a cluster of less than six
//! bytes, the replacement of the shortest such key replaces the whole cluster, so `①` with an
//! accent becomes `1`. SentencePiece itself takes the longest key and continues after it (see
//! `sentencepiece`).
use unicode_segmentation::UnicodeSegmentation;

use super::clusters::{BesideSpace, is_own_cluster};
use super::edit::{Edit, skip};
use super::letters::{is_letter, may_follow_letter};
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::charsmap::Charsmap;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Clusters of this many bytes or more are mapped character by character.
const LONG_CLUSTER: usize = 6;

/// A compiled map.
#[derive(Debug)]
pub(super) struct Precompiled {
    map: Charsmap,
    /// The bytes at which a cluster is mapped: those that are not ASCII, those that are keys, and
    /// the carriage return, which forms a cluster with a line feed after it.
    is_of_interest: [bool; 256],
}

impl Precompiled {
    pub(super) fn new(blob: &[u8]) -> Result<Self> {
        let map = Charsmap::parse(blob)?;
        let mut is_of_interest = [true; 256];
        for byte in 0..0x80 {
            is_of_interest[usize::from(byte)] = byte == b'\r' || map.shortest(&[byte]).is_some();
        }
        Ok(Self { map, is_of_interest })
    }

    pub(super) fn map(&self) -> &Charsmap {
        &self.map
    }

    /// Is this an ASCII character that the map keeps where it is a cluster of its own?
    pub(super) fn keeps_ascii(&self, c: char) -> bool {
        c.is_ascii() && !self.is_of_interest[c as usize]
    }

    /// What the map makes of a character that is a cluster of its own beside any other such character; `None` for
    /// characters that may form clusters.
    pub(super) fn mapped_alone(&self, c: char) -> Option<String> {
        let text = c.to_string();
        is_own_cluster(c).then(|| self.map.shortest(text.as_bytes()).map_or(text, str::to_owned))
    }

    /// Does the map keep this character beside white space, whatever is on its other side? A character that forms one
    /// cluster with a letter after it may also form one with this character: the caller checks what the map makes of it.
    ///
    /// No key begins with such a character, and it is in no cluster with white space. What joins it to another character
    /// stands between the two (a joiner in emoji, a virama), so their cluster has at least [`LONG_CLUSTER`] bytes and is
    /// mapped one character at a time.
    pub(super) fn keeps_beside_space(&self, c: char) -> bool {
        let is_apart = || {
            let table = BesideSpace::get();
            table.begins_after(c) && table.ends_before(c)
        };
        let mut buffer = [0; 4];
        let text = c.encode_utf8(&mut buffer).as_bytes();
        let begins_key = self.map.shortest(text).is_some() || self.map.goes_on(text);
        !begins_key && !may_follow_letter(c) && (is_letter(c) || is_apart())
    }

    pub(super) fn apply(
        &self,
        from: AlignedText<'_>,
        to: &mut Rewritten,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome> {
        let text = from.text;
        let bytes = text.as_bytes();
        let mut edit = Edit::new(from, to);
        let mut done = 0;
        loop {
            let at = skip(bytes, done, ticker, |byte| self.is_of_interest[usize::from(byte)])?;
            let Some(&byte) = bytes.get(at) else { return Ok(edit.finish()) };
            // A character that is not ASCII may belong to the cluster of the character before it.
            let start = if byte < 0x80 { at } else { at - usize::from(at > done) };
            for (i, cluster) in text[start..].grapheme_indices(true) {
                self.map_cluster(&mut edit, cluster, start + i, ticker)?;
                done = start + i + cluster.len();
                if bytes.get(done).is_none_or(u8::is_ascii) {
                    break;
                }
            }
        }
    }

    fn map_cluster(
        &self,
        edit: &mut Edit<'_, '_>,
        cluster: &str,
        at: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        ticker.spend(cluster.len() * 8)?;
        if cluster.len() < LONG_CLUSTER && self.map_part(edit, cluster, at) {
            return Ok(());
        }
        for (i, c) in cluster.char_indices() {
            self.map_part(edit, &cluster[i..i + c.len_utf8()], at + i);
        }
        Ok(())
    }

    /// Replaces a part of the text; returns false if the map has no key for it.
    fn map_part(&self, edit: &mut Edit<'_, '_>, part: &str, at: usize) -> bool {
        let Some(new) = self.map.shortest(part.as_bytes()) else { return false };
        if new != part {
            edit.replace(Span::new(at, at + part.len()), new);
        }
        true
    }
}
