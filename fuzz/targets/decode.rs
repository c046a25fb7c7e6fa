//! Decoding with any small tokenizer, any ids.
#![no_main]

use tokenmill_core::compile::compile;
use tokenmill_core::engine::{DecodeOptions, Undefined};
use tokenmill_fuzz::laws;
use tokenmill_fuzz::making::Decoding;
use tokenmill_fuzz::patience::checked;

libfuzzer_sys::fuzz_target!(|made: Decoding| {
    let Some(engine) = checked("compiling", compile(made.description)) else { return };
    for undefined in [Undefined::Error, Undefined::Skip, Undefined::Replace] {
        for skip_special in [false, true] {
            laws::decode(&engine, &made.ids, DecodeOptions { skip_special, undefined });
        }
    }
});
