//! One string of a JSON object, found without a tree of the object: what is not asked for is checked and passed over.
//!
//! What JSON is, is what Python's `json` takes: NaN and Infinity are numbers. Strings are not decoded here, and need not
//! be UTF-8.
use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Ticker;

/// Which string of an object is asked for: keys, from the outermost object inwards.
#[derive(Debug, Clone)]
pub struct JsonField {
    name: String,
    keys: Vec<String>,
}

/// Maximum number of keys of a field: for each of them the reader calls itself.
const MOST_KEYS: usize = 64;

/// Keys of an object that an error names.
const SHOWN: usize = 20;

/// Characters of a key that an error shows.
const SHOWN_OF_KEY: usize = 40;

/// Bytes of a string between two polls of the watch.
const PART: usize = 1 << 16;

impl JsonField {
    /// The field of this name; dots separate the keys.
    ///
    /// # Errors
    /// A training error for an empty key, and for too many of them.
    pub fn new(name: &str) -> Result<Self> {
        let keys: Vec<String> = name.split('.').map(str::to_owned).collect();
        if keys.len() > MOST_KEYS {
            return Err(Error::training(format!("field has {} keys; {MOST_KEYS} are the most", keys.len())));
        }
        if keys.iter().any(String::is_empty) {
            let reason = format!(
                "field={name:?} has an empty key; write keys with dots between them, as \"meta.body\""
            );
            return Err(Error::training(reason));
        }
        Ok(Self { name: name.to_owned(), keys })
    }
}

/// What an object has in the place of the field.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// A string.
    Text(JsonString<'a>),
    /// Null, there or in place of an object around it; or there is no object, in an empty line.
    Null,
    /// Another value: its kind, and how many keys lead to it.
    Wrong(&'static str, usize),
    /// Nothing: the object that this many keys lead to does not have the next key.
    Missing(usize),
}

/// A string as it is written, without its quotes.
#[derive(Debug)]
pub(super) struct JsonString<'a> {
    pub(super) bytes: &'a [u8],
    /// Its position in the line.
    pub(super) start: usize,
    pub(super) has_escapes: bool,
}

/// What an escape stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Escape {
    Char(char),
    LoneSurrogate(u32),
}

impl Escape {
    /// Reads the escape that a checked string has here; gives its length, too. A pair of surrogates is one.
    pub(super) fn read(bytes: &[u8]) -> (Self, usize) {
        let character = match bytes.get(1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return Self::unit(bytes),
            Some(&other) => other.into(),
            None => '\\',
        };
        (Self::Char(character), 2)
    }

    fn unit(bytes: &[u8]) -> (Self, usize) {
        let Some(unit) = hex(bytes) else { return (Self::Char(char::REPLACEMENT_CHARACTER), 2) };
        if let Some(character) = char::from_u32(unit) {
            return (Self::Char(character), 6);
        }
        let low = bytes.get(6..).filter(|rest| rest.starts_with(b"\\u")).and_then(hex);
        if let (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) = (unit, low) {
            let joined = char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            return (Self::Char(joined.unwrap_or(char::REPLACEMENT_CHARACTER)), 12);
        }
        (Self::LoneSurrogate(unit), 6)
    }
}

