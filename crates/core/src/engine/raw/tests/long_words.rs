//! Raw words and gaps of many bytes against all stages.
use proptest::prelude::*;

use super::check;
use super::words::{PIECES, engine, models, normalizers, pre_tokenizers};

/// Words and gaps up to 300 bytes, around the lengths that keys, caches and spans in words can have.
fn long_texts() -> impl Strategy<Value = String> {
    const SIZES: [usize; 20] =
        [1, 7, 8, 15, 16, 17, 63, 64, 65, 126, 127, 128, 129, 130, 253, 254, 255, 256, 257, 300];
    let word =
        (prop::sample::select(&PIECES[..]), prop::sample::select(&SIZES[..])).prop_map(|(piece, size)| {
            let unit = if piece.chars().all(char::is_whitespace) { "ab" } else { piece };
            unit.chars().cycle().take(size.div_ceil(unit.len()) * unit.chars().count()).collect::<String>()
        });
    let gap = prop_oneof![
        6 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just(" <s> ".to_owned()),
        1 => (1..300_usize).prop_map(|count| " ".repeat(count)),
    ];
    let words = prop::collection::vec(word, 1..6);
    (words, prop::collection::vec((any::<prop::sample::Index>(), gap), 0..80))
        .prop_map(|(words, picks)| picks.iter().map(|(index, gap)| index.get(&words).clone() + gap).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 4 } else { 64 }))]
    #[test]
    fn long_words_and_gaps_are_as_in_the_text(
        text in long_texts(),
        cache_bytes in prop_oneof![Just(0), Just(20_000), Just(1 << 20)],
    ) {
        for model in &models() {
            for normalizer in normalizers() {
                for pre_tokenizer in pre_tokenizers() {
                    let engine = engine(model, &normalizer, &pre_tokenizer).with_cache_bytes(Some(cache_bytes));
                    if engine.stages.raw.is_some() {
                        check(&engine, &text)?;
                    }
                }
            }
        }
    }
}
