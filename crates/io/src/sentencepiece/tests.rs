use tokenmill_core::description::{Description, Merges, ModelDescription, Normalizer, PieceKind};
use tokenmill_core::error::{Error, Kind, Result};

use super::wire::Writer;
use super::{is_like, write};
use crate::report::Report;

/// Parses strictly.
fn parse(bytes: &[u8]) -> Result<Description> {
    super::parse(bytes, &mut Report::new(true))
}

fn piece(text: &[u8], score: f32, kind: u64) -> Vec<u8> {
    let mut piece = Writer::default();
    piece.bytes(1, text);
    piece.float(2, score);
    piece.varint(3, kind);
    piece.0
}

fn file(pieces: &[Vec<u8>], trainer: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Writer::default();
    for piece in pieces {
        out.bytes(1, piece);
    }
    let mut message = Writer::default();
    for &(number, value) in trainer {
        message.varint(number, value);
    }
    out.bytes(2, &message.0);
    out.0
}

fn small() -> Vec<Vec<u8>> {
    vec![piece(b"<unk>", 0.0, 2), piece(b"<s>", 0.0, 3), piece("▁a".as_bytes(), -1.5, 1)]
}

fn with(extra: Vec<u8>) -> Vec<u8> {
    file(&[small(), vec![extra]].concat(), &[])
}

fn fault(bytes: &[u8]) -> (String, &'static str) {
    let error: Error = parse(bytes).unwrap_err();
    let Kind::Format { defect, .. } = &error.kind else { panic!("{error}") };
    (error.field.to_string(), defect.as_str())
}

#[test]
fn pieces_kinds_and_roles_are_read() {
    let description = parse(&file(&small(), &[(3, 2)])).unwrap();
    let ModelDescription::Bpe(model) = &description.model else { panic!() };
    assert_eq!(model.unk, Some(0));
    let Merges::ByScore { scores, kinds } = &model.merges else { panic!() };
    assert_eq!(scores, &[0.0, 0.0, -1.5]);
    assert_eq!(kinds, &[PieceKind::Unknown, PieceKind::Control, PieceKind::Normal]);
    assert_eq!((description.roles.bos, description.roles.eos), (Some(1), None));
    assert_eq!(description.added_tokens.len(), 1);
    let ModelDescription::Unigram(model) = parse(&file(&small(), &[])).unwrap().model else { panic!() };
    assert_eq!(model.unk_score.to_bits(), (-11.5_f64).to_bits());
}

#[test]
fn unknown_fields_and_other_orders_are_read() {
    let mut out = Writer::default();
    let mut trainer = Writer::default();
    trainer.varint(3, 2);
    out.bytes(2, &trainer.0);
    out.varint(200, 7);
    let mut rules = Writer::default();
    rules.flag(3, false);
    out.bytes(3, &rules.0);
    for piece in small() {
        out.bytes(1, &piece);
    }
    assert!(is_like(&out.0));
    let description = parse(&out.0).unwrap();
    assert!(matches!(description.model, ModelDescription::Bpe(_)));
    let [Normalizer::SentencePiece(rules)] = description.normalizer.as_slice() else { panic!() };
    assert!(!rules.add_dummy_prefix && rules.escape_whitespaces);
}