/// The number in `\uXXXX`.
fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(2..6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The field of the object in a line; null for a line of white space.
///
/// # Errors
/// A training error, with the byte of the line where it is not JSON, or what it has in place of the field; errors of the
/// watch.
pub(super) fn find<'a>(line: &'a [u8], field: &JsonField, ticker: &mut Ticker<'_>) -> Result<Found<'a>> {
    let mut scanner = Scanner { line, at: 0, ticker, open: Vec::new(), keys: None };
    match scanner.field(&field.keys)? {
        found @ (Found::Text(_) | Found::Null) => Ok(found),
        Found::Wrong(kind, 0) => Err(Error::training(format!(
            "is {kind}, where a line of JSONL is an object with the key {:?}",
            field.keys[0]
        ))),
        Found::Wrong(kind, keys) if keys == field.keys.len() => {
            Err(Error::training(format!("field {:?} is {kind}, not a string{OTHER}", field.name)))
        }
        Found::Wrong(kind, keys) => {
            let outer = field.keys[..keys].join(".");
            Err(Error::training(format!(
                "field {outer:?} is {kind}, not an object with {:?}{OTHER}",
                field.keys[keys]
            )))
        }
        Found::Missing(level) => Err(missing(line, field, level, scanner.ticker)),
    }
}

const OTHER: &str = "; name another one with field=";

/// The error for a field that is missing: names the keys that are there.
#[cold]
fn missing(line: &[u8], field: &JsonField, level: usize, ticker: &mut Ticker<'_>) -> Error {
    let mut scanner = Scanner {
        line,
        at: 0,
        ticker,
        open: Vec::new(),
        keys: Some(KeysAt { level, names: Vec::new(), more: false }),
    };
    if let Err(error) = scanner.field(&field.keys) {
        return error;
    }
    let keys = scanner.keys.take();
    let (names, more) = keys.map_or((Vec::new(), false), |keys| (keys.names, keys.more));
    let outer = if level == 0 { "it".to_owned() } else { format!("{:?}", field.keys[..level].join(".")) };
    let has = if names.is_empty() { "is empty".to_owned() } else { format!("has {}", names.join(", ")) };
    let more = if more { ", ..." } else { "" };
    Error::training(format!("has no field {:?}: {outer} {has}{more}{OTHER}", field.name))
}

/// The keys of the object at a level, for an error.
struct KeysAt {
    level: usize,
    names: Vec<String>,
    /// Are there more?
    more: bool,
}

struct Scanner<'a, 't, 'w> {
    line: &'a [u8],
    /// The position of the next byte.
    at: usize,
    ticker: &'t mut Ticker<'w>,
    /// The closing brackets of the values that are passed over, the innermost last.
    open: Vec<u8>,
    keys: Option<KeysAt>,
}

