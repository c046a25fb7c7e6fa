use super::*;

/// An image of two arrays and a number, and its bytes.
fn image() -> Vec<u8> {
    let mut image = ImageWriter::new("1.2.3");
    image.array(&[1_u8, 2, 3]);
    image.number(77);
    image.array(&[[5_u64, 6], [7, 8]]);
    image.finish()
}

fn check(mut reader: ImageReader) -> Result<(), ImageError> {
    assert_eq!(*reader.array::<u8>()?, [1, 2, 3]);
    assert_eq!(reader.number()?, 77);
    assert_eq!(*reader.array::<[u64; 2]>()?, [[5, 6], [7, 8]]);
    reader.end()
}

#[test]
fn an_image_is_read_as_it_was_written() {
    let bytes = image();
    let image = Image::of_bytes(&bytes, "1.2.3").unwrap();
    assert_eq!(image.reader().size(), bytes.len());
    assert_eq!(check(image.reader()), Ok(()));
    let mut reader = image.reader();
    assert!(matches!(reader.number_below(3), Err(ImageError::Inconsistent(_))));
    assert!(matches!(image.reader().end(), Err(ImageError::Inconsistent(_))));
    // Read as something else, it ends too early or too late.
    let mut reader = image.reader();
    assert!(matches!(reader.array::<[u64; 99]>(), Err(ImageError::Inconsistent(_))));
    assert!(matches!(image.reader().array_of::<u8>(4), Err(ImageError::Inconsistent(_))));
}

#[cfg(all(unix, not(miri)))]
#[test]
fn a_mapped_image_outlives_its_file() {
    let path = std::env::temp_dir().join(format!("tokenmill-image-{}", std::process::id()));
    std::fs::write(&path, image()).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let image = Image::map(&file, "1.2.3").unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();
    drop(file);
    let mut reader = image.reader();
    let array = reader.array::<u8>().unwrap();
    assert_eq!(check(image.reader()), Ok(()));
    drop((image, reader));
    assert_eq!((&*array, array.memory()), (&[1, 2, 3][..], 0));
}

#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let bytes = image();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let error = Image::of_bytes(&changed, "1.2.3").unwrap_err();
            let want = match at {
                0..AT_LAYOUT => matches!(error, ImageError::NotAnImage),
                AT_MACHINE..AT_SIZE => matches!(error, ImageError::OtherMachine),
                AT_SIZE..AT_HASH => matches!(error, ImageError::Size { .. }),
                _ => matches!(error, ImageError::Changed),
            };
            assert!(want, "byte {at}: {error:?}");
        }
    }
    for length in 0..bytes.len() {
        let error = Image::of_bytes(&bytes[..length], "1.2.3").unwrap_err();
        assert!(matches!(error, ImageError::Size { .. } | ImageError::NotAnImage), "{length}: {error:?}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(Image::of_bytes(&longer, "1.2.3"), Err(ImageError::Size { .. })));
}

#[test]
fn images_of_other_versions_are_refused() {
    let other = |release| Image::of_bytes(&image(), release).err();
    assert_eq!(other("1.2.3"), None);
    assert_eq!(other("1.2.4"), Some(ImageError::OtherVersion("1.2.3".to_owned())));
    // The layout may change between releases.
    let mut writer = ImageWriter::new("1.2.3");
    writer.0[AT_LAYOUT] ^= 0x40;
    let error = Image::of_bytes(&writer.finish(), "1.2.3").unwrap_err();
    assert_eq!(error, ImageError::OtherVersion("1.2.3".to_owned()));
}

/// Writes a table, reads it back, and gives both to a check.
fn round_trip<T: InImage>(table: &T, check: impl Fn(&T)) {
    check(table);
    let mut writer = ImageWriter::new("1");
    writer.optional(None::<&T>);
    writer.optional(Some(table));
    let image = Image::of_bytes(&writer.finish(), "1").unwrap();
    let mut reader = image.reader();
    assert!(reader.optional::<T>().unwrap().is_none());
    let again = reader.optional::<T>().unwrap().unwrap();
    reader.end().unwrap();
    check(&again);
    // What was read is written again as it was.
    let mut twice = ImageWriter::new("1");
    twice.optional(None::<&T>);
    twice.optional(Some(&again));
    assert_eq!(Image::of_bytes(&twice.finish(), "1").unwrap().0.bytes(), image.0.bytes());
}

#[test]
fn tables_are_read_as_they_were_written() {
    use crate::short_table::{NumberTable, hash, key_at};
    use crate::{Automaton, MergeTable, NO_KEY, PairTable, State};

    let mut merges = MergeTable::with_capacity(10);
    (0..5000_u32).for_each(|i| assert!(merges.insert(i % 700, i / 700, i)));
    round_trip(&merges, |merges| {
        assert_eq!((merges.len(), merges.get(3, 2), merges.get(600, 7)), (5000, 1403, crate::NO_MERGE));
        assert!((0..5000).all(|i| merges.get(i % 700, i / 700) == i));
    });
    let pairs: Vec<_> = (0..5000_u32).map(|i| ((i, i + 1), (i, 7))).collect();
    round_trip(&PairTable::new(&pairs).unwrap(), |table| {
        assert!(pairs.iter().all(|&((left, right), value)| table.get(left, right) == Some(value)));
        assert_eq!(table.get(1, 1), None);
    });
    let words: Vec<Vec<u8>> = (0..2000_u32).map(|i| format!("{i}x").into_bytes()).collect();
    let keys = || words.iter().map(|word| key_at(word, 0, word.len()));
    let mut numbers = NumberTable::for_keys(words.len());
    let mut left_out = Vec::new();
    for (key, number) in keys().zip(0..) {
        if !numbers.insert(key, hash(key), number) {
            left_out.push(number);
        }
    }
    round_trip(&numbers, |numbers| {
        let mut all = keys().zip(0..).filter(|(_, number)| !left_out.contains(number));
        assert!(all.all(|(key, number)| numbers.get(key, hash(key)) == Some(number)));
    });
    let automaton = Automaton::new((0..).zip(words.iter().map(Vec::as_slice)));
    round_trip(&automaton, |automaton| {
        for (word, number) in words.iter().zip(0..) {
            let end = word.iter().fold(State::START, |state, &byte| automaton.step(state, byte));
            assert_eq!(automaton.longest(end), number);
        }
        assert_eq!((automaton.shorter(5), automaton.shorter(15), automaton.longest_key()), (NO_KEY, 5, 5));
    });
}

#[test]
fn a_table_of_an_image_is_copied_before_it_is_changed() {
    let mut merges = crate::MergeTable::with_capacity(10);
    (256..2000_u32).for_each(|i| assert!(merges.insert(i, 7, i)));
    let mut writer = ImageWriter::new("1");
    merges.write(&mut writer);
    let image = Image::of_bytes(&writer.finish(), "1").unwrap();
    let mut changed = crate::MergeTable::read(&mut image.reader()).unwrap();
    assert_eq!(changed.memory(), 0);
    assert!(changed.insert(1, 2, 3) && changed.insert(3000, 2, 4) && !changed.insert(300, 7, 9));
    let again = crate::MergeTable::read(&mut image.reader()).unwrap();
    assert_eq!((changed.get(1, 2), changed.get(3000, 2), changed.get(1999, 7)), (3, 4, 1999));
    assert_eq!((again.get(1, 2), again.get(3000, 2)), (crate::NO_MERGE, crate::NO_MERGE));
    assert!(changed.memory() > 0 && again.memory() == 0);
}
