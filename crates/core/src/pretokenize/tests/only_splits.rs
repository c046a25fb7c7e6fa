//! Steps that only cut: the one splitter that they become against the steps themselves.
use proptest::prelude::*;

use super::*;
use crate::pattern::{Splitter, named_splits};

/// Steps of every kind that only cuts.
fn step() -> impl Strategy<Value = PreTokenizer> {
    let patterns =
        [r"\p{N}{1,3}", "[一-龥ぁ-ゖ]+", r"\p{Lu}+", r"\s+", "[0-9][0-9][0-9]", r"a*b|a", r"(?<=a)b"];
    let known = ["gpt2", "cl100k", "o200k"].map(|name| match named_splits::split_from(name) {
        crate::description::Split::Pattern(pattern) => pattern,
        crate::description::Split::Whole => String::new(),
    });
    let patterns: Vec<String> = patterns.map(str::to_owned).into_iter().chain(known).collect();
    prop_oneof![
        (prop::sample::select(patterns), any::<bool>()).prop_map(|(pattern, invert)| regex(
            &pattern,
            Behavior::Isolated,
            invert
        )),
        prop::sample::select(&["-", " ", "1", "中"][..]).prop_map(|c| literal(c, Behavior::Isolated, false)),
        prop::sample::select(&[Behavior::Isolated, Behavior::Contiguous][..])
            .prop_map(PreTokenizer::Punctuation),
        any::<bool>().prop_map(|individual| PreTokenizer::Digits { individual }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn one_splitter_finds_the_pieces_of_all_steps(
        steps in prop::collection::vec(step(), 1..4),
        text in r"(?:[aAbB12٣²\-.,$^'s中ぁ\u{301}\u{200B}]| |\n|\t|12345|  |'s|\u{11DE0}|\PC){0,40}",
    ) {
        let splitter = Splitter::compile_steps(&only_splits(&steps).unwrap()).unwrap().unwrap();
        let mut found = Found::new();
        splitter
            .for_each(&text, |span| {
                found.push((text[span.start..span.end].to_owned(), span.start, span.end));
                Ok(())
            })
            .unwrap();
        prop_assert_eq!(found, cut(&steps, &text), "{:?} on {:?} in {} passes", steps, text, splitter.passes());
    }
}

#[test]
fn other_steps_are_left_as_they_are() {
    let others = [
        PreTokenizer::WhitespaceSplit,
        PreTokenizer::Bert,
        PreTokenizer::ByteAlphabet,
        PreTokenizer::Punctuation(Behavior::Removed),
        PreTokenizer::Punctuation(Behavior::MergedWithNext),
        regex(r"\s+", Behavior::Removed, false),
        regex(r"\s+", Behavior::Contiguous, false),
        literal("ab", Behavior::Isolated, false),
        metaspace(PrependScheme::Never, true),
    ];
    for other in others {
        assert!(
            only_splits(&[PreTokenizer::Digits { individual: true }, other.clone()]).is_none(),
            "{other:?}"
        );
    }
}
