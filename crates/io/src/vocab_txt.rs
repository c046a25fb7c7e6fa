//! `vocab.txt` of BERT: one WordPiece token per line; the id is the number of the line, from 0 on.
//!
//! Only line feeds end lines; U+2028 and similar characters may be tokens. As in the tokenizers
//! library, white space at the end of a line is not part of the token, and the later of two equal
//! lines counts. The stages around the model are BERT's; whether they lower-case text is inferred
//! from the tokens, as the file does not say.
use std::collections::HashMap;
use tokenmill_core::sorting;

use tokenmill_core::description::{
    AddedToken, CallDefaults, ChatTemplates, Decoder, Decoding, Description, ModelDescription, Normalizer,
    PreTokenizer, Roles, TokenList, WordPieceDescription,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use crate::contents;
use crate::folder::LOSSY;
use crate::limits::{ENTRY_LIMIT, TOKEN_LIMIT};
use crate::report::Report;
use crate::templates;

/// A pretoken with more characters is unknown: the default of the tokenizers library.
pub(crate) const MAX_CHARS: usize = 100;

/// Prefix of every piece of a word except the first.
pub(crate) const PREFIX: &str = "##";

const UNK: &str = "[UNK]";
const SPECIAL: [&str; 5] = ["[PAD]", UNK, "[CLS]", "[SEP]", "[MASK]"];

/// Does this text look like a `vocab.txt`, that is, is one of its lines the unknown token?
pub(crate) fn is_like(text: &str) -> bool {
    text.split('\n').any(|line| line.trim_end() == UNK)
}

/// Reads the tokens with their ids.
///
/// # Errors
/// A format error that names the line.
pub(crate) fn read(bytes: &[u8], report: &mut Report) -> Result<Vec<(String, TokenId)>> {
    let lines = lines(bytes)?;
    let ids = ids(&lines, report)?;
    let numbered = (0..).zip(lines.iter().map(|line| line.trim_end()));
    Ok(numbered
        .filter(|(id, token)| ids.get(token) == Some(id))
        .map(|(id, token)| (token.to_owned(), id))
        .collect())
}

fn lines(bytes: &[u8]) -> Result<Vec<&str>> {
    let mut lines: Vec<&str> = contents::text(bytes)?.split('\n').collect();
    // A line feed at the end starts no further line.
    if lines.last() == Some(&"") {
        lines.pop();
    }
    if lines.len() > ENTRY_LIMIT {
        return Err(Error::limit(format!("more than {ENTRY_LIMIT} tokens"), ENTRY_LIMIT as u64));
    }
    Ok(lines)
}

/// The id of each token; of two equal lines the later.
fn ids<'a>(lines: &[&'a str], report: &mut Report) -> Result<HashMap<&'a str, TokenId>> {
    let mut ids: HashMap<&str, TokenId> = HashMap::with_capacity(lines.len());
    for (i, line) in (0..).zip(lines) {
        let token = line.trim_end();
        if token.len() > TOKEN_LIMIT {
            let reason = format!("a token of {} bytes is longer than {TOKEN_LIMIT}", token.len());
            return Err(Error::limit(reason, TOKEN_LIMIT as u64).at(format!("line {}", i + 1)));
        }
        if token.is_empty() {
            report.tolerate(Defect::Empty, format!("line {}", i + 1), "an empty line is the token \"\"")?;
        }
        if let Some(earlier) = ids.insert(token, i) {
            let reason = format!("{token:?} is also on line {}; this one counts", earlier + 1);
            report.tolerate(Defect::Duplicate, format!("line {}", i + 1), reason)?;
        }
    }
    Ok(ids)
}

