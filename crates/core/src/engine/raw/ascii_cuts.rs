//! Normalizes and cuts short words of ASCII, by classes of characters.
//!
//! In: the normalized form of each character, and what is known of each pair of these; then words. Out: the normalized
//! word, and a bit for each place where it is cut. Characters that are cut alike from all others are one class. There
//! are few classes, and what is asked of two classes is answered for all places of a word at once.
use crate::pretokenize::Between;

/// The most bytes of a word: there is a bit in a `u64` for each.
pub(super) const SHORT: usize = 64;

/// The most classes, with [`UNKNOWN`].
const MOST: usize = 16;

/// The class of characters that have no normalized form.
const UNKNOWN: u8 = 15;

/// The classes of ASCII characters.
#[derive(Debug)]
pub(super) struct AsciiCuts {
    /// For each character its normalized form and the class of that.
    chars: [(u8, u8); 128],
    /// For each class: a bit for each class that is cut from it on its right.
    cuts: [u16; MOST],
    /// As `cuts`, for those of which it is not known.
    unknown: [u16; MOST],
}

/// A word, normalized.
pub(super) struct NormalizedWord {
    /// The first bytes of it are the word.
    pub(super) bytes: [u8; SHORT],
    /// Is it other than the word that was given?
    pub(super) is_changed: bool,
    /// Bit `n` is set if the word is cut before byte `n`.
    pub(super) cuts: u64,
}

impl AsciiCuts {
    /// `normalized` has 0 for characters without a form of one character. `None` if there are too many classes.
    pub(super) fn new(normalized: &[u8; 128], between: &[[Between; 128]; 128]) -> Option<Self> {
        let between = |left: u8, right: u8| between[usize::from(left)][usize::from(right)];
        let forms = || (1..128).filter(|form| normalized.contains(form));
        let are_alike = |a: u8, b: u8| {
            forms()
                .all(|other| between(a, other) == between(b, other) && between(other, a) == between(other, b))
        };
        let (mut class_of, mut first_of) = ([UNKNOWN; 128], Vec::new());
        for form in forms() {
            let class = first_of.iter().position(|&first| are_alike(first, form)).unwrap_or(first_of.len());
            if class == first_of.len() {
                first_of.push(form);
            }
            class_of[usize::from(form)] = class as u8;
        }
        if first_of.len() > usize::from(UNKNOWN) {
            return None;
        }
        let rights = |left: u8, is: Between| {
            let rights = first_of.iter().enumerate().filter(|&(_, &right)| between(left, right) == is);
            rights.fold(0, |rights, (class, _)| rights | 1 << class)
        };
        let (mut cuts, mut unknown) = ([0; MOST], [0; MOST]);
        for (class, &left) in first_of.iter().enumerate() {
            (cuts[class], unknown[class]) = (rights(left, Between::Cut), rights(left, Between::Unknown));
        }
        Some(Self { chars: normalized.map(|form| (form, class_of[usize::from(form)])), cuts, unknown })
    }

    /// A word of at most [`SHORT`] bytes, all ASCII; `None` if something of it is not known.
    #[inline]
    pub(super) fn split(&self, word: &[u8]) -> Option<NormalizedWord> {
        let (mut bytes, mut changes) = ([0; SHORT], 0);
        // Where the characters of each class are.
        let mut places = [0_u64; MOST];
        for (at, (place, &byte)) in bytes.iter_mut().zip(word).enumerate() {
            let (form, class) = self.chars[usize::from(byte & 0x7F)];
            places[usize::from(class) % MOST] |= 1 << at;
            (*place, changes) = (form, changes | (form ^ byte));
        }
        if places[usize::from(UNKNOWN)] != 0 {
            return None;
        }
        let (mut cuts, mut unknown) = (0, 0);
        for (class, lefts) in places.iter().enumerate().filter(|(_, lefts)| **lefts != 0) {
            let rights = |mut classes: u16| {
                let mut rights = 0;
                while classes != 0 {
                    rights |= places[classes.trailing_zeros() as usize];
                    classes &= classes - 1;
                }
                rights
            };
            cuts |= lefts << 1 & rights(self.cuts[class]);
            unknown |= lefts << 1 & rights(self.unknown[class]);
        }
        (unknown == 0).then_some(NormalizedWord { bytes, is_changed: changes != 0, cuts })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_cut_as_pair_by_pair(
            kinds: [u8; 32],
            seeds: [u8; 64],
            word in prop::collection::vec(0..128_u8, 0..=SHORT),
        ) {
            // Eight kinds of characters; some have no normalized form, and some have that of another.
            let kind = |c: u8| kinds[usize::from(c) / 4] % 8;
            let normalized: [u8; 128] = std::array::from_fn(|c| match c as u8 {
                0..8 => 0,
                c if c % 16 == 0 && c > 16 => c - 1,
                c => c,
            });
            let of = |left: u8, right: u8| match seeds[usize::from(kind(left) * 8 + kind(right))] {
                0..128 => Between::Nothing,
                128..250 => Between::Cut,
                _ => Between::Unknown,
            };
            let between: [[Between; 128]; 128] =
                std::array::from_fn(|left| std::array::from_fn(|right| of(left as u8, right as u8)));
            let table = AsciiCuts::new(&normalized, &between).expect("eight kinds are not too many");
            let forms: Vec<u8> = word.iter().map(|&c| normalized[usize::from(c)]).collect();
            let places: Vec<Between> = forms.windows(2).map(|pair| of(pair[0], pair[1])).collect();
            let split = table.split(&word);
            prop_assert_eq!(split.is_some(), !forms.contains(&0) && !places.contains(&Between::Unknown));
            if let Some(NormalizedWord { bytes, is_changed, cuts }) = split {
                prop_assert_eq!(&bytes[..word.len()], &forms[..]);
                prop_assert_eq!(is_changed, forms != word);
                let want = places.iter().enumerate().filter(|(_, between)| **between == Between::Cut);
                prop_assert_eq!(cuts, want.fold(0, |cuts, (at, _)| cuts | 2 << at));
            }
        }
    }

    #[test]
    fn too_many_classes_are_refused() {
        let normalized = std::array::from_fn(|c| c as u8);
        let mut between = [[Between::Nothing; 128]; 128];
        for (c, rights) in between.iter_mut().enumerate() {
            rights[c] = Between::Cut;
        }
        assert!(AsciiCuts::new(&normalized, &between).is_none());
    }
}
