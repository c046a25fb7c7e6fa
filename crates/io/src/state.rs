//! A description as bytes and back, complete and constant: what pickling carries.
//!
//! ```text
//! magic, version u8, sha256 of the rest (32), then the fields in order;
//! integers are little-endian, strings and lists begin with their length as u64
//! ```
use sha2::{Digest, Sha256};
use tokenmill_core::description::{
    AddedToken, Alphabet, Bpe, Description, EndOfWord, EndOfWordForm, Merge, Merges, Roles, Split, TokenList,
};
use tokenmill_core::error::{Defect, Error, Result};

const MAGIC: &[u8] = b"tokenmill";
const VERSION: u8 = 1;
const HEADER: usize = MAGIC.len() + 1 + 32;

/// The bytes of a description.
pub fn write(description: &Description) -> Vec<u8> {
    let mut out = Writer(vec![0; HEADER]);
    out.list(description.added_tokens.iter(), |out, token| {
        out.u32(token.id);
        out.bytes(token.content.as_bytes());
        out.0.push(token.is_special.into());
    });
    match &description.split {
        Split::Whole => out.0.push(0),
        Split::Pattern(regex) => {
            out.0.push(1);
            out.bytes(regex.as_bytes());
        }
    }
    let model = &description.model;
    match &model.alphabet {
        Alphabet::Bytes => out.0.push(0),
        Alphabet::Chars { end_of_word: None } => out.0.push(1),
        Alphabet::Chars { end_of_word: Some(mark) } => {
            out.0.push(if mark.form == EndOfWordForm::Separate { 2 } else { 3 });
            out.bytes(mark.symbol.as_bytes());
        }
    }
    out.list(model.tokens.iter(), |out, (id, bytes)| {
        out.u32(id);
        out.bytes(bytes);
    });
    match &model.merges {
        Merges::ById => out.0.push(0),
        Merges::Listed(merges) => {
            out.0.push(1);
            out.list(merges.iter(), |out, merge| {
                out.u32(merge.left);
                out.u32(merge.right);
                out.u32(merge.result);
            });
        }
    }
    out.0.push(model.whole_pretokens.into());
    let roles = description.roles;
    for id in [model.unk, roles.bos, roles.eos, roles.pad] {
        match id {
            None => out.0.push(0),
            Some(id) => {
                out.0.push(1);
                out.u32(id);
            }
        }
    }
    let Writer(mut bytes) = out;
    let digest = Sha256::digest(&bytes[HEADER..]);
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()] = VERSION;
    bytes[MAGIC.len() + 1..HEADER].copy_from_slice(&digest);
    bytes
}

/// The description of such bytes.
///
/// # Errors
/// A format error when they are not whole, of another version, or not such bytes at all.
pub fn parse(bytes: &[u8]) -> Result<Description> {
    let Some(header) = bytes.get(..HEADER).filter(|header| header.starts_with(MAGIC)) else {
        return Err(Error::format(Defect::WrongKind, "these bytes are not a tokenmill tokenizer"));
    };
    if header[MAGIC.len()] != VERSION {
        let reason = format!(
            "version {} of the state is not known; this tokenmill reads {VERSION}",
            header[MAGIC.len()]
        );
        return Err(Error::format(Defect::Version, reason));
    }
    let body = &bytes[HEADER..];
    if Sha256::digest(body)[..] != header[MAGIC.len() + 1..] {
        return Err(Error::format(
            Defect::Inconsistent,
            "the checksum does not fit: the bytes were changed or cut",
        ));
    }
    let mut from = Reader(body);
    let added_tokens = from.list(|from| {
        Ok(AddedToken { id: from.u32()?, content: from.string()?, is_special: from.u8()? != 0 })
    })?;
    let split = match from.u8()? {
        0 => Split::Whole,
        _ => Split::Pattern(from.string()?),
    };
    let alphabet = match from.u8()? {
        0 => Alphabet::Bytes,
        1 => Alphabet::Chars { end_of_word: None },
        form => {
            let form = if form == 2 { EndOfWordForm::Separate } else { EndOfWordForm::Suffix };
            Alphabet::Chars { end_of_word: Some(EndOfWord { symbol: from.string()?, form }) }
        }
    };
    let count = from.length()?;
    let mut tokens = TokenList::with_capacity(count, from.0.len());
    for _ in 0..count {
        let id = from.u32()?;
        tokens.push(id, from.bytes()?);
    }
    let merges = match from.u8()? {
        0 => Merges::ById,
        _ => Merges::Listed(
            from.list(|from| Ok(Merge { left: from.u32()?, right: from.u32()?, result: from.u32()? }))?,
        ),
    };
    let whole_pretokens = from.u8()? != 0;
    let mut ids = [None; 4];
    for id in &mut ids {
        if from.u8()? != 0 {
            *id = Some(from.u32()?);
        }
    }
    let [unk, bos, eos, pad] = ids;
    Ok(Description {
        added_tokens,
        split,
        model: Bpe { alphabet, tokens: tokens.into(), merges, whole_pretokens, unk },
        roles: Roles { bos, eos, pad },
    })
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.0.extend_from_slice(&(length as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        self.length(items.len());
        for item in items {
            write(self, item);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let cut = || Error::format(Defect::Truncated, "the bytes end too early");
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().unwrap_or_default()))
    }

    /// A length that the rest can hold, so that no memory is taken on a false promise.
    fn length(&mut self) -> Result<usize> {
        let length = u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default());
        usize::try_from(length)
            .ok()
            .filter(|&length| length <= self.0.len())
            .ok_or_else(|| Error::format(Defect::Range, format!("a length of {length} is beyond the end")))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn string(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec())
            .map_err(|_| Error::format(Defect::Encoding, "a string is not UTF-8"))
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let length = self.length()?;
        (0..length).map(|_| read(self)).collect()
    }
}
