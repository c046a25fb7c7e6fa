//! Encoding with any small tokenizer, any text: every way gives the same, and the laws hold.
#![no_main]

use tokenmill_core::compile::compile;
use tokenmill_fuzz::laws;
use tokenmill_fuzz::making::Encoding;
use tokenmill_fuzz::patience::checked;

libfuzzer_sys::fuzz_target!(|made: Encoding| {
    if let Some(engine) = checked("compiling", compile(made.description)) {
        laws::encode(&engine, &made.text);
    }
});
