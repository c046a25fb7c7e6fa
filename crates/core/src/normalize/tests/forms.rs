use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as Current;
use unicode_normalization_alignments::UnicodeNormalization as Reference;

use super::*;
use crate::normalize::forms::whole_text;

/// Letters, marks, jamo and decomposable characters, often adjacent.
fn texts() -> impl Strategy<Value = String> {
    let interesting = "aeoAéÅşḋ1 ﬁ①㌀が\u{3099}\u{304b}\u{301}\u{323}\u{307}\u{328}\u{345}\u{344}\u{33f}\u{5d0}\u{5b0}\u{fb1d}\
        \u{1100}\u{1112}\u{1161}\u{11a8}\u{11ab}\u{ac00}\u{ac01}\u{915}\u{93c}\u{958}\u{9c7}\u{9be}\u{9cb}\u{9d7}\u{dd9}\u{dcf}\
        \u{dca}\u{f71}\u{f72}\u{f73}\u{102e}\u{1025}\u{11131}\u{11127}\u{114b9}\u{114b0}\u{1d15e}\u{1d165}\u{16d67}\u{16d63}";
    let interesting: Vec<char> = interesting.chars().collect();
    let one = prop_oneof![8 => proptest::sample::select(interesting), 1 => any::<char>()];
    proptest::collection::vec(one, 0..12).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn the_text_is_that_of_the_libraries_with_the_same_data(text in texts()) {
        let reference = |form: Normalizer| normalized(&[form], &text).0;
        let collect = |chars: &mut dyn Iterator<Item = (char, isize)>| chars.map(|(c, _)| c).collect::<String>();
        prop_assert_eq!(reference(Normalizer::Nfc(UnicodeTables::Reference)), collect(&mut Reference::nfc(&*text)));
        prop_assert_eq!(reference(Normalizer::Nfd(UnicodeTables::Reference)), collect(&mut Reference::nfd(&*text)));
        prop_assert_eq!(reference(Normalizer::Nfkc(UnicodeTables::Reference)), collect(&mut Reference::nfkc(&*text)));
        prop_assert_eq!(reference(Normalizer::Nfkd(UnicodeTables::Reference)), collect(&mut Reference::nfkd(&*text)));
        prop_assert_eq!(reference(Normalizer::Nfc(UnicodeTables::Current)), Current::nfc(&*text).collect::<String>());
        prop_assert_eq!(reference(Normalizer::Nfd(UnicodeTables::Current)), Current::nfd(&*text).collect::<String>());
        prop_assert_eq!(reference(Normalizer::Nfkc(UnicodeTables::Current)), Current::nfkc(&*text).collect::<String>());
        prop_assert_eq!(reference(Normalizer::Nfkd(UnicodeTables::Current)), Current::nfkd(&*text).collect::<String>());
    }

    /// Clusters do not change the result, ranges included.
    #[test]
    fn clusters_are_normalized_as_the_whole_text_is(text in texts()) {
        for tables in [UnicodeTables::Reference, UnicodeTables::Current] {
            for (form, step) in [
                (Form::Nfc, Normalizer::Nfc(tables)),
                (Form::Nfd, Normalizer::Nfd(tables)),
                (Form::Nfkc, Normalizer::Nfkc(tables)),
                (Form::Nfkd, Normalizer::Nfkd(tables)),
            ] {
                let parts = whole_text(form, tables, &text);
                let want: String = parts.iter().map(|(c, _)| c).collect();
                let spans: Vec<Span> = parts.iter().map(|&(_, span)| span).collect();
                prop_assert_eq!(normalized(&[step], &text), (want, char_offsets(Text::Str(&text), &spans, &Unwatched).unwrap()));
            }
        }
    }
}

#[test]
fn a_long_run_of_marks_takes_no_time_to_speak_of() {
    let text: String = (0..200_000).map(|i| if i % 2 == 0 { '\u{301}' } else { '\u{323}' }).collect();
    let (normal, offsets) = normalized(&[Normalizer::Nfc(UnicodeTables::Current)], &text);
    assert!(normal.starts_with("\u{323}\u{323}"));
    assert!(offsets.windows(2).all(|pair| pair[0] <= pair[1]));
}
