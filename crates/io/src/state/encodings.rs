//! A compact and stable binary form of encodings, for pickling.
//!
//! ```text
//! magic, version u8, the first 8 bytes of the sha256 of the rest, then names and rows
//! ```
//!
//! Numbers are in base 128, the lowest digit first; those that mostly grow are stored as differences. A tokenizer
//! is far larger than an encoding, so the written forms of the ids that occur are stored, not the vocabulary. Any
//! bytes that are accepted give consistent encodings: all lists of a sequence have one length, and parts lie within
//! their sequence.
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokenmill_core::engine::{Encoding, Sequence};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::postprocess::OutputPart;
use tokenmill_core::span::Span;

use super::header::Header;

const HEADER: Header =
    Header { magic: b"tokenmill encoding", version: 1, digest: 8, what: "tokenmill encoding" };

/// Maximum number of padding ids of a part.
const PADDING_LIMIT: usize = 1 << 30;

/// An encoding without the written forms of its ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodingRow {
    /// The encoded texts: none, one, or two.
    pub sequences: Arc<[Sequence]>,
    /// The parts of the first window, then those of the overflowing windows.
    pub windows: Vec<Vec<OutputPart>>,
    /// The written form of padding.
    pub pad_token: Option<Arc<str>>,
}

/// The written forms of the ids of some encodings, in the order of the ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodingNames {
    tokens: Vec<(TokenId, String)>,
    added: Vec<(TokenId, String)>,
}

impl EncodingNames {
    /// The names of all ids of some rows: `token` returns the name of an id of the vocabulary, `added` the own name
    /// of an id that a post-processor adds.
    pub fn of(
        rows: &[EncodingRow],
        token: impl Fn(TokenId) -> Option<String>,
        added: impl Fn(TokenId) -> Option<String>,
    ) -> Self {
        let (mut tokens, mut special) = (BTreeSet::new(), BTreeSet::new());
        for row in rows {
            tokens.extend(row.sequences.iter().flat_map(|sequence| &sequence.encoding.ids));
            for part in row.windows.iter().flatten() {
                match part {
                    OutputPart::Tokens { .. } => {}
                    OutputPart::Special { id, .. } => {
                        special.insert(*id);
                    }
                    OutputPart::Padding { id, .. } => {
                        tokens.insert(*id);
                    }
                }
            }
        }
        tokens.extend(&special);
        let named = |ids: BTreeSet<TokenId>, name: &dyn Fn(TokenId) -> Option<String>| {
            ids.into_iter().filter_map(|id| Some((id, name(id)?))).collect()
        };
        Self { tokens: named(tokens, &token), added: named(special, &added) }
    }

    /// The written form of an id of the vocabulary.
    pub fn token(&self, id: TokenId) -> Option<&str> {
        find(&self.tokens, id)
    }

    /// The name of an id that a post-processor adds.
    pub fn added(&self, id: TokenId) -> Option<&str> {
        find(&self.added, id)
    }
}

fn find(names: &[(TokenId, String)], id: TokenId) -> Option<&str> {
    let at = names.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(&names[at].1)
}

/// The binary form of encodings.
pub fn write(names: &EncodingNames, rows: &[EncodingRow]) -> Vec<u8> {
    let mut out = Digits(HEADER.space());
    out.names(&names.tokens);
    out.names(&names.added);
    out.number(rows.len());
    for row in rows {
        out.number(row.sequences.len());
        for sequence in row.sequences.iter() {
            out.sequence(sequence);
        }
        out.number(row.windows.len());
        for window in &row.windows {
            out.number(window.len());
            for part in window {
                out.part(part);
            }
        }
        out.number(usize::from(row.pad_token.is_some()));
        if let Some(token) = &row.pad_token {
            out.text(token);
        }
    }
    HEADER.seal(out.0)
}

