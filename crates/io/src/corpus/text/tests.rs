use super::super::reader::{BATCH, BLOCK};
use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use tokenmill_core::error::{Error, Kind};
use tokenmill_core::watch::Unwatched;

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tokenmill-corpus-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn read(paths: &[PathBuf], documents: Documents, errors: Errors) -> Result<(Vec<String>, CorpusReport)> {
    let mut got = Vec::new();
    let mut feed = |batch: &[&str]| {
        got.extend(batch.iter().map(|&document| document.to_owned()));
        Ok(())
    };
    let report = read_files(paths, documents, errors, &mut feed, &Unwatched)?;
    assert_eq!(report.documents, got.len() as u64);
    Ok((got, report))
}

fn one(bytes: &[u8], documents: Documents, errors: Errors) -> Result<(Vec<String>, CorpusReport)> {
    let folder = Folder::new();
    read(&[folder.file("a.txt", bytes)], documents, errors)
}

#[test]
fn a_file_is_one_document_with_its_mark_and_line_ends() {
    let folder = Folder::new();
    let paths =
        [folder.file("b", "\u{feff}x\r\ny\n".as_bytes()), folder.file("a", b""), folder.file("c", b"z")];
    let (got, report) = read(&paths, Documents::File, Errors::Strict).unwrap();
    assert_eq!(got, ["\u{feff}x\r\ny\n", "", "z"], "in the order given");
    assert_eq!(report, CorpusReport { documents: 3, bytes: 9, skipped: 0, replaced: 0 });
}

#[test]
fn lines_lose_their_ends_and_nothing_else() {
    let text = "\u{feff}a\r\n\n\r\nb\r\r\n c \nlast\r";
    let (got, _) = one(text.as_bytes(), Documents::Lines, Errors::Strict).unwrap();
    assert_eq!(got, ["\u{feff}a", "", "", "b\r", " c ", "last\r"]);
    assert_eq!(one(b"a\n", Documents::Lines, Errors::Strict).unwrap().0, ["a"]);
    assert!(one(b"", Documents::Lines, Errors::Strict).unwrap().0.is_empty());
}

#[test]
fn strict_names_the_file_and_the_first_bad_byte() {
    for documents in [Documents::File, Documents::Lines] {
        let error = one(b"good\nb\xc3\xa9\xffd\n\xff", documents, Errors::Strict).unwrap_err();
        assert!(matches!(error.kind, Kind::Training { byte: Some(8), .. }), "{error}");
        assert!(error.path.as_ref().is_some_and(|path| path.ends_with("a.txt")));
        let cut = one(b"good\n\xe2\x82", documents, Errors::Strict).unwrap_err();
        assert!(matches!(cut.kind, Kind::Training { byte: Some(5), .. }), "{cut}");
    }
}

#[test]
fn replace_puts_a_mark_and_counts_the_document() {
    let (got, report) = one(b"a\xffb\nc\xe2\x82\n\xe2\x82", Documents::Lines, Errors::Replace).unwrap();
    assert_eq!(got, ["a\u{fffd}b", "c\u{fffd}", "\u{fffd}"]);
    assert_eq!((report.replaced, report.skipped), (3, 0));
    let (got, report) = one(b"a\xffb\nc", Documents::File, Errors::Replace).unwrap();
    assert_eq!(got, ["a\u{fffd}b\nc"]);
    assert_eq!(report.replaced, 1);
}

#[test]
fn skip_leaves_the_document_out_and_counts_it() {
    let bytes = b"a\n\xffb\r\nc\r\nd\xe2\x82\ne\xe2";
    let (got, report) = one(bytes, Documents::Lines, Errors::Skip).unwrap();
    assert_eq!(got, ["a", "c"]);
    assert_eq!(report, CorpusReport { documents: 2, bytes: bytes.len() as u64, skipped: 3, replaced: 0 });
    let (got, report) = one(b"a\n\xffb", Documents::File, Errors::Skip).unwrap();
    assert_eq!((got.len(), report.skipped), (0, 1));
}

#[test]
fn a_compressed_file_is_refused_whatever_becomes_of_bad_text() {
    for errors in [Errors::Strict, Errors::Replace, Errors::Skip] {
        for documents in [Documents::File, Documents::Lines] {
            let error = one(b"\x1f\x8b\x08\0\n\0\0", documents, errors).unwrap_err();
            assert!(matches!(error.kind, Kind::Training { byte: None, .. }), "{error}");
            assert!(error.to_string().contains("a.txt: is compressed (gzip)"), "{error}");
        }
    }
    let text = b"BZh9 is text, and so is a short one";
    assert_eq!(
        one(text, Documents::File, Errors::Strict).unwrap().0,
        ["BZh9 is text, and so is a short one"]
    );
    assert_eq!(one(b"BZ", Documents::Lines, Errors::Strict).unwrap().0, ["BZ"]);
}

