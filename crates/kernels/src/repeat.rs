//! How far a text repeats itself.

/// Bytes that are compared together.
const VECTOR: usize = 32;

/// The end of the bytes from `at` on that are as those `distance` before them. `distance` is at most `at`, and `at`
/// at most the length of the text.
#[inline]
pub fn end_of_repeat(text: &[u8], at: usize, distance: usize) -> usize {
    let (ahead, behind) = (&text[at..], &text[at - distance..]);
    let same = ahead.as_chunks::<VECTOR>().0.iter().zip(behind.as_chunks::<VECTOR>().0);
    let from = VECTOR * same.take_while(|(ahead, behind)| ahead == behind).count();
    let rest = ahead[from..].iter().zip(&behind[from..]);
    at + from + rest.take_while(|(ahead, behind)| ahead == behind).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_ends_at_the_first_byte_that_is_another(
            unit in prop::collection::vec(0..3_u8, 1..40),
            times in 1..20_usize,
            behind in prop::collection::vec(0..3_u8, 0..40),
            at in any::<prop::sample::Index>(),
            distance in any::<prop::sample::Index>(),
        ) {
            let text = [unit.repeat(times), behind].concat();
            let at = 1 + at.index(text.len());
            for distance in [1 + distance.index(at), unit.len().min(at), at] {
                let end = (at..text.len()).find(|&end| text[end] != text[end - distance]);
                prop_assert_eq!(end_of_repeat(&text, at, distance), end.unwrap_or(text.len()));
            }
        }
    }
}
