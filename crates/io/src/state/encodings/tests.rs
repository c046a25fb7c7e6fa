//! Written encodings can be read; damaged or forged bytes are refused, or give consistent encodings.
use proptest::prelude::*;

use super::*;

fn sequence() -> impl Strategy<Value = Sequence> {
    let item = (any::<TokenId>(), 0..1_usize << 40, 0..9_usize, any::<(usize, usize)>(), any::<u32>());
    let items = prop::collection::vec((item, prop::option::of(".{0,3}")), 0..6);
    items.prop_map(|items| {
        let mut sequence = Sequence::default();
        for (at, ((id, start, length, offset, word), surface)) in items.into_iter().enumerate() {
            sequence.encoding.ids.push(id);
            sequence.encoding.byte_offsets.push(Span::new(start, start + length));
            sequence.encoding.words.push(word);
            sequence.encoding.surfaces.extend(surface.map(|surface| (at, surface)));
            sequence.offsets.push(offset);
        }
        sequence
    })
}

fn row() -> impl Strategy<Value = EncodingRow> {
    let sequences = prop::collection::vec(sequence(), 0..3);
    let parts = prop::collection::vec((0..4_usize, any::<[u32; 2]>(), any::<[u8; 2]>()), 0..4);
    let windows = prop::collection::vec(parts, 1..4);
    (sequences, windows, prop::option::of(".{0,3}")).prop_map(|(sequences, windows, pad)| {
        let part = |(kind, [id, type_id], [from, count]): (usize, [u32; 2], [u8; 2])| {
            let count = usize::from(count);
            match sequences.get(kind).map(|sequence| sequence.offsets.len()) {
                Some(length) => {
                    let start = usize::from(from) % (length + 1);
                    let range = Span::new(start, start + count % (length + 1 - start));
                    OutputPart::Tokens { second: kind == 1, range, type_id }
                }
                None if kind == 2 => OutputPart::Special { id, type_id },
                None => OutputPart::Padding { count, id, type_id },
            }
        };
        let windows = windows.into_iter().map(|parts| parts.into_iter().map(part).collect()).collect();
        EncodingRow { windows, pad_token: pad.map(Into::into), sequences: sequences.into() }
    })
}

fn named(rows: &[EncodingRow]) -> EncodingNames {
    EncodingNames::of(
        rows,
        |id| (id % 5 > 0).then(|| format!("t{id}")),
        |id| (id % 3 > 0).then(|| format!("a{id}")),
    )
}

/// Bytes with a header that fits them.
fn sealed(body: &[u8]) -> Vec<u8> {
    HEADER.seal([HEADER.space().as_slice(), body].concat())
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(row(), 0..4)) {
        let names = named(&rows);
        let bytes = write(&names, &rows);
        prop_assert_eq!(read(&bytes).unwrap(), (names.clone(), rows.clone()));
        for id in rows.iter().flat_map(|row| row.sequences.iter()).flat_map(|one| &one.encoding.ids) {
            let expected = (id % 5 > 0).then(|| format!("t{id}"));
            prop_assert_eq!(names.token(*id), expected.as_deref());
        }
    }

    #[test]
    fn damaged_bytes_are_refused(rows in prop::collection::vec(row(), 1..3), at: prop::sample::Index, bit in 0..8) {
        let mut bytes = write(&named(&rows), &rows);
        let at = at.index(bytes.len());
        prop_assert!(read(&bytes[..at]).is_err());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn a_forged_body_is_consistent_or_refused(
        rows in prop::collection::vec(row(), 1..3),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut body = write(&named(&rows), &rows).split_off(HEADER.space().len());
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Ok((_, rows)) = read(&sealed(&body)) {
            for row in rows {
                for sequence in row.sequences.iter() {
                    let count = sequence.offsets.len();
                    let Encoding { ids, byte_offsets, words, surfaces } = &sequence.encoding;
                    prop_assert_eq!([ids.len(), byte_offsets.len(), words.len()], [count; 3]);
                    prop_assert!(surfaces.iter().all(|(at, _)| *at < count));
                }
                for part in row.windows.iter().flatten() {
                    if let OutputPart::Tokens { second, range, .. } = part {
                        prop_assert!(range.end <= row.sequences[usize::from(*second)].offsets.len());
                    }
                }
            }
        }
    }
}

#[test]
fn each_defect_is_named() {
    let defect = |bytes: &[u8]| match read(bytes).unwrap_err().into_kind() {
        tokenmill_core::error::Kind::Format { defect, .. } => defect,
        other => panic!("{other:?}"),
    };
    let good = write(&EncodingNames::default(), &[]);
    assert_eq!(read(&good).unwrap(), (EncodingNames::default(), Vec::new()));
    assert_eq!(defect(b"tokenmill"), Defect::WrongKind);
    let mut newer = good.clone();
    newer[HEADER.magic.len()] = 2;
    assert_eq!(defect(&newer), Defect::Version);
    assert_eq!(defect(&[good.as_slice(), &[0]].concat()), Defect::Inconsistent);
    assert_eq!(defect(&sealed(&[0, 0])), Defect::Truncated);
    assert_eq!(defect(&sealed(&[0, 0, 0, 0])), Defect::Range);
    // A count beyond the end, ids that do not ascend, three texts, no window, a part beyond the end of its text.
    for body in [
        &[200, 1][..],
        &[2, 1, 0, 0, 0, 0, 0],
        &[0, 0, 1, 3, 0, 0, 0],
        &[0, 0, 1, 0, 0, 0],
        &[0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0],
        &[0, 0, 1, 0, 1, 1, 4, 0, 0, 0, 0],
    ] {
        assert_eq!(defect(&sealed(body)), Defect::Range, "{body:?}");
    }
    assert_eq!(defect(&sealed(&[1, 0, 1, 255])), Defect::Encoding);
}