#[test]
fn a_missing_file_and_a_folder_are_errors_of_the_file_system() {
    let folder = Folder::new();
    for documents in [Documents::File, Documents::Lines] {
        for path in [folder.0.join("missing"), folder.0.clone()] {
            let error = read(std::slice::from_ref(&path), documents, Errors::Skip).unwrap_err();
            assert!(matches!(error.kind, Kind::Os(_)), "{error}");
            assert_eq!(error.path.as_ref(), Some(&path));
        }
    }
}

#[test]
fn documents_longer_than_a_block_and_a_batch_arrive_whole() {
    let folder = Folder::new();
    let long = "é".repeat(BATCH / 2 + 3);
    let short = "x\n".repeat(BLOCK);
    let path = folder.file("long", format!("a\n{long}\r\nb\n{short}").as_bytes());
    let mut batches = 0;
    let mut got: Vec<String> = Vec::new();
    let mut feed = |batch: &[&str]| {
        batches += 1;
        got.extend(batch.iter().map(|&document| document.to_owned()));
        Ok(())
    };
    read_files(&[path], Documents::Lines, Errors::Strict, &mut feed, &Unwatched).unwrap();
    assert!(batches > 1);
    assert_eq!(got.len(), 3 + BLOCK);
    assert!(got[0] == "a" && got[1] == long && got[2] == "b");
    assert!(got[3..].iter().all(|line| line == "x"));
}

#[test]
fn what_the_caller_says_ends_the_reading() {
    struct Stop;
    impl Watch for Stop {
        fn poll(&self) -> Result<()> {
            Err(tokenmill_core::watch::cancelled())
        }
        fn progress(&self, _: &'static str, _: u64, _: u64) {}
    }
    let folder = Folder::new();
    let paths = [folder.file("a", b"a")];
    let stopped = read_files(&paths, Documents::File, Errors::Strict, &mut |_| Ok(()), &Stop);
    assert!(matches!(stopped.unwrap_err().kind, Kind::Cancelled));
    let mut refuse = |_: &[&str]| Err(Error::training("no"));
    assert!(read_files(&paths, Documents::File, Errors::Strict, &mut refuse, &Unwatched).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lines_are_those_of_the_standard_library(text in "[ab\r\né]{0,40}") {
        let (got, _) = one(text.as_bytes(), Documents::Lines, Errors::Strict).unwrap();
        prop_assert_eq!(got, text.lines().map(str::to_owned).collect::<Vec<_>>());
    }
}

#[cfg(unix)]
#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
mod pipes {
    use super::*;
    use std::process::Command;

    fn pipe(folder: &Folder) -> PathBuf {
        let path = folder.0.join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// Cancels from the third poll on.
    struct Third(AtomicU64);

    impl Watch for Third {
        fn poll(&self) -> Result<()> {
            if self.0.fetch_add(1, Ordering::Relaxed) < 2 {
                Ok(())
            } else {
                Err(tokenmill_core::watch::cancelled())
            }
        }

        fn progress(&self, _: &'static str, _: u64, _: u64) {}
    }

    #[test]
    fn a_pipe_is_read_once_like_a_file() {
        let folder = Folder::new();
        let (pipe, text) = (pipe(&folder), "one\ntwo é\n".repeat(100_000));
        for documents in [Documents::File, Documents::Lines] {
            let (to, sent) = (pipe.clone(), text.clone());
            let writer = std::thread::spawn(move || std::fs::write(to, sent).unwrap());
            let from_pipe = read(&[pipe.clone(), folder.file("b", b"b")], documents, Errors::Strict).unwrap();
            writer.join().unwrap();
            let files = [folder.file("a", text.as_bytes()), folder.file("b", b"b")];
            assert!(from_pipe == read(&files, documents, Errors::Strict).unwrap());
        }
    }

    #[test]
    fn a_pipe_that_is_given_twice_is_refused_before_anything_is_read() {
        let folder = Folder::new();
        let pipe = pipe(&folder);
        let again = folder.0.join(".").join("pipe");
        let error = read(&[pipe, again.clone()], Documents::File, Errors::Strict).unwrap_err();
        assert_eq!(error.path.as_deref(), Some(again.as_path()));
        assert!(error.to_string().contains("given twice"), "{error}");
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_given_up_when_the_watch_says_so() {
        let folder = Folder::new();
        let pipe = pipe(&folder);
        let mut feed = |_: &[&str]| Ok(());
        let watch = Third(AtomicU64::new(0));
        let stopped =
            read_files(std::slice::from_ref(&pipe), Documents::File, Errors::Strict, &mut feed, &watch);
        assert!(matches!(stopped.unwrap_err().kind, Kind::Cancelled));
        // No thread still waits for the pipe: the next reader gets all of its data.
        let to = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, "whole").unwrap());
        assert_eq!(read(&[pipe], Documents::File, Errors::Strict).unwrap().0, ["whole"]);
        writer.join().unwrap();
    }
}