#[test]
fn faults_have_a_place_and_a_kind() {
    let case = |bytes: &[u8], field: &str, kind: &str| {
        let (found_field, found_kind) = fault(bytes);
        assert_eq!((found_field.as_str(), found_kind), (field, kind));
    };
    let whole = file(&small(), &[]);
    case(&[], "", "empty");
    case(&whole[..5], "", "protobuf");
    case(&whole[..whole.len() - 1 - 2], "", "protobuf");
    case(&file(&[], &[]), "pieces", "missing");
    case(&file(&small()[1..], &[]), "pieces", "missing");
    case(&with(piece(b"<unk2>", 0.0, 2)), "pieces[3]", "duplicate");
    case(&with(piece(b"", 0.0, 1)), "pieces[3].piece", "empty");
    case(&with(piece(&[0xff], 0.0, 1)), "pieces[3].piece", "encoding");
    case(&with(piece("▁a".as_bytes(), 0.0, 1)), "pieces[3]", "duplicate");
    case(&with(piece(b"x", f32::NAN, 1)), "pieces[3].score", "range");
    case(&with(piece(b"x", f32::NEG_INFINITY, 1)), "pieces[3].score", "range");
    case(&with(piece(b"x", 0.0, 99)), "pieces[3].type", "type");
    case(&with(piece(b"x", 0.0, 0)), "pieces[3].type", "type");
    case(&with(piece(b"<0x-1>", 0.0, 6)), "pieces[3]", "type");
    case(&with(piece(b"<0x41>", 0.0, 6)), "pieces[3]", "inconsistent");
    case(&with(vec![0x0b]), "pieces[3]", "protobuf");
    case(&with(piece(&[0xff], 0.0, 3)), "pieces[3].piece", "encoding");
    case(&with(piece(b"a\0b", 0.0, 1)), "pieces[3].piece", "range");
    case(&file(&small(), &[(3, 99)]), "trainer_spec.model_type", "type");
    case(&with(piece(&vec![b'x'; 70 << 10], 0.0, 1)), "pieces[3].piece", "limit");
    case(&file(&small(), &[(3, 3)]), "trainer_spec.model_type", "unsupported");
    case(&file(&small(), &[(3, 4)]), "pieces[2]", "unsupported");
    case(&file(&small(), &[(35, 1)]), "pieces", "missing");
    let mut group = whole.clone();
    group.extend([0x33]);
    case(&group, "", "protobuf");
    let mut denormalizer = Writer::default();
    denormalizer.bytes(2, b"abcd");
    let mut all = Writer(whole);
    all.bytes(5, &denormalizer.0);
    case(&all.0, "denormalizer_spec.add_dummy_prefix", "unsupported");
}

#[test]
fn odd_but_real_files_are_read() {
    assert!(parse(&with(piece(b"x", -0.0, 1))).is_ok());
    assert!(parse(&with(piece(b"x", 1e-40, 5))).is_ok());
    let tolerated = |bytes: &[u8]| {
        let mut report = Report::new(false);
        super::parse(bytes, &mut report).unwrap();
        let found: Vec<(String, &str)> =
            report.tolerated().iter().map(|found| (found.field.clone(), found.defect.as_str())).collect();
        found
    };
    let case = |bytes: &[u8], field: &str, kind: &str| {
        assert_eq!(tolerated(bytes), [(field.to_owned(), kind)]);
    };
    case(&with(piece(b"a\0b", 0.0, 1)), "pieces[3].piece", "range");
    case(&with(piece(&[0xff], 0.0, 1)), "pieces[3].piece", "encoding");
    case(&with(piece(b"x", 0.0, 99)), "pieces[3].type", "type");
    case(&file(&small(), &[(3, 99)]), "trainer_spec.model_type", "type");
    let bytes: Vec<Vec<u8>> =
        (0..=255).map(|byte| piece(format!("<0x{byte:02X}>").as_bytes(), 0.0, 6)).collect();
    let found = |kinds: [&'static str; 2]| kinds.map(|kind| ("pieces".to_owned(), kind));
    assert_eq!(tolerated(&file(&bytes, &[(35, 1)])), found(["empty", "missing"]));
    // Merges need no ordinary piece, and a byte piece needs no unknown piece.
    case(&file(&bytes, &[(35, 1), (3, 2)]), "pieces", "missing");
    case(&file(&[bytes, vec![piece(b"x", 0.0, 1)]].concat(), &[(35, 1)]), "pieces", "missing");
    let infinite = [small(), vec![piece(b"x", f32::INFINITY, 1)]].concat();
    case(&file(&infinite, &[(3, 2)]), "pieces[3].score", "range");
}

#[test]
fn what_is_written_is_the_same_model() {
    let mut bytes: Vec<Vec<u8>> = small();
    bytes.extend((0..=255).map(|byte| piece(format!("<0x{byte:02X}>").as_bytes(), 0.0, 6)));
    bytes.push(piece("☃".as_bytes(), -3.0, 4));
    for model_type in [1, 2] {
        let description = parse(&file(&bytes, &[(3, model_type), (35, 1), (24, 1)])).unwrap();
        let written = write(&description).unwrap();
        assert_eq!(parse(&written).unwrap(), description);
        assert_eq!(write(&parse(&written).unwrap()).unwrap(), written);
    }
}

#[test]
fn texts_do_not_look_like_models() {
    for text in ["\n[PAD]\n[UNK]\n", "\n#\nabc\n", "IQ== 0\n", "{\"a\": 1}", "\n\n\n", "\n"] {
        assert!(!is_like(text.as_bytes()), "{text:?}");
    }
    assert!(is_like(&file(&small(), &[])));
    assert!(is_like(&file(&small(), &[])[..6]));
}
