//! The reader of BERT's vocab.txt.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("vocab.txt", bytes, &[]));
