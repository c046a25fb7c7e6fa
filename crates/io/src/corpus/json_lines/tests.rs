use super::super::reader::CorpusReport;
use super::*;
use std::path::Path;
use tokenmill_core::watch::Unwatched;

/// Gives bytes in parts of this size.
struct Parts<'a>(&'a [u8], usize);

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(n);
        buffer[..n].copy_from_slice(now);
        self.0 = later;
        Ok(n)
    }
}

fn read(bytes: &[u8], field: &str, errors: Errors, part: usize) -> Result<(Vec<String>, CorpusReport)> {
    let mut got = Vec::new();
    let mut feed = |batch: &[&str]| {
        got.extend(batch.iter().map(|&document| document.to_owned()));
        Ok(())
    };
    let mut reader = CorpusReader::new(errors, &mut feed, &Unwatched)?;
    reader.begin(Some(Path::new("a.jsonl")));
    reader.json_lines(&mut Parts(bytes, part), &JsonField::new(field)?)?;
    let report = reader.finish()?;
    assert_eq!(report.documents, got.len() as u64);
    Ok((got, report))
}

#[test]
fn lines_of_any_length_and_end_are_documents() {
    let bytes = "\u{feff}{\"text\":\"a\"}\r\n\n  \r\n{\"text\":\"b\\nc\"}\n{\"text\":null}\n{\"text\":\"\"}\n{\"text\":\"é\"}";
    for part in [1, 2, 7, 1 << 20] {
        let (got, report) = read(bytes.as_bytes(), "text", Errors::Strict, part).unwrap();
        assert_eq!(got, ["a", "b\nc", "", "é"]);
        assert_eq!(report.bytes, bytes.len() as u64);
    }
    let long = "x".repeat(3 << 20);
    let bytes = format!("{{\"text\":\"{long}\"}}\n{{\"text\":\"{long}\"}}");
    assert!(read(bytes.as_bytes(), "text", Errors::Strict, 1 << 20).unwrap().0 == [&*long, &*long]);
    assert!(read(b"", "text", Errors::Strict, 9).unwrap().0.is_empty());
}

#[test]
fn an_error_names_row_and_byte_of_the_file() {
    let bytes = b"{\"text\":\"a\"}\n\n{\"text\":oh}\n";
    for part in [3, 100] {
        let error = read(bytes, "text", Errors::Skip, part).unwrap_err();
        assert_eq!(error.to_string(), "a.jsonl: row 3, at byte 22: is no JSON: a value is missing");
    }
    let error = read(b"{\"id\":1}", "text", Errors::Strict, 100).unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl: row 1: has no field \"text\": it has \"id\""), "{error}");
    let error = read("\u{feff}{".as_bytes(), "text", Errors::Strict, 100).unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl: row 1, at byte 4: is no JSON"), "{error}");
    let error = read(b"\xff\xfe{\0", "text", Errors::Skip, 100).unwrap_err();
    assert!(error.to_string().contains("not UTF-8, but UTF-16; convert it"), "{error}");
    let error = read(b"\x1f\x8b\x08\0", "text", Errors::Skip, 100).unwrap_err();
    assert!(error.to_string().contains("is compressed (gzip)"), "{error}");
}

#[test]
fn text_that_is_none_is_refused_replaced_or_left_out() {
    let bytes = b"{\"text\":\"a\"}\n{\"text\":\"b\\ud83e!\"}\n{\"x\":\"\xff\",\"text\":\"c\xffd\\n\xe2\x82\"}\n{\"text\":\"\\ud83e\\udd8a\"}\n";
    let (got, report) = read(bytes, "text", Errors::Replace, 100).unwrap();
    assert_eq!(got, ["a", "b\u{fffd}!", "c\u{fffd}d\n\u{fffd}", "🦊"]);
    assert_eq!((report.replaced, report.skipped), (2, 0));
    let (got, report) = read(bytes, "text", Errors::Skip, 5).unwrap();
    assert_eq!((got.len(), report.replaced, report.skipped), (2, 0, 2));
    let error = read(bytes, "text", Errors::Strict, 100).unwrap_err();
    let said = "a.jsonl: row 2, at byte 23: the text holds half of a surrogate pair (\\ud83e)";
    assert!(error.to_string().starts_with(said), "{error}");
    let third = bytes.windows(4).position(|part| part == b"{\"x\"").unwrap();
    let error = read(&bytes[third..], "text", Errors::Strict, 100).unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl: row 1, at byte 18: not UTF-8"), "{error}");
}

#[test]
fn rows_of_a_block_are_given_one_by_one() {
    let mut got = Vec::new();
    let field = JsonField::new("text").unwrap();
    let mut push = |text: Option<&str>| {
        got.push(text.map(str::to_owned));
        Ok(())
    };
    let lines = b"{\"text\":\"a\"}\n\n{\"text\":null}\n{\"text\":\"b\"}\n";
    json_rows(lines, &field, (5, 100), &mut push, &Unwatched).unwrap();
    assert_eq!(got, [Some("a".to_owned()), None, None, Some("b".to_owned())]);
    let error = json_rows(b"\n{", &field, (5, 100), &mut |_| Ok(()), &Unwatched).unwrap_err();
    assert!(error.to_string().starts_with("row 6, at byte 102: is no JSON"), "{error}");
}