/// Reads a file.
///
/// # Errors
/// A format error that names the line.
pub(crate) fn parse(bytes: &[u8], report: &mut Report) -> Result<Description> {
    let lines = lines(bytes)?;
    let ids = ids(&lines, report)?;
    let mut tokens = TokenList::with_capacity(lines.len(), bytes.len());
    for (id, line) in (0..).zip(&lines) {
        let token = line.trim_end();
        // The model must not contain special tokens, since text would become one.
        if ids.get(token) == Some(&id) && !SPECIAL.contains(&token) {
            tokens.push(id, token.as_bytes());
        }
    }
    let find = |name: &str| ids.get(name).copied();
    if find(UNK).is_none() {
        let reason = "no line is [UNK]; text that the others cannot spell is an error";
        report.tolerate(Defect::Missing, UNK, reason)?;
    }
    let mut added_tokens: Vec<AddedToken> =
        SPECIAL.iter().filter_map(|&name| Some(AddedToken::special(find(name)?, name))).collect();
    AddedToken::sort_by_id(&mut added_tokens);
    let model = WordPieceDescription {
        tokens: tokens.into(),
        unk: find(UNK),
        continuing_prefix: PREFIX.to_owned(),
        max_chars: MAX_CHARS,
    };
    let lowercase = !lines.iter().any(|line| has_upper_case(line));
    report.note(format!("text is {}lower-cased, judging by the tokens", if lowercase { "" } else { "not " }));
    let token = |name: &'static str| find(name).map(|id| (name, id));
    let roles = Roles {
        sep: find("[SEP]"),
        pad: find("[PAD]"),
        cls: find("[CLS]"),
        mask: find("[MASK]"),
        ..Roles::default()
    };
    Ok(around(model, added_tokens, lowercase, None, token("[CLS]"), token("[SEP]"), roles))
}

/// Writes the tokens, one on each line.
///
/// # Errors
/// A format error that names a token that no line can hold; unless `lossy`, one that names what reading the file again
/// would not give.
pub(crate) fn write(description: &Description, lossy: bool) -> Result<Vec<u8>> {
    let cannot =
        |field: &str, reason: String| Err(Error::format(Defect::CannotHold, reason).at(field.to_owned()));
    let ModelDescription::WordPiece(model) = &description.model else {
        return cannot(
            "model",
            "vocab.txt holds a WordPiece vocabulary, and this is another model".to_owned(),
        );
    };
    let added = description.added_tokens.iter().map(|token| (token.id, token.content.as_bytes()));
    let mut tokens: Vec<(TokenId, &[u8])> = model.tokens.iter().chain(added).collect();
    sorting::sort(&mut tokens);
    tokens.dedup();
    let mut bytes = Vec::new();
    for (line, (id, token)) in (0..).zip(tokens) {
        if id != line {
            return cannot(
                "model",
                format!("in vocab.txt the id is the number of the line, and {line} is no id"),
            );
        }
        let text =
            std::str::from_utf8(token).ok().filter(|text| !text.contains('\n') && text.trim_end() == *text);
        let Some(text) = text else {
            return cannot(
                "model",
                format!("no line can hold the token {:?}", String::from_utf8_lossy(token)),
            );
        };
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
    }
    let again = parse(&bytes, &mut Report::default())?;
    let parts = [
        ("model", again.model == description.model),
        ("added_tokens", again.added_tokens == description.added_tokens),
        ("normalizer", again.normalizer == description.normalizer),
        ("pre_tokenizer", again.pre_tokenizer == description.pre_tokenizer),
        ("post_processor", again.post_processor == description.post_processor),
        ("roles", again.roles == description.roles),
    ];
    match parts.into_iter().find(|(_, is_same)| !lossy && !is_same) {
        Some((field, _)) => cannot(
            field,
            format!(
                "vocab.txt holds tokens alone: what reads it takes the {field} of BERT; save to a folder, or {LOSSY}"
            ),
        ),
        None => Ok(bytes),
    }
}

/// The stages of BERT around a model.
pub(crate) fn around(
    model: WordPieceDescription,
    added_tokens: Vec<AddedToken>,
    lowercase: bool,
    strip_accents: Option<bool>,
    cls: Option<templates::Token<'_>>,
    sep: Option<templates::Token<'_>>,
    roles: Roles,
) -> Description {
    let prefix = model.continuing_prefix.clone();
    Description {
        added_tokens,
        normalizer: vec![Normalizer::Bert {
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents,
            lowercase,
        }],
        pre_tokenizer: vec![PreTokenizer::Bert],
        model: ModelDescription::WordPiece(model),
        post_processor: templates::bert(cls, sep),
        decoding: Decoding::Steps(vec![Decoder::WordPiece { prefix, cleanup: true }]),
        truncation: None,
        padding: None,
        roles,
        defaults: CallDefaults::default(),
        chat_templates: ChatTemplates::default(),
    }
}

