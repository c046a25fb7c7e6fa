//! The reader of tokenizer.json.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("tokenizer.json", bytes, &[]));
