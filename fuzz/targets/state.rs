//! The reader of our own state. Inputs are what follows the checksum, which is put before it
//! here: no mutation would find it.
#![no_main]

use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use tokenmill_core::description::{Alphabet, BpeDescription, Description, Merges, Split, TokenList};
use tokenmill_fuzz::patience::checked;
use tokenmill_fuzz::readers;
use tokenmill_io::state;

const CHECKSUM: usize = 32;

/// What stands before the checksum.
static HEAD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let model = BpeDescription::plain(Alphabet::Bytes, TokenList::default(), Merges::ById);
    let mut bytes = state::write(&Description::of_bpe(&Split::Whole, model));
    let at = (0..bytes.len().saturating_sub(CHECKSUM))
        .find(|&at| Sha256::digest(&bytes[at + CHECKSUM..])[..] == bytes[at..at + CHECKSUM])
        .expect("a state has a checksum of what follows it");
    bytes.truncate(at);
    bytes
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let whole = [&HEAD, &Sha256::digest(bytes)[..], bytes].concat();
    if let Some(description) = checked("reading the state", state::parse(&whole)) {
        readers::made(description);
    }
    assert!(state::parse(bytes).is_err(), "a state without a checksum");
});
