//! Measures how far a text repeats itself. In: a text and a distance. Out: the end of the repetition.

/// The number of bytes that are compared together.
const VECTOR: usize = 32;

/// The end of the run of bytes from `at` on that are equal to the bytes `distance` before them.
///
/// # Panics
/// If `distance` is greater than `at`, or `at` greater than the length of the text.
#[inline]
pub fn end_of_repeat(text: &[u8], at: usize, distance: usize) -> usize {
    let (later, earlier) = (&text[at..], &text[at - distance..]);
    let vectors = later.as_chunks::<VECTOR>().0.iter().zip(earlier.as_chunks::<VECTOR>().0);
    let from = VECTOR * vectors.take_while(|(later, earlier)| later == earlier).count();
    let rest = later[from..].iter().zip(&earlier[from..]);
    at + from + rest.take_while(|(later, earlier)| later == earlier).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_ends_at_the_first_byte_that_differs(
            unit in prop::collection::vec(0..3_u8, 1..40),
            times in 1..20_usize,
            rest in prop::collection::vec(0..3_u8, 0..40),
            at in any::<prop::sample::Index>(),
            distance in any::<prop::sample::Index>(),
        ) {
            let text = [unit.repeat(times), rest].concat();
            let at = 1 + at.index(text.len());
            for distance in [1 + distance.index(at), unit.len().min(at), at] {
                let end = (at..text.len()).find(|&end| text[end] != text[end - distance]);
                prop_assert_eq!(end_of_repeat(&text, at, distance), end.unwrap_or(text.len()));
            }
        }
    }
}
