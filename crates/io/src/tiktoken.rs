//! `.tiktoken`: one `base64(bytes) rank` per line. The rank is the id; any two tokens whose
//! joined bytes are a token merge, lowest rank first, and a pretoken that is a token is taken
//! whole. The file holds neither the split nor the special tokens.
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tokenmill_core::byte_alphabet;
use tokenmill_core::compile::compile;
use tokenmill_core::description::{Alphabet, Bpe, Description, Merges, Split, TokenList};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::{NO_ID, TokenId};

use crate::report::Report;
use crate::{contents, gaps};

/// Entries and bytes of one token that a file may have.
const ENTRY_LIMIT: usize = 16 << 20;
const TOKEN_LIMIT: usize = 64 << 10;

/// Does this text look like ranks: base64, blank, digits?
pub(crate) fn is_like(text: &str) -> bool {
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else { return false };
    let mut fields = line.split_ascii_whitespace();
    let is_base64 = |field: &str| field.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b));
    fields.next().is_some_and(is_base64)
        && fields.next().is_some_and(|rank| rank.bytes().all(|b| b.is_ascii_digit()))
        && fields.next().is_none()
}

/// Tokens in the order in which the file has them first, which is that of their ranks in all files that anybody
/// publishes.
struct Ranks {
    /// The bytes of all tokens in a row.
    bytes: Vec<u8>,
    entries: Vec<Ranked>,
    /// Their places, by their bytes.
    by_token: HashTable<u32>,
    hasher: RandomState,
}

/// A token that has one.
struct Ranked {
    rank: TokenId,
    /// Its bytes among all.
    span: Range<usize>,
    line: usize,
}

impl Ranks {
    /// None yet, with room for those of a file, whose lines have seven bytes at least.
    fn of_file(text: &str) -> Self {
        let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let count = lines.min(text.len() / 7 + 1).min(ENTRY_LIMIT);
        Self {
            bytes: Vec::with_capacity(text.len() / 2),
            entries: Vec::with_capacity(count),
            by_token: HashTable::with_capacity(count),
            hasher: RandomState::default(),
        }
    }

    /// Puts the token that was put behind all bytes from `start` on; where it is there already, this rank counts, and
    /// the line of the other one is returned.
    fn insert(&mut self, start: usize, rank: TokenId, line: usize) -> Option<usize> {
        let Self { bytes, entries, by_token, hasher } = self;
        let token = &bytes[start..];
        let of = |place: u32| &bytes[entries[place as usize].span.clone()];
        let hash = |&place: &u32| hasher.hash_one(of(place));
        match by_token.entry(hasher.hash_one(token), |&other| of(other) == token, hash) {
            Entry::Occupied(place) => {
                let entry = &mut entries[*place.get() as usize];
                bytes.truncate(start);
                entry.rank = rank;
                Some(std::mem::replace(&mut entry.line, line))
            }
            Entry::Vacant(slot) => {
                slot.insert(entries.len() as u32);
                entries.push(Ranked { rank, span: start..bytes.len(), line });
                None
            }
        }
    }

    fn contains(&self, token: &[u8]) -> bool {
        let is_same = |&other: &u32| self.token(&self.entries[other as usize]) == token;
        self.by_token.find(self.hasher.hash_one(token), is_same).is_some()
    }

    fn token(&self, entry: &Ranked) -> &[u8] {
        &self.bytes[entry.span.clone()]
    }

    /// By rank. Two tokens with one rank are refused: it is the id of only one of them.
    fn in_order(&self) -> Result<Vec<&Ranked>> {
        let mut entries: Vec<&Ranked> = self.entries.iter().collect();
        // As they are in files.
        if entries.is_sorted_by(|a, b| a.rank < b.rank) {
            return Ok(entries);
        }
        entries.sort_unstable_by_key(|entry| (entry.rank, entry.line));
        let Some(&[first, second]) = entries.windows(2).find(|pair| pair[0].rank == pair[1].rank) else {
            return Ok(entries);
        };
        let reason = format!("the rank {} is on line {} already", first.rank, first.line);
        Err(Error::format(Defect::Duplicate, reason).at(format!("line {}", second.line)))
    }
}

/// Reads a file of ranks. `special` are the ids that special tokens beside it have.
///
/// # Errors
/// A format error naming the line.
pub(crate) fn parse(
    bytes: &[u8],
    split: &Split,
    special: &[TokenId],
    report: &mut Report,
) -> Result<Description> {
    let text = contents::text(bytes)?;
    check_count(text)?;
    let mut ranks = Ranks::of_file(text);
    for (i, line) in text.split('\n').enumerate() {
        let number = i + 1;
        let field = || format!("line {number}");
        let start = ranks.bytes.len();
        let Some(entry) = parse_line(line, &mut ranks.bytes).map_err(|e| e.at(field()))? else { continue };
        if ranks.bytes.len() == start {
            report.tolerate(Defect::Empty, field(), "the token is empty, and left out")?;
            continue;
        }
        if let Some(reason) = entry.padding {
            report.tolerate(Defect::Base64, field(), reason)?;
        }
        if let Some(earlier) = ranks.insert(start, entry.rank, number) {
            let reason = format!("the token is on line {earlier} already; this one counts");
            report.tolerate(Defect::Duplicate, field(), reason)?;
        }
    }
    let in_order = ranks.in_order()?;
    if let Some(byte) = (0..=255).find(|&byte: &u8| !ranks.contains(&[byte])) {
        let reason = "no token is this byte alone; text that needs it is an error";
        report.tolerate(Defect::Missing, format!("byte 0x{byte:02X}"), reason)?;
    }
    gaps::find(in_order.iter().map(|entry| entry.rank).collect(), special, "rank", report)?;
    if is_in_byte_alphabet(&ranks) {
        let reason = "the tokens are written in the byte alphabet (a space is Ġ) before they are base64, which is \
                      no .tiktoken file; load the tokenizer.json of this model";
        return Err(Error::format(Defect::WrongKind, reason));
    }
    let mut tokens = TokenList::with_capacity(ranks.entries.len(), ranks.bytes.len());
    for entry in in_order {
        tokens.push(entry.rank, ranks.token(entry));
    }
    let model = Bpe { whole_pretokens: true, ..Bpe::plain(Alphabet::Bytes, tokens, Merges::ById) };
    Ok(Description::of_bpe(split, model))
}

