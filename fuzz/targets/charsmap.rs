//! Precompiled character maps, as both libraries read them. The map comes first, then two bytes of
//! length from the end: the text that is normalized.
#![no_main]

use tokenmill_core::aligned::AlignedText;
use tokenmill_core::description::{Normalizer, SentencePieceRules};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::normalize::Normalizers;
use tokenmill_core::span::Span;
use tokenmill_core::watch::Ticker;
use tokenmill_fuzz::patience::{Patience, checked};

const TEXTS: [&str; 3] = ["", "ﬁ ½ ｱﾞ e\u{301}\u{323} 한\u{1112}\u{1161} 👩‍🚀\0\u{ad}Å", "  a\u{3000}b "];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (map, length) = bytes.split_at(bytes.len().saturating_sub(2));
    let length = length.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
    let (map, text) = map.split_at(map.len().saturating_sub(length));
    let own = String::from_utf8_lossy(text);
    let rules = SentencePieceRules {
        charsmap: map.into(),
        user_defined: vec!["½ ".to_owned()],
        remove_extra_whitespaces: true,
        escape_whitespaces: true,
        add_dummy_prefix: true,
        treat_whitespace_as_suffix: false,
    };
    for step in [Normalizer::Precompiled(map.into()), Normalizer::SentencePiece(rules)] {
        let Some(normalizers) = checked("compiling a map", Normalizers::compile(&[step], &Hooks::default()))
        else {
            continue;
        };
        for text in TEXTS.into_iter().chain([&*own]) {
            let patience = Patience::default();
            let mut buffers = Default::default();
            let piece = AlignedText::original(text, 0);
            let normalized = normalizers.apply(piece, &mut buffers, &mut Ticker::new(&patience));
            let Some(normalized) = checked("normalizing", normalized) else { continue };
            let mut before = 0;
            for (at, character) in normalized.text.char_indices() {
                let span = normalized.origins.span(Span::new(at, at + character.len_utf8()));
                assert!(span.start >= before && span.end <= text.len(), "origins go back or leave the text");
                assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
                before = span.start;
            }
            let untracked = checked("normalizing a literal", normalizers.apply_to(text));
            assert_eq!(untracked.as_deref(), Some(normalized.text));
        }
    }
});
