//! The reader of GGUF files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("vocab.gguf", bytes, &[]));
