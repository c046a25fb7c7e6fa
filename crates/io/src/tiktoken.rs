//! `.tiktoken`: one `base64(bytes) rank` per line. The rank is the id; two tokens whose joined
//! bytes are a token merge, lowest rank first; a pretoken that is a token is taken whole. The file
//! contains neither the split nor the special tokens.
use std::cmp::Ordering;
use std::fmt::Write as _;
use tokenmill_core::sorting;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{Alphabet, BpeDescription, Description, Merges, Split, TokenList};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::{NO_ID, TokenId};

use crate::limits::{ENTRY_LIMIT, TOKEN_LIMIT};
use crate::report::Report;
use crate::{contents, gaps, ranks};

/// Does this text look like ranks: base64, a blank, digits?
pub(crate) fn is_like(text: &str) -> bool {
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else { return false };
    let mut fields = line.split_ascii_whitespace();
    let is_base64 = |field: &str| field.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b));
    fields.next().is_some_and(is_base64)
        && fields.next().is_some_and(|rank| rank.bytes().all(|b| b.is_ascii_digit()))
        && fields.next().is_none()
}

/// Tokens in the order of their first occurrence, which in all published files is the order of ranks.
struct Listed {
    /// The ids are the indices.
    tokens: TokenList,
    /// The rank and line of each token.
    ranks: Vec<TokenId>,
    lines: Vec<usize>,
}

impl Listed {
    /// An empty list with capacity for a file, whose lines have at least seven bytes.
    fn of_file(text: &str) -> Self {
        let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let count = lines.min(text.len() / 7 + 1).min(ENTRY_LIMIT);
        Self {
            tokens: TokenList::with_capacity(count, text.len() / 2),
            ranks: Vec::with_capacity(count),
            lines: Vec::with_capacity(count),
        }
    }

    /// Adds a token. For a known token replaces the rank, and returns the line of the earlier one.
    fn insert(&mut self, token: &[u8], rank: TokenId, line: usize) -> Option<usize> {
        if let Err(place) = self.tokens.push_new(self.ranks.len() as TokenId, token) {
            self.ranks[place] = rank;
            return Some(std::mem::replace(&mut self.lines[place], line));
        }
        self.ranks.push(rank);
        self.lines.push(line);
        None
    }

    /// The tokens by rank. Two tokens with one rank are an error, since the rank is the id of only
    /// one of them.
    fn in_order(self) -> Result<TokenList> {
        let Self { mut tokens, ranks, lines } = self;
        // The usual order.
        if ranks.is_sorted_by(|a, b| a < b) {
            tokens.shrink_to_fit();
            return Ok(tokens.with_ids(ranks));
        }
        let mut places: Vec<usize> = (0..ranks.len()).collect();
        sorting::sort_by_key(&mut places, |&place| (ranks[place], lines[place]));
        if let Some(&[first, second]) = places.windows(2).find(|pair| ranks[pair[0]] == ranks[pair[1]]) {
            let reason = format!("the rank {} is also on line {}", ranks[first], lines[first]);
            return Err(Error::format(Defect::Duplicate, reason).at(format!("line {}", lines[second])));
        }
        Ok(TokenList::from_entries(places.iter().map(|&place| (ranks[place], tokens.bytes(place))).collect()))
    }
}

/// Reads a file of ranks. `special` are the ids of special tokens outside the file.
///
/// # Errors
/// A format error that names the line.
pub(crate) fn parse(
    bytes: &[u8],
    split: &Split,
    special: &[TokenId],
    report: &mut Report,
) -> Result<Description> {
    let text = contents::text(bytes)?;
    check_count(text)?;
    let mut listed = Listed::of_file(text);
    let (mut short, mut any) = ([0; SHORT], Vec::new());
    for (line, number) in lines(text).zip(1..) {
        let field = || format!("line {number}");
        let (token, rank) = if let Some(plain) = plain_line(line, &mut short) {
            plain
        } else {
            any.clear();
            let Some(entry) = parse_line(line, &mut any).map_err(|e| e.at(field()))? else { continue };
            if any.is_empty() {
                report.tolerate(Defect::Empty, field(), "the token is empty, and left out")?;
                continue;
            }
            if let Some(reason) = entry.padding {
                report.tolerate(Defect::Base64, field(), reason)?;
            }
            (&any[..], entry.rank)
        };
        if let Some(earlier) = listed.insert(token, rank, number) {
            let reason = format!("the token is also on line {earlier}; this one counts");
            report.tolerate(Defect::Duplicate, field(), reason)?;
        }
    }
    let tokens = listed.in_order()?;
    if let Some(byte) = (0..=255).find(|&byte: &u8| tokens.find(&[byte]).is_none()) {
        let reason = "no token is this byte alone; text that needs it is an error";
        report.tolerate(Defect::Missing, format!("byte 0x{byte:02X}"), reason)?;
    }
    gaps::find(tokens.ids().iter().copied(), special, "rank", report)?;
    if is_in_byte_alphabet(&tokens) {
        let reason = "the tokens are written in the byte alphabet (a space is Ġ) before they are base64, which is \
                      no .tiktoken file; load the tokenizer.json of this model";
        return Err(Error::format(Defect::WrongKind, reason));
    }
    let model = BpeDescription {
        whole_pretokens: true,
        ..BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById)
    };
    Ok(Description::of_bpe(split, model))
}