impl<'a> Scanner<'a, '_, '_> {
    /// The value in the place of the field. The whole line is checked.
    fn field(&mut self, keys: &[String]) -> Result<Found<'a>> {
        let found = match self.peek() {
            None => return Ok(Found::Null),
            Some(b'{') => self.object(keys, 0)?,
            Some(_) => Found::Wrong(self.skip()?, 0),
        };
        if self.peek().is_some() { Err(self.defect("there is more after the object")) } else { Ok(found) }
    }

    /// What an object has at `keys[level..]`; of equal keys the last one counts.
    fn object(&mut self, keys: &[String], level: usize) -> Result<Found<'a>> {
        self.at += 1;
        if let Some(there) = self.keys.as_mut().filter(|there| there.level == level) {
            there.names.clear();
            there.more = false;
        }
        let mut found = Found::Missing(level);
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(found);
        }
        loop {
            let key = self.key()?;
            self.note(&key, level);
            if key.is(&keys[level]) {
                let is_last = level + 1 == keys.len();
                found = match self.peek() {
                    Some(b'"') if is_last => Found::Text(self.string()?),
                    Some(b'{') if !is_last => self.object(keys, level + 1)?,
                    Some(b'n') => {
                        self.skip()?;
                        Found::Null
                    }
                    _ => Found::Wrong(self.skip()?, level + 1),
                };
            } else {
                self.skip()?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(found);
                }
                _ => return Err(self.defect("a comma or } is missing")),
            }
        }
    }

    /// Keeps a key for an error.
    fn note(&mut self, key: &JsonString<'_>, level: usize) {
        let Some(there) = self.keys.as_mut().filter(|there| there.level == level) else { return };
        if there.names.len() == SHOWN {
            there.more = true;
            return;
        }
        let name: String = key.text().chars().take(SHOWN_OF_KEY).collect();
        there.names.push(format!("{name:?}"));
    }

    /// Passes over a value; gives its kind.
    fn skip(&mut self) -> Result<&'static str> {
        let kind = match self.peek() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        };
        self.open.clear();
        loop {
            self.ticker.spend(1)?;
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    let close = if open == b'{' { b'}' } else { b']' };
                    self.at += 1;
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        try_alloc::push(&mut self.open, close)?;
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(b'N') => self.word("NaN")?,
                Some(b'I') => self.word("Infinity")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.defect("a value is missing")),
            }
            // What ends with this value.
            loop {
                let Some(&close) = self.open.last() else { return Ok(kind) };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    Some(byte) if byte == close => {
                        self.at += 1;
                        self.open.pop();
                    }
                    _ => return Err(self.defect(&format!("a comma or {} is missing", char::from(close)))),
                }
            }
        }
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Result<JsonString<'a>> {
        if self.peek() != Some(b'"') {
            return Err(self.defect("a key in quotes is missing"));
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.defect("a colon is missing"));
        }
        self.at += 1;
        Ok(key)
    }

    fn string(&mut self) -> Result<JsonString<'a>> {
        self.at += 1;
        let start = self.at;
        let mut has_escapes = false;
        loop {
            let plain = plain_length(&self.line[self.at..]);
            self.ticker.spend(plain + 1)?;
            self.at += plain;
            match self.line.get(self.at) {
                None => return Err(self.defect("a string has no end")),
                Some(b'"') => {
                    let bytes = &self.line[start..self.at];
                    self.at += 1;
                    return Ok(JsonString { bytes, start, has_escapes });
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.at += match self.line.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') if hex(&self.line[self.at..]).is_some() => 6,
                        _ => return Err(self.defect("a backslash that begins no escape")),
                    };
                }
                Some(0..0x20) => {
                    return Err(self.defect("a control character in a string, which has to be escaped"));
                }
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Result<()> {
        if self.line.get(self.at) == Some(&b'-') {
            self.at += 1;
            if self.line.get(self.at) == Some(&b'I') {
                return self.word("Infinity");
            }
        }
        let zero = self.line.get(self.at) == Some(&b'0');
        let mut sound = if zero {
            self.at += 1;
            true
        } else {
            self.digits()
        };
        if self.line.get(self.at) == Some(&b'.') {
            self.at += 1;
            sound &= self.digits();
        }
        if let Some(b'e' | b'E') = self.line.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.line.get(self.at) {
                self.at += 1;
            }
            sound &= self.digits();
        }
        if sound { Ok(()) } else { Err(self.defect("a number that is none")) }
    }

    /// Passes over digits; is there one?
    fn digits(&mut self) -> bool {
        let rest = &self.line[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        count > 0
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.line[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.defect("a word that is no value"))
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.line.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    #[cold]
    fn defect(&self, what: &str) -> Error {
        Kind::Training { row: None, byte: Some(self.at as u64), reason: format!("is no JSON: {what}") }.into()
    }
}

impl JsonString<'_> {
    fn is(&self, key: &str) -> bool {
        if self.has_escapes { self.text() == key } else { self.bytes == key.as_bytes() }
    }

    /// The text, with U+FFFD for what is none.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = self.bytes;
        while let Some(next) = memchr::memchr(b'\\', rest) {
            text.push_str(&String::from_utf8_lossy(&rest[..next]));
            let (escape, length) = Escape::read(&rest[next..]);
            text.push(match escape {
                Escape::Char(character) => character,
                Escape::LoneSurrogate(_) => char::REPLACEMENT_CHARACTER,
            });
            rest = &rest[next + length..];
        }
        text.push_str(&String::from_utf8_lossy(rest));
        text
    }
}

/// How many bytes there are before the first quote, backslash or control character, of the next [`PART`].
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let bytes = &bytes[..bytes.len().min(PART)];
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        // The high bit of a byte that is zero, and of one below 0x20. Bytes above the first such byte may have it too.
        let zero = quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash;
        let marks = (zero | word.wrapping_sub(ONES * 0x20) & !word) & HIGH;
        if marks != 0 {
            return number * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let plain = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    bytes.len() - tail.len() + tail.iter().position(plain).unwrap_or(tail.len())
}

#[cfg(test)]
mod tests;