/// Can lower-cased text never become this token? Tokens in brackets, such as `[UNK]` and `<S>`, do
/// not count, nor do letters without a lower case, such as ℝ.
fn has_upper_case(line: &str) -> bool {
    let token = line.trim_end();
    let is_in = |open, close| token.starts_with(open) && token.ends_with(close);
    !is_in('[', ']') && !is_in('<', '>') && token.chars().any(|char| char.to_lowercase().ne([char]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokenmill_core::error::Kind;

    fn tokens(text: &str) -> Vec<(TokenId, String)> {
        let description = parse(text.as_bytes(), &mut Report::default()).unwrap();
        let ordinary = description.model.tokens();
        let ordinary = ordinary.iter().map(|(id, bytes)| (id, String::from_utf8(bytes.to_vec()).unwrap()));
        let added = description.added_tokens.iter().map(|token| (token.id, token.content.clone()));
        let mut tokens: Vec<_> = ordinary.chain(added).collect();
        tokens.sort();
        tokens
    }

    fn row(tokens: &[(TokenId, &str)]) -> Vec<(TokenId, String)> {
        tokens.iter().map(|&(id, token)| (id, token.to_owned())).collect()
    }

    #[test]
    fn the_id_is_the_number_of_the_line() {
        let expected = row(&[(0, "[UNK]"), (1, "a"), (2, "##b")]);
        for text in
            ["[UNK]\na\n##b\n", "[UNK]\na\n##b", "[UNK]\r\na\r\n##b\r\n", "\u{feff}[UNK]\na \n##b\t\n"]
        {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn of_a_token_that_is_there_twice_the_later_line_counts() {
        assert_eq!(tokens("[UNK]\na\nb\na\n"), row(&[(0, "[UNK]"), (2, "b"), (3, "a")]));
        assert_eq!(tokens("[UNK]\n\nb\n\u{3000}\n\n"), row(&[(0, "[UNK]"), (2, "b"), (4, "")]));
    }

    #[test]
    fn other_line_ends_are_none() {
        assert_eq!(
            tokens("[UNK]\na\u{2028}b\na\u{85}b\na\rb\n"),
            row(&[(0, "[UNK]"), (1, "a\u{2028}b"), (2, "a\u{85}b"), (3, "a\rb")])
        );
    }

    #[test]
    fn text_is_lower_cased_where_no_token_is_upper_case() {
        let lowercase = |text: &str| {
            let description = parse(text.as_bytes(), &mut Report::default()).unwrap();
            matches!(description.normalizer.as_slice(), [Normalizer::Bert { lowercase: true, .. }])
        };
        assert!(lowercase("[UNK]\n[CLS]\na\n##b\n<S>\nℝ\n"));
        assert!(!lowercase("[UNK]\na\n##B\n"));
    }

    #[test]
    fn special_tokens_make_the_template() {
        let description = parse(b"[SEP]\n[UNK]\n[CLS]\na\n", &mut Report::default()).unwrap();
        let special: Vec<_> = description.added_tokens.iter().map(|t| (t.id, t.content.as_str())).collect();
        assert_eq!(special, [(0, "[SEP]"), (1, "[UNK]"), (2, "[CLS]")]);
        assert_eq!(description.post_processor.len(), 1);
        assert!(description.model.tokens().index_of(2).is_none());
        assert!(parse(b"a\nb\n", &mut Report::default()).unwrap().post_processor.is_empty());
    }

    #[test]
    fn faults_have_a_place_and_a_kind() {
        let fault = |bytes: &[u8]| {
            let error = parse(bytes, &mut Report::default()).unwrap_err();
            let Kind::Format { defect, .. } = &error.kind else { panic!("{error}") };
            (error.field.to_string(), defect.as_str())
        };
        assert_eq!(fault(b""), (String::new(), "empty"));
        assert_eq!(fault(b"[UNK]\na\ncaf\xe9\nb"), ("line 3".to_owned(), "encoding"));
        let long = format!("[UNK]\n{}\n", "a".repeat(1 << 20));
        assert_eq!(fault(long.as_bytes()), ("line 2".to_owned(), "limit"));
    }
}
