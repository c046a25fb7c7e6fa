//! JSON lines: no input breaks the reader, the size of reads changes nothing, and serde_json finds the same strings.
#![no_main]

use std::io::{self, Read};

use serde_json::Value;
use tokenmill_core::error::Result;
use tokenmill_core::watch::{Unwatched, Watch};
use tokenmill_fuzz::patience::{Patience, checked};
use tokenmill_io::corpus::{CorpusReader, Errors, JsonField, json_rows};

/// A reader that returns at most this many bytes per call.
struct Short<'a>(&'a [u8], usize);

impl Read for Short<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(block.len());
        self.0.read(&mut block[..n])
    }
}

/// The documents, how many were skipped, and how many had invalid UTF-8 replaced.
type Documents = (Vec<String>, u64, u64);

fn documents(
    mut lines: impl Read,
    field: &JsonField,
    errors: Errors,
    watch: &dyn Watch,
) -> Result<Documents> {
    let mut found = Vec::new();
    let mut feed = |texts: &[&str]| {
        found.extend(texts.iter().map(|&text| text.to_owned()));
        Ok(())
    };
    let mut reader = CorpusReader::new(errors, &mut feed, watch)?;
    reader.json_lines(&mut lines, field)?;
    let report = reader.finish()?;
    assert_eq!(report.documents, found.len() as u64);
    Ok((found, report.skipped, report.replaced))
}

fn said<T>(result: &Result<T>) -> Option<String> {
    result.as_ref().err().map(ToString::to_string)
}

/// The text of each line as `json_rows` reads it; `None` for a line without a document.
fn rows(lines: &[u8], field: &JsonField) -> Result<Vec<Option<String>>> {
    let (watch, mut found) = (Patience::default(), Vec::new());
    let mut push = |text: Option<&str>| {
        found.push(text.map(str::to_owned));
        Ok(())
    };
    json_rows(lines, field, (1, 0), &mut push, &watch)?;
    Ok(found)
}

/// The string that serde_json finds in a line, or `Some(None)` if there is none; `None` if it rejects the line.
fn by_tree(line: &[u8], keys: &[&str]) -> Option<Option<String>> {
    let tree: Value = serde_json::from_slice(line).ok()?;
    let value = keys.iter().try_fold(&tree, |value, &key| value.as_object()?.get(key));
    Some(value.and_then(Value::as_str).map(str::to_owned))
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [choice, lines @ ..] = bytes else { return };
    let keys: &[&str] = if choice & 1 == 0 { &["text"] } else { &["a", "b"] };
    let Ok(field) = JsonField::new(&keys.join(".")) else { unreachable!("the field has a name") };
    let at_once = 1 + usize::from(choice >> 1);

    let [strict, replaced, skipped] = [Errors::Strict, Errors::Replace, Errors::Skip].map(|errors| {
        let whole = documents(lines, &field, errors, &Patience::default());
        // Unwatched, since each read polls the watch: many short reads would use up the patience.
        let parts = documents(Short(lines, at_once), &field, errors, &Unwatched);
        match (&whole, &parts) {
            (Ok(whole), Ok(parts)) => assert_eq!(whole, parts, "{errors:?}: blocks of {at_once}"),
            _ => assert_eq!(said(&whole), said(&parts), "{errors:?}: blocks of {at_once}"),
        }
        checked("reading", whole)
    });
    if let Some(strict) = &strict {
        assert_eq!((strict.1, strict.2), (0, 0));
        assert_eq!(Some(strict), replaced.as_ref(), "nothing to replace");
        assert_eq!(Some(strict), skipped.as_ref(), "nothing to skip");
    }
    if let (Some(replaced), Some(skipped)) = (replaced, skipped) {
        assert_eq!(replaced.2, skipped.1, "as many replaced as skipped");
        assert_eq!(replaced.0.len() as u64, skipped.0.len() as u64 + skipped.1);
    }

    let found = checked("rows", rows(lines, &field));
    let texts = found.as_ref().map(|rows| rows.iter().flatten().cloned().collect());
    assert_eq!(texts, strict.map(|strict| strict.0), "rows and the whole");
    if let Some(found) = found {
        let lines = lines.strip_prefix(b"\xef\xbb\xbf").unwrap_or(lines);
        for (line, ours) in lines.split(|&byte| byte == b'\n').zip(found) {
            if let Some(text) = by_tree(line, keys) {
                assert_eq!(ours, text, "{}", line.escape_ascii());
            }
        }
    }
});
