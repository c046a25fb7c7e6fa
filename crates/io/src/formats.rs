//! The formats of single files, and how one is detected from the content of a file.
use std::path::Path;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokenmill_core::error::{Defect, Error, Result};

use crate::{contents, sentencepiece, tiktoken, vocab_merges, vocab_txt};

/// A format that this crate reads. GGUF is detected earlier, before the file is read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// `tokenizer.json`.
    TokenizerJson,
    /// `tekken.json`.
    Tekken,
    /// A SentencePiece model.
    SentencePiece,
    /// Ranks with tokens in base64.
    Tiktoken,
    /// The `vocab.json` of a vocab/merges pair.
    Vocab,
    /// The `merges.txt` of a vocab/merges pair.
    Merges,
    /// `vocab.txt` of BERT.
    VocabTxt,
}

/// Returns the format of these bytes. The name decides only if the content is ambiguous.
///
/// # Errors
/// A format error that says what the file is instead.
pub(crate) fn detect(path: &Path, bytes: &[u8]) -> Result<FileFormat> {
    let is_named = |name: &str| path.file_name().is_some_and(|found| found == name);
    // Line ends look like the start of a SentencePiece model.
    if !bytes.iter().all(u8::is_ascii_whitespace) && sentencepiece::is_like(bytes) {
        return Ok(FileFormat::SentencePiece);
    }
    let text = match contents::text(bytes) {
        Ok(text) => text,
        // The reader of the format reports the byte or line.
        Err(error) => return unreadable(path, bytes, error),
    };
    if let Some(rest) = text.trim_start().strip_prefix('{') {
        // No JSON object continues like this, and a chat template alone is no tokenizer.
        if rest.starts_with(['{', '%', '#']) {
            let reason = "the file is a Jinja template, as chat templates are, and no tokenizer; load the folder it \
                          is in, or the tokenizer.json beside it";
            return Err(Error::format(Defect::WrongKind, reason));
        }
        return Ok(match first_telling_key(text) {
            Some(kind) => kind,
            None if vocab_merges::is_like_vocab(text) => FileFormat::Vocab,
            None => FileFormat::TokenizerJson,
        });
    }
    if is_named("vocab.json") {
        return Ok(FileFormat::Vocab);
    }
    if tiktoken::is_like(text) {
        return Ok(FileFormat::Tiktoken);
    }
    if is_named("merges.txt") || text.starts_with("#version") {
        return Ok(FileFormat::Merges);
    }
    if is_named("vocab.txt") || vocab_txt::is_like(text) {
        return Ok(FileFormat::VocabTxt);
    }
    Err(Error::format(
        Defect::WrongKind,
        "this is none of the formats that tokenmill reads: tokenizer.json, tekken.json, SentencePiece models, \
         GGUF, .tiktoken (base64 and rank on each line), vocab.json with merges.txt, vocab.txt",
    ))
}

fn unreadable(path: &Path, bytes: &[u8], error: Error) -> Result<FileFormat> {
    let is_broken_text =
        matches!(error.kind, tokenmill_core::error::Kind::Format { defect: Defect::Encoding, .. })
            && !bytes.starts_with(&[0xff, 0xfe])
            && !bytes.starts_with(&[0xfe, 0xff]);
    if !is_broken_text {
        return Err(error);
    }
    if path.extension().is_some_and(|extension| extension == "model") {
        return Ok(FileFormat::SentencePiece);
    }
    if path.extension().is_some_and(|extension| extension == "gguf") {
        return Err(Error::format(Defect::WrongKind, "a GGUF file begins with GGUF, and this one does not"));
    }
    if path.file_name().is_some_and(|name| name == "vocab.txt") {
        return Ok(FileFormat::VocabTxt);
    }
    Err(error)
}

/// The format that the keys of an object indicate: the first key that only one format has. A
/// `vocab.json` may have such keys as tokens, but with numbers as values.
fn first_telling_key(text: &str) -> Option<FileFormat> {
    struct Keys(Option<FileFormat>);
    impl<'de> Visitor<'de> for &mut Keys {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                let kind = match key.as_str() {
                    "config" | "vocab" => Some(FileFormat::Tekken),
                    "model" | "added_tokens" | "normalizer" | "pre_tokenizer" | "post_processor"
                    | "decoder" | "truncation" | "padding" => Some(FileFormat::TokenizerJson),
                    _ => None,
                };
                if kind.is_none() {
                    map.next_value::<IgnoredAny>()?;
                } else if !matches!(map.next_value::<&RawValue>(), Ok(value) if is_number(value.get())) {
                    // If the file is truncated within the value, the key alone decides.
                    self.0 = kind;
                    return Ok(());
                }
            }
            Ok(())
        }
    }
    let mut keys = Keys(None);
    // The parse always ends in an error where it stops early.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut keys);
    keys.0
}

fn is_number(json: &str) -> bool {
    json.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Option<FileFormat> {
        detect(Path::new(name), text.as_bytes()).ok()
    }

    #[test]
    fn formats_are_told_apart_by_content() {
        for (text, expected) in [
            (r#"{"version": "1.0", "model": {}}"#, FileFormat::TokenizerJson),
            (r#"{"version": "1.0", "truncation": null, "#, FileFormat::TokenizerJson),
            (r#"{"x": 1.5}"#, FileFormat::Vocab),
            (r#"{"config": {}, "vocab": []}"#, FileFormat::Tekken),
            (r#"{"image": {"a": 1}, "vocab": [{"rank": 0"#, FileFormat::Tekken),
            (r#"{"type": "Tekken", "config": "#, FileFormat::Tekken),
            (r#"{"a": 1}"#, FileFormat::Vocab),
            (r#"{"model": 0, "vocab": 1, "a": 2}"#, FileFormat::Vocab),
            (r#"{"version": 1.0, "model": {}}"#, FileFormat::TokenizerJson),
            ("YQ== 0\n", FileFormat::Tiktoken),
            ("#version: 0.2\na b\n", FileFormat::Merges),
            ("[PAD]\n[UNK]\na\n", FileFormat::VocabTxt),
        ] {
            assert_eq!(of("x", text), Some(expected), "{text}");
        }
        assert_eq!(of("x", "a\nb\n"), None);
        assert_eq!(of("vocab.txt", "a\nb\n"), Some(FileFormat::VocabTxt));
        assert_eq!(of("merges.txt", "a b\n"), Some(FileFormat::Merges));
        assert_eq!(of("vocab.json", "[]"), Some(FileFormat::Vocab));
        assert_eq!(of("x", "\n\n"), None);
        for template in ["{{ bos }}", "{%- for m in messages %}", " {# a chat #}"] {
            let error = detect(Path::new("chat_template.jinja"), template.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("Jinja"), "{error}");
        }
    }
}
