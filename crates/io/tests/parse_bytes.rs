//! Parsing files in memory.
use tokenmill_core::description::Split;
use tokenmill_core::error::{Defect, Error, Kind};
use tokenmill_io::{LoadOptions, parse_bytes};

const VOCAB: &[u8] = br#"{"a": 0, "b": 1, "ab": 2}"#;
const MERGES: &[u8] = b"#version: 0.2\na b\n";

fn options() -> LoadOptions {
    LoadOptions { split: Some(Split::Whole), ..LoadOptions::default() }
}

fn defect(error: &Error) -> Option<Defect> {
    match error.kind {
        Kind::Format { defect, .. } => Some(defect),
        _ => None,
    }
}

#[test]
fn two_files_that_need_one_another_are_found_by_name() {
    let (one, report) = parse_bytes("vocab.json", VOCAB, &[("merges.txt", MERGES)], &options()).unwrap();
    let (other, _) = parse_bytes("merges.txt", MERGES, &[("vocab.json", VOCAB)], &options()).unwrap();
    assert_eq!(one, other);
    assert_eq!(one.model.tokens().len(), 3);
    assert_eq!(report.files()[0].0, "vocab.json");
    let error = parse_bytes("vocab.json", VOCAB, &[("merges.md", MERGES)], &options()).unwrap_err();
    assert_eq!(defect(&error), Some(Defect::Missing));
    assert!(error.to_string().contains("merges.txt"), "{error}");
}

#[test]
fn a_gguf_file_is_told_by_its_first_bytes() {
    let error = parse_bytes("model.bin", b"GGUF\x03\x00", &[], &options()).unwrap_err();
    assert_eq!(defect(&error), Some(Defect::Truncated));
    assert!(error.to_string().starts_with("model.bin: "), "{error}");
}
