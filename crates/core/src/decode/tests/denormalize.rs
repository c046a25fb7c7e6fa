//! A map over decoded text gives the same as the normalizer with that map gives for the whole text.
use proptest::prelude::*;

use super::{model, pieces, tokens};
use crate::aligned::AlignedText;
use crate::description::{Decoder, Decoding, Normalizer, SentencePieceRules};
use crate::hooks::Hooks;
use crate::normalize::Normalizers;
use crate::normalize::tests::charsmap::blob;
use crate::watch::{Ticker, Unwatched};

const RULES: [(&str, &str); 7] =
    [("a", "1"), ("abc", "2"), ("b b", ""), ("é", "ee"), ("e\u{301}", "é"), ("éa", "x"), ("ééé", "▁")];

fn steps() -> Decoding {
    Decoding::Steps(vec![Decoder::Fuse, Decoder::Denormalize { map: blob(&RULES).into() }])
}

fn normalized(text: &str) -> String {
    let rules = SentencePieceRules {
        charsmap: blob(&RULES).into(),
        user_defined: Vec::new(),
        add_dummy_prefix: false,
        remove_extra_whitespaces: false,
        escape_whitespaces: false,
        treat_whitespace_as_suffix: false,
    };
    let normalizers = Normalizers::compile(&[Normalizer::SentencePiece(rules)], &Hooks::default()).unwrap();
    let mut buffers = Default::default();
    let mut ticker = Ticker::new(&Unwatched);
    normalizers.apply(AlignedText::original(text, 0), &mut buffers, &mut ticker).unwrap().text.to_owned()
}

proptest! {
    #[test]
    fn it_is_the_normalizer_over_the_whole(row in prop::collection::vec("[abcé e\u{301}\0x]{0,4}", 0..8)) {
        prop_assert_eq!(pieces(&steps(), &model(), &row).concat(), normalized(&row.concat()));
    }
}

#[test]
fn text_is_held_back_only_while_a_longer_key_may_come() {
    let given = pieces(&steps(), &model(), &tokens(&["xa", "b", "x", "é", "a", "ab"]));
    assert_eq!(given, ["x", "", "1bx", "", "x", "", "1b"]);
}
