//! Files of placeholder models: saved and loaded, and damaged in every way that comes to mind.
use std::path::{Path, PathBuf};

use tokenmill_core::compile::compile;
use tokenmill_core::description::{Alphabet, BpeDescription, Description, Merges, TokenList};
use tokenmill_core::error::{Error, Kind};
use tokenmill_core::pattern::named_splits;
use tokenmill_core::placeholder::{Amount, NGramModel, Order, Request};
use tokenmill_core::watch::Unwatched;
use tokenmill_io::ngram_model::{LoadedModel, load, save, to_bytes};

const CORPUS: &str =
    "The cat sat. A dog, a cat and a hat ran! Did the dog sit? He had 3.5 hats, Mr. A. Cat. ";

fn model(order: Order) -> NGramModel {
    let tokens = (0..=255_u8).map(|byte| (u32::from(byte), vec![byte])).collect();
    let model = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::ById);
    let engine = compile(Description::of_bpe(&named_splits::split_from("none"), model)).unwrap();
    let ids: Vec<u32> = CORPUS.bytes().map(u32::from).collect();
    NGramModel::train(&engine, &ids, order, &Unwatched).unwrap()
}

/// A file that is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tokenmill-ngrams-{name}-{}", std::process::id())))
    }

    fn with(self, bytes: &[u8]) -> Self {
        // A file that is mapped must not change.
        let _ = std::fs::remove_file(&self.0);
        std::fs::write(&self.0, bytes).unwrap();
        self
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn text(model: &NGramModel, seed: u64) -> Result<String, Error> {
    model.generate(Request { amount: Amount::Words(20), is_exact: false, seed, start: None }, &Unwatched)
}

fn loaded(path: &Path) -> Result<LoadedModel, Error> {
    load(path, &Unwatched)
}

#[test]
fn a_saved_model_is_loaded_as_it_was() {
    for order in [Order::Two, Order::Three] {
        let (made, file) = (model(order), Temporary::new(&format!("{order:?}")));
        save(&made, &file.0, &Unwatched).unwrap();
        let read = loaded(&file.0).unwrap();
        read.verify(&Unwatched).unwrap();
        assert_eq!(made.sizes(), read.model.sizes());
        for (ours, theirs) in made.sections().into_iter().zip(read.model.sections()) {
            assert!(ours.iter().eq(theirs.iter()));
        }
        assert_eq!(text(&made, 3).unwrap(), text(&read.model, 3).unwrap());
        // A save over a model that is mapped leaves that one as it is.
        save(&model(Order::Two), &file.0, &Unwatched).unwrap();
        read.verify(&Unwatched).unwrap();
        assert_eq!(to_bytes(&read.model, &Unwatched).unwrap(), to_bytes(&made, &Unwatched).unwrap());
    }
}

/// Is it refused with a format error, or found by `verify`? Uses it either way.
fn is_found(bytes: &[u8], file: &Temporary) -> bool {
    let is_format = |error: &Error| matches!(error.kind, Kind::Format { .. });
    let _ = std::fs::remove_file(&file.0);
    std::fs::write(&file.0, bytes).unwrap();
    match loaded(&file.0) {
        Err(error) => is_format(&error),
        Ok(read) => {
            for seed in 0..3 {
                if let Err(error) = text(&read.model, seed) {
                    assert!(is_format(&error), "{error}");
                }
            }
            read.verify(&Unwatched).is_err_and(|error| is_format(&error))
        }
    }
}

#[test]
fn every_damaged_file_is_refused_or_found() {
    for order in [Order::Two, Order::Three] {
        let bytes = to_bytes(&model(order), &Unwatched).unwrap();
        let file = Temporary::new(&format!("damaged-{order:?}")).with(&bytes);
        loaded(&file.0).unwrap().verify(&Unwatched).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            assert!(is_found(&changed, &file), "{order:?}: bit at byte {place}");
        }
        for length in (0..bytes.len()).step_by(7) {
            assert!(is_found(&bytes[..length], &file), "{order:?}: cut at {length}");
            let mut swapped = bytes[length..].to_vec();
            swapped.extend_from_slice(&bytes[..length]);
            assert!(length == 0 || is_found(&swapped, &file), "{order:?}: swapped at {length}");
        }
        for more in [&b"x"[..], b"1234", &bytes] {
            assert!(is_found(&[bytes.as_slice(), more].concat(), &file));
        }
        for fill in [0, 0xff] {
            for part in [0..8, 8..16, 16..56, 56..128, 128..bytes.len(), 0..bytes.len()] {
                let mut changed = bytes.clone();
                changed[part].fill(fill);
                assert!(changed == bytes || is_found(&changed, &file));
            }
        }
    }
}

#[test]
fn other_files_are_named_as_such() {
    let kind = |bytes: &[u8]| {
        let error = loaded(&Temporary::new("other").with(bytes).0).unwrap_err();
        match (&error.kind, &error.path) {
            (Kind::Format { defect, .. }, Some(_)) => defect.as_str(),
            _ => panic!("{error}"),
        }
    };
    assert_eq!(kind(b"{}  "), "wrong-kind");
    assert_eq!(kind(b""), "wrong-kind");
    assert_eq!(kind(b"tmngram\0"), "truncated");
    let mut newer = to_bytes(&model(Order::Two), &Unwatched).unwrap();
    newer[8] = 2;
    assert_eq!(kind(&newer), "version");
    let missing = loaded(Path::new("no/such/file")).unwrap_err();
    assert!(matches!(missing.kind, Kind::Os(_)) && missing.path.is_some());
}
