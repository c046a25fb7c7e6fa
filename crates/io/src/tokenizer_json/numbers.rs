//! Scores as decimals, read as the reference reads them, and written so that they round-trip.
//!
//! The tokenizers library rounds a decimal of 16 or more digits twice, and so does this reader, so
//! that both get the same number, possibly a neighbour of the nearest one. The writer therefore
//! needs a decimal that round-trips, which is not always the shortest. About one number in a
//! thousand has none: it is written with a capital `E`, for which this reader takes the nearest
//! number. The reference cannot read such a number from any file.
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::json;
use serde_json::value::RawValue;

/// For each number of digits, how far from the nearest decimal to search for one that round-trips.
const TRIED: [(usize, u64); 3] = [(17, 8), (18, 64), (19, 512)];

/// A number in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Score(pub(super) f64);

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        read(written)
            .map(Self)
            .map_err(|_| D::Error::custom(format!("expected a number, found {written:.40}")))
    }
}

fn read(written: &str) -> serde_json::Result<f64> {
    let number = serde_json::from_str(written)?;
    Ok(if written.contains('E') { nearest(written).unwrap_or(number) } else { number })
}

fn nearest(written: &str) -> Option<f64> {
    written.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The scores in a tokenizer.json, each the nearest number as in Python; `None` if it has no list of pieces.
pub(crate) fn nearest_scores(json: &[u8]) -> Option<Vec<f64>> {
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        model: Model<'a>,
    }
    #[derive(Deserialize)]
    struct Model<'a> {
        #[serde(borrow)]
        vocab: Vec<(IgnoredAny, &'a RawValue)>,
    }
    let file: File<'_> = serde_json::from_slice(json).ok()?;
    file.model.vocab.iter().map(|(_, score)| nearest(score.get())).collect()
}

/// A number as a JSON decimal that round-trips.
pub(super) fn written(number: f64) -> String {
    let shortest = json!(number).to_string();
    if comes_back(&shortest, number) {
        return shortest;
    }
    let tries = TRIED.iter().flat_map(|&(digits, distance)| near(number, digits, distance));
    tries.into_iter().find(|text| comes_back(text, number)).unwrap_or_else(|| format!("{number:E}"))
}

fn comes_back(text: &str, number: f64) -> bool {
    read(text).is_ok_and(|read| read.to_bits() == number.to_bits())
}

/// Decimals with `digits` digits around a number, nearest first.
fn near(number: f64, digits: usize, distance: u64) -> Vec<String> {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let nearest = format!("{:.*e}", digits - 1, number.abs());
    let Some((digits_with_point, exponent)) = nearest.split_once('e') else { return Vec::new() };
    let Ok(middle) = digits_with_point.replace('.', "").parse::<u64>() else { return Vec::new() };
    let exponent = if exponent == "0" { String::new() } else { format!("e{exponent}") };
    let text = |significand: u64| {
        let digits = significand.to_string();
        let (first, rest) = digits.split_at(1);
        format!("{sign}{first}.{rest}{exponent}")
    };
    (0..=distance).flat_map(|step| [middle + step, middle.saturating_sub(step)]).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_that_its_shortest_decimal_misses_has_another() {
        let missed = -3.764_317_989_349_365_2;
        assert!(!comes_back(&json!(missed).to_string(), missed));
        assert!(comes_back(&written(missed), missed));
        assert_eq!((written(-2.5).as_str(), written(0.0).as_str()), ("-2.5", "0.0"));
    }

    #[test]
    fn scores_are_read_as_the_reference_does_or_as_the_nearest() {
        let json =
            r#"{"model": {"vocab": [["a", -3.7643179893493652], ["b", -3.7643179893493652E0], ["c", 1]]}}"#;
        let scores: Vec<Score> =
            serde_json::from_str("[-3.7643179893493652, -3.7643179893493652E0, 1]").unwrap();
        let scores: Vec<f64> = scores.iter().map(|score| score.0).collect();
        assert_eq!(scores, [-3.764_317_989_349_365, -3.764_317_989_349_365_2, 1.0]);
        assert_eq!(nearest_scores(json.as_bytes()).unwrap(), [scores[1], scores[1], 1.0]);
        assert!(serde_json::from_str::<Score>("\"1\"").is_err());
        assert!(nearest_scores(b"{}").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_written_comes_back(number in -1e6..1e6_f64, single in -100.0..0.0_f32, tiny in -1e-9..1e-9_f64) {
            for number in [number, f64::from(single), tiny] {
                prop_assert!(comes_back(&written(number), number), "{number:e}: {}", written(number));
            }
        }
    }
}
