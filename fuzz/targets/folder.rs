//! Folders as transformers keeps them: a tokenizer.json of ours, and from the input tokenizer_config.json,
//! config.json and special_tokens_map.json, parted by zero bytes. A fourth part is a tokenizer.json.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use tokenmill_core::watch::Unwatched;
use tokenmill_fuzz::patience::checked;
use tokenmill_fuzz::readers;
use tokenmill_io::{LoadOptions, load, state};

/// A folder in memory where there is one, for this process alone.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = base.join(format!("tokenmill-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
});

const TOKENIZERS: [&str; 3] = [
    include_str!("folder/bpe.json"),
    include_str!("folder/word_piece.json"),
    include_str!("folder/unigram.json"),
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (&which, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut parts = rest.splitn(4, |&byte| byte == 0);
    for name in ["tokenizer_config.json", "config.json", "special_tokens_map.json"] {
        let path = FOLDER.join(name);
        match parts.next() {
            Some(part) if !part.is_empty() => fs::write(path, part).expect("a file"),
            _ => _ = fs::remove_file(path),
        }
    }
    let own = TOKENIZERS[usize::from(which) % TOKENIZERS.len()].as_bytes();
    fs::write(FOLDER.join("tokenizer.json"), parts.next().unwrap_or(own)).expect("a file");
    let options = LoadOptions::default();
    let strict = LoadOptions { strict: true, ..LoadOptions::default() };
    let lenient = checked("loading", load(&FOLDER, &options, &Unwatched));
    let careful = checked("strict loading", load(&FOLDER, &strict, &Unwatched));
    if let Some((careful, _)) = careful {
        let same = lenient.as_ref().map(|(engine, _)| state::write(engine.description()));
        assert_eq!(same, Some(state::write(careful.description())), "strictness changes the meaning");
    }
    if let Some((engine, _)) = lenient {
        readers::compiled(engine);
    }
});
