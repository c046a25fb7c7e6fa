//! Merges by score.
use proptest::prelude::*;
use tokenmill_reference::{ScoredPiece, ScoredPieceKind, encode_pieces};

use super::{Compiled, ends_of, token_list};
use crate::description::{Alphabet, BpeDescription, Merges, PieceKind};
use crate::error::Kind;
use crate::ids::to_u32;

fn compile(pieces: &[(&str, f32, PieceKind)], fuse_unk: bool, byte_fallback: bool) -> Compiled {
    let tokens: Vec<&str> = pieces.iter().map(|piece| piece.0).collect();
    let merges = Merges::ByScore {
        scores: pieces.iter().map(|piece| piece.1).collect(),
        kinds: pieces.iter().map(|piece| piece.2).collect(),
    };
    let unk = tokens.iter().position(|&token| token == "<unk>").map(to_u32);
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, token_list(&tokens), merges);
    Compiled::new(BpeDescription { unk, fuse_unk, byte_fallback, ..plain })
}

/// The result by the definition.
fn twin(
    pieces: &[(&str, f32, PieceKind)],
    fuse_unk: bool,
    byte_fallback: bool,
    text: &str,
) -> (Vec<u32>, Vec<u32>) {
    let kind = |kind| match kind {
        PieceKind::Normal => ScoredPieceKind::Normal,
        PieceKind::UserDefined => ScoredPieceKind::UserDefined,
        PieceKind::Unused => ScoredPieceKind::Unused,
        PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => ScoredPieceKind::Reserved,
    };
    let known: Vec<ScoredPiece> =
        pieces.iter().map(|p| ScoredPiece { text: p.0.to_owned(), score: p.1, kind: kind(p.2) }).collect();
    let find = |text: &str| pieces.iter().position(|piece| piece.0 == text);
    let mut out: Vec<(u32, usize)> = Vec::new();
    let mut was_unknown = false;
    for (piece, text) in encode_pieces(&known, text) {
        let bytes: Option<Vec<usize>> = text.bytes().map(|byte| find(&format!("<0x{byte:02X}>"))).collect();
        match (piece, bytes) {
            (Some(piece), _) => out.push((to_u32(piece), text.len())),
            (None, Some(bytes)) if byte_fallback => {
                out.extend(bytes.into_iter().map(|byte| (to_u32(byte), 1)));
            }
            _ if was_unknown && fuse_unk => out.last_mut().unwrap().1 += text.len(),
            _ => {
                out.push((0, text.len()));
                was_unknown = true;
                continue;
            }
        }
        was_unknown = out.last().is_some_and(|last| last.0 == 0);
    }
    (out.iter().map(|part| part.0).collect(), ends_of(out.iter().map(|part| part.1)))
}

type Entry = (String, f32, PieceKind);

