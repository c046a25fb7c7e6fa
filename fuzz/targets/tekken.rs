//! The reader of tekken.json.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("tekken.json", bytes, &[]));