/// Lines are counted before anything is kept of them.
fn check_count(text: &str) -> Result<()> {
    let is_entry = |line: &&str| !line.trim_ascii().is_empty();
    if text.bytes().filter(|&byte| byte == b'\n').count() >= ENTRY_LIMIT
        && text.split('\n').filter(is_entry).count() > ENTRY_LIMIT
    {
        return Err(Error::limit(format!("more than {ENTRY_LIMIT} tokens"), ENTRY_LIMIT as u64));
    }
    Ok(())
}

/// Are the tokens not bytes but characters that stand for bytes? Then all 256 of those are tokens,
/// and none holds a byte that would be written in another way.
fn is_in_byte_alphabet(tokens: &Ranks) -> bool {
    let is_written =
        |token: &[u8]| std::str::from_utf8(token).is_ok_and(|text| byte_alphabet::read(text).is_some());
    (0..=255).all(|byte| tokens.contains(byte_alphabet::write(&[byte]).as_bytes()))
        && tokens.entries.iter().all(|entry| is_written(tokens.token(entry)))
}

/// What a line says.
struct Line {
    rank: TokenId,
    /// What is wrong with the padding of the token.
    padding: Option<&'static str>,
}

/// Puts the token of a line behind `bytes`.
fn parse_line(line: &str, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
    if line.len() > TOKEN_LIMIT * 2 {
        let reason = format!("the line is longer than a token of {TOKEN_LIMIT} bytes can be");
        return Err(Error::limit(reason, TOKEN_LIMIT as u64));
    }
    let mut fields = line.split_ascii_whitespace();
    let Some(token) = fields.next() else { return Ok(None) };
    let Some(rank) = fields.next() else {
        let reason = "expected a base64 token, a blank and a rank; the rank is missing";
        return Err(Error::format(Defect::Line, reason));
    };
    if fields.next().is_some() {
        return Err(Error::format(
            Defect::Line,
            "expected a base64 token, a blank and a rank; there is more",
        ));
    }
    let digits = rank.strip_prefix(['+', '-']).unwrap_or(rank);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::format(Defect::Line, format!("the rank {rank:?} is not a number")));
    }
    let rank = rank.parse().ok().filter(|&rank| rank != NO_ID).ok_or_else(|| {
        Error::format(Defect::Range, format!("the rank {rank} is not between 0 and {}", NO_ID - 1))
    })?;
    Ok(Some(Line { rank, padding: decode(token, bytes)? }))
}

/// Puts the bytes behind others; says what is wrong with the padding, without which they are clear as well.
fn decode(token: &str, bytes: &mut Vec<u8>) -> Result<Option<&'static str>> {
    let digits = token.trim_end_matches('=');
    STANDARD_NO_PAD.decode_vec(digits, bytes).map_err(|error| {
        let hint =
            if token.contains(['-', '_']) { " (this is the URL-safe alphabet; use + and /)" } else { "" };
        Error::format(Defect::Base64, format!("{token:?} is not base64: {error}{hint}"))
    })?;
    let padding = match (token.len() - digits.len()).cmp(&(digits.len().wrapping_neg() % 4)) {
        Ordering::Less => Some("the base64 ends too early; its padding is missing"),
        Ordering::Equal => None,
        Ordering::Greater => Some("the base64 has more padding than it needs"),
    };
    Ok(padding)
}

/// Writes the ranks of a tokenizer. The split and the added tokens are not in the file; the
/// caller has made sure that they may be lost.
///
/// # Errors
/// A format error when the ids do not say what the merges say.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
    let description = engine.description();
    let model = engine.bpe()?;
    let cannot = |reason: String| Err(Error::format(Defect::CannotHold, reason).at("model"));
    if model.alphabet != Alphabet::Bytes {
        return cannot(
            "a .tiktoken file holds tokens over bytes, not characters; save as tokenizer.json".to_owned(),
        );
    }
    if model.unk.is_some() {
        return cannot("a .tiktoken file has no unknown token; save as tokenizer.json".to_owned());
    }
    if model.tokens.is_empty() {
        return cannot("an empty file says nothing; this tokenizer has no ordinary tokens".to_owned());
    }
    // Reading the file gives this; it must mean what this tokenizer means.
    let read = Bpe { merges: Merges::ById, whole_pretokens: true, ..model.clone() };
    let split = description.split().unwrap_or(Split::Whole);
    if compile(Description::of_bpe(&split, read))?.canonical().model != engine.canonical().model {
        return cannot(
            "the ids do not rank the merges as a .tiktoken file must have it; save as tokenizer.json"
                .to_owned(),
        );
    }
    let mut text = String::new();
    for (id, bytes) in model.tokens.iter() {
        STANDARD.encode_string(bytes, &mut text);
        let _ = writeln!(text, " {id}");
    }
    Ok(text.into_bytes())
}