/// Reads the binary form.
///
/// # Errors
/// A format error for truncated or damaged bytes, another version, or other data.
pub fn read(bytes: &[u8]) -> Result<(EncodingNames, Vec<EncodingRow>)> {
    let mut from = Reader(HEADER.open(bytes)?);
    let names = EncodingNames { tokens: from.names()?, added: from.names()? };
    let rows = (0..from.length()?).map(|_| from.row()).collect::<Result<_>>()?;
    if from.0.is_empty() { Ok((names, rows)) } else { Err(wrong("there is more after the end")) }
}

/// The error for fields that contradict each other.
fn wrong(reason: impl Into<String>) -> Error {
    Error::format(Defect::Range, reason)
}

struct Digits(Vec<u8>);

impl Digits {
    fn number(&mut self, number: usize) {
        self.long(number as u64);
    }

    fn long(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Writes the difference to the number before: small differences of both signs take one byte.
    fn step(&mut self, from: usize, to: usize) {
        let difference = (to as u64).wrapping_sub(from as u64) as i64;
        self.long((difference << 1 ^ difference >> 63).cast_unsigned());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn names(&mut self, names: &[(TokenId, String)]) {
        self.number(names.len());
        let mut before = 0;
        for (id, name) in names {
            self.number((id - before) as usize);
            self.text(name);
            before = *id;
        }
    }

    fn sequence(&mut self, Sequence { encoding, offsets }: &Sequence) {
        self.number(encoding.ids.len());
        for &id in &encoding.ids {
            self.number(id as usize);
        }
        let mut end = 0;
        for span in &encoding.byte_offsets {
            self.step(end, span.start);
            self.number(span.len());
            end = span.end;
        }
        let mut end = 0;
        for &offset in offsets {
            self.step(end, offset.0);
            self.step(offset.0, offset.1);
            end = offset.1;
        }
        let mut word = 0;
        for &next in &encoding.words {
            self.step(word as usize, next as usize);
            word = next;
        }
        self.number(encoding.surfaces.len());
        let mut before = 0;
        for (at, surface) in &encoding.surfaces {
            self.number(at - before);
            self.text(surface);
            before = *at;
        }
    }

    fn part(&mut self, part: &OutputPart) {
        let fields = match *part {
            OutputPart::Tokens { second, range, type_id } => {
                [usize::from(second), range.start, range.len(), type_id as usize]
            }
            OutputPart::Special { id, type_id } => [2, id as usize, 1, type_id as usize],
            OutputPart::Padding { count, id, type_id } => [3, id as usize, count, type_id as usize],
        };
        for field in fields {
            self.number(field);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn long(&mut self) -> Result<u64> {
        let mut number = 0;
        for place in 0..10 {
            let Some((&digit, rest)) = self.0.split_first() else {
                return Err(Error::format(Defect::Truncated, "the bytes end too early"));
            };
            self.0 = rest;
            number |= u64::from(digit & 0x7f) << (7 * place);
            if digit < 0x80 {
                return Ok(number);
            }
        }
        Err(wrong("a number has too many digits"))
    }

    fn number(&mut self) -> Result<usize> {
        usize::try_from(self.long()?).map_err(|_| wrong("a number is too large"))
    }

    fn small(&mut self) -> Result<u32> {
        u32::try_from(self.long()?).map_err(|_| wrong("a number is too large"))
    }

    /// A number of items. Each takes at least one byte, so a wrong number allocates nothing.
    fn length(&mut self) -> Result<usize> {
        let length = self.number()?;
        if length > self.0.len() {
            return Err(wrong(format!("a length of {length} extends beyond the end")));
        }
        Ok(length)
    }

    fn step(&mut self, from: usize) -> Result<usize> {
        let number = self.long()?;
        let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
        let to = (from as u64).wrapping_add_signed(difference);
        usize::try_from(to).map_err(|_| wrong("a number is too large"))
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| Error::format(Defect::Encoding, "a string is not UTF-8"))
    }

    fn names(&mut self) -> Result<Vec<(TokenId, String)>> {
        let mut names: Vec<(TokenId, String)> = Vec::new();
        for _ in 0..self.length()? {
            let more = self.small()?;
            let id = match names.last() {
                None => Some(more),
                Some((before, _)) => before.checked_add(more).filter(|_| more > 0),
            };
            let id = id.ok_or_else(|| wrong("the named ids do not ascend"))?;
            names.push((id, self.text()?.to_owned()));
        }
        Ok(names)
    }

    fn row(&mut self) -> Result<EncodingRow> {
        let count = self.length()?;
        if count > 2 {
            return Err(wrong(format!("an encoding of {count} texts")));
        }
        let sequences: Arc<[Sequence]> = (0..count).map(|_| self.sequence()).collect::<Result<_>>()?;
        let count = self.length()?;
        if count == 0 {
            return Err(wrong("an encoding without a window"));
        }
        let window = |from: &mut Self| (0..from.length()?).map(|_| from.part(&sequences)).collect();
        let windows = (0..count).map(|_| window(self)).collect::<Result<_>>()?;
        let pad_token = match self.number()? {
            0 => None,
            1 => Some(self.text()?.into()),
            other => return Err(wrong(format!("{other} padding tokens"))),
        };
        Ok(EncodingRow { sequences, windows, pad_token })
    }

    fn sequence(&mut self) -> Result<Sequence> {
        let count = self.length()?;
        let ids = (0..count).map(|_| self.small()).collect::<Result<_>>()?;
        let mut end = 0;
        let mut span = || {
            let start = self.step(end)?;
            end = start.checked_add(self.number()?).ok_or_else(|| wrong("a number is out of range"))?;
            Ok(Span::new(start, end))
        };
        let byte_offsets = (0..count).map(|_| span()).collect::<Result<_>>()?;
        let mut end = 0;
        let mut offset = || {
            let start = self.step(end)?;
            end = self.step(start)?;
            Ok((start, end))
        };
        let offsets = (0..count).map(|_| offset()).collect::<Result<_>>()?;
        let mut word = 0;
        let mut next = || {
            word = self.step(word)?;
            u32::try_from(word).map_err(|_| wrong("a number is too large"))
        };
        let words = (0..count).map(|_| next()).collect::<Result<_>>()?;
        let mut surfaces: Vec<(usize, String)> = Vec::new();
        for _ in 0..self.length()? {
            let more = self.number()?;
            let at = match surfaces.last() {
                None => Some(more),
                Some((before, _)) => before.checked_add(more).filter(|_| more > 0),
            };
            let at = at.filter(|&at| at < count).ok_or_else(|| wrong("a surface belongs to no id"))?;
            surfaces.push((at, self.text()?.to_owned()));
        }
        Ok(Sequence { encoding: Encoding { ids, byte_offsets, words, surfaces }, offsets })
    }

    fn part(&mut self, sequences: &[Sequence]) -> Result<OutputPart> {
        let (kind, first, count, type_id) = (self.number()?, self.number()?, self.number()?, self.small()?);
        let id = || TokenId::try_from(first).map_err(|_| wrong("a number is too large"));
        match kind {
            0 | 1 => {
                let length = sequences.get(kind).map_or(0, |sequence| sequence.offsets.len());
                let end = first.checked_add(count).filter(|&end| end <= length && kind < sequences.len());
                let end = end.ok_or_else(|| wrong("a part is not within its text"))?;
                Ok(OutputPart::Tokens { second: kind == 1, range: Span::new(first, end), type_id })
            }
            2 if count == 1 => Ok(OutputPart::Special { id: id()?, type_id }),
            3 if count <= PADDING_LIMIT => Ok(OutputPart::Padding { count, id: id()?, type_id }),
            _ => Err(wrong(format!("{kind} is no kind of part, or one of {count} ids"))),
        }
    }
}
