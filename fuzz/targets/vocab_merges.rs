//! The reader of vocab.json with merges.txt: both in one input, parted by the first zero byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |&byte| byte == 0);
    let (vocab, merges) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    tokenmill_fuzz::readers::read("vocab.json", vocab, &[("merges.txt", merges)]);
    tokenmill_fuzz::readers::read("merges.txt", merges, &[("vocab.json", vocab)]);
});
