//! The reader of SentencePiece models.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("tokenizer.model", bytes, &[]));