/// Checks the number of lines before anything is stored.
fn check_count(text: &str) -> Result<()> {
    let is_entry = |line: &&str| !line.trim_ascii().is_empty();
    if text.bytes().filter(|&byte| byte == b'\n').count() >= ENTRY_LIMIT
        && text.split('\n').filter(is_entry).count() > ENTRY_LIMIT
    {
        return Err(Error::limit(format!("more than {ENTRY_LIMIT} tokens"), ENTRY_LIMIT as u64));
    }
    Ok(())
}

/// Are the tokens written in the byte alphabet? If so, all 256 of its characters are tokens, and no
/// token has a byte outside of it.
fn is_in_byte_alphabet(tokens: &TokenList) -> bool {
    let is_written =
        |token: &[u8]| std::str::from_utf8(token).is_ok_and(|text| byte_alphabet::read(text).is_some());
    (0..=255).all(|byte| tokens.find(byte_alphabet::write(&[byte]).as_bytes()).is_some())
        && tokens.iter().all(|(_, token)| is_written(token))
}

/// Splits at line ends. Lines are short, so a plain loop over bytes is enough.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| byte == b'\n');
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

/// Maximum size in bytes of a token that is decoded into a fixed buffer.
const SHORT: usize = 96;

/// The token and rank of a line in the usual form: padded base64, a blank, digits. Other lines go
/// to [`parse_line`].
fn plain_line<'a>(line: &str, buffer: &'a mut [u8; SHORT]) -> Option<(&'a [u8], TokenId)> {
    let line = line.as_bytes();
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (token, digits) = line.split_at(line.len() - digits);
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    let rank = digits.iter().fold(0, |rank, digit| 10 * rank + TokenId::from(digit - b'0'));
    let length = STANDARD.decode_slice(token.strip_suffix(b" ")?, buffer).ok()?;
    (length > 0).then_some((&buffer[..length], rank))
}

/// The contents of a line.
struct Line {
    rank: TokenId,
    /// A defect in the padding of the token.
    padding: Option<&'static str>,
}

/// Parses a line; appends its token to `bytes`, which must be empty.
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

/// Decodes a token into `bytes`; returns a defect of the padding, which is not needed to decode.
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

/// Writes the ranks of a tokenizer, without the split and the added tokens. The caller must have
/// checked that these may be lost.
///
/// # Errors
/// A format error if the ids do not determine the merges.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
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
    // The reader would produce a model that merges by id; it must be equivalent.
    if !ranks::are_ids(engine, (*model.tokens).clone())? {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_lines_say_what_they_say(
            token in prop_oneof!["[A-Za-z0-9+/]{0,9}={0,3}", "[A-Za-z0-9+/]{120,136}={0,2}", "[A-Za-z_ =-]{1,4}"],
            blanks in "[ \t]{0,2}",
            rank in "[+-]?[0-9]{0,11}",
            end in "[ \r]?",
        ) {
            let line = format!("{token}{blanks}{rank}{end}");
            let (mut buffer, mut any) = ([0; SHORT], Vec::new());
            if let Some((token, rank)) = plain_line(&line, &mut buffer) {
                let entry = parse_line(&line, &mut any).unwrap().unwrap();
                prop_assert_eq!((token, rank, None), (&any[..], entry.rank, entry.padding));
            }
        }
    }

    #[test]
    fn lines_are_those_between_line_ends() {
        assert_eq!(plain_line("IQ== 0", &mut [0; SHORT]), Some((&b"!"[..], 0)));
        for text in ["", "\n", "a", "a\n", "\n\na b\nc", "é\n漢"] {
            assert!(lines(text).eq(text.split('\n')), "{text:?}");
        }
    }
}