fn vocabularies() -> impl Strategy<Value = Vec<Entry>> {
    let scores = prop::sample::select(vec![0.0, -0.0, -1.0, -2.0, -3.0, 0.5, -1e9, 1e-40, -16_777_217.0]);
    let normal = PieceKind::Normal;
    let kinds = vec![
        normal,
        normal,
        normal,
        PieceKind::Unused,
        PieceKind::Unused,
        PieceKind::UserDefined,
        PieceKind::Control,
    ];
    let piece = ("[abcé]|[abcé]{2}|[abcé]{3,4}", scores, prop::sample::select(kinds));
    (prop::collection::vec(piece, 1..16), any::<[bool; 3]>()).prop_map(
        |(drawn, [of_e, of_others, unused])| {
            let mut pieces: Vec<Entry> = vec![("<unk>".to_owned(), 0.0, PieceKind::Unknown)];
            let of_byte = |byte: &str| (byte.to_owned(), 0.0, PieceKind::Byte);
            pieces.extend(["<0xC3>", "<0xA9>"].into_iter().filter(|_| of_e).map(of_byte));
            pieces.extend(["<0x61>", "<0x7A>"].into_iter().filter(|_| of_others).map(of_byte));
            for piece in drawn {
                if pieces.iter().all(|other| other.0 != piece.0) {
                    // Models without unused pieces take a faster path.
                    let is_kept = unused || piece.2 != PieceKind::Unused;
                    pieces.push((piece.0, piece.1, if is_kept { piece.2 } else { NORMAL }));
                }
            }
            pieces
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn scores_mean_what_the_definition_says(
        vocabulary in vocabularies(),
        [fuse_unk, byte_fallback] in any::<[bool; 2]>(),
        texts in prop::collection::vec("[abcéz]{0,12}|[abcé]{81,120}", 6),
    ) {
        let pieces: Vec<_> = vocabulary.iter().map(|(text, score, kind)| (text.as_str(), *score, *kind)).collect();
        let compiled = compile(&pieces, fuse_unk, byte_fallback);
        for text in texts {
            let want = twin(&pieces, fuse_unk, byte_fallback, &text);
            prop_assert_eq!(compiled.spell(&text).unwrap(), want, "{}", text);
        }
    }
}

const NORMAL: PieceKind = PieceKind::Normal;

/// Ids that sentencepiece 0.2.3 gives.
#[test]
fn sentencepiece_gives_the_same() {
    let reserved = [("<unk>", 0.0, PieceKind::Unknown), ("<s>", 0.0, PieceKind::Control)];
    let check = |pieces: &[(&str, f32, PieceKind)], cases: &[(&str, &[u32])]| {
        let compiled = compile(&[&reserved[..], pieces].concat(), true, false);
        for (text, ids) in cases {
            assert_eq!(compiled.spell(text).unwrap().0, *ids, "{text}");
        }
    };
    let unused =
        [("a", -1.0, NORMAL), ("b", -2.0, NORMAL), ("ab", -3.0, PieceKind::Unused), ("abc", 0.0, NORMAL)];
    check(&unused, &[("ab", &[2, 3]), ("abc", &[5]), ("abxyab", &[2, 3, 0, 2, 3]), ("xayy<s>", &[0, 2, 0])]);
    // A character that is a reserved piece is unknown, but may still be part of longer pieces.
    let reserved_char =
        [("a", -1.0, NORMAL), ("b", -2.0, PieceKind::Control), ("ab", -3.0, NORMAL), ("cb", -3.0, NORMAL)];
    check(&reserved_char, &[("b", &[0]), ("ab", &[4]), ("acb", &[2, 5]), ("cbb", &[5, 0])]);
    let frozen = [
        ("c", -9.0, NORMAL),
        ("ab", -1.0, PieceKind::UserDefined),
        ("bc", -2.0, NORMAL),
        ("cab", 0.0, NORMAL),
    ];
    check(&frozen, &[("abc", &[3, 2]), ("cab", &[2, 3]), ("bcab", &[4, 3])]);
    // Zero ranks before minus zero: SentencePiece compares the bits.
    let zeros = [("a", 0.0, NORMAL), ("aa", 0.0, NORMAL), ("aaa", 0.0, NORMAL), ("aaaa", -0.0, NORMAL)];
    check(&zeros, &[("aaaaa", &[4, 3]), ("aaaaaaa", &[4, 5])]);
    // A character that is an unused piece is unknown.
    check(&[("a", 0.0, PieceKind::Unused), ("b", 0.0, NORMAL)], &[("aab", &[0, 3])]);
}

#[test]
fn a_long_line_without_cuts_is_spelled_in_linear_steps() {
    let pieces: Vec<(String, f32, PieceKind)> =
        (0..12_u8).map(|i| ("a".repeat(1 << i), -f32::from(i), NORMAL)).collect();
    let pieces: Vec<_> = pieces.iter().map(|(text, score, kind)| (text.as_str(), *score, *kind)).collect();
    let (ids, ends) = compile(&pieces, true, false).spell(&"a".repeat(1 << 20)).unwrap();
    assert_eq!((ids.len(), ends.len()), (1 << 9, 1 << 9));
    assert!(ids.iter().all(|&id| id == 11));
}

#[test]
fn what_cannot_be_spelled_is_an_error_without_an_unknown_token() {
    let error = compile(&[("a", 0.0, NORMAL)], true, false).spell("aaéa").unwrap_err();
    assert!(matches!(error.kind, Kind::UnknownToken { ref symbol, .. } if symbol == "é"), "{error:?}");
}
