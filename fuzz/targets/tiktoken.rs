//! The reader of ranks in base64.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokenmill_fuzz::readers::read("ranks.tiktoken", bytes, &[]));
