//! A random segmentation of a text: merges are skipped at random (BPE dropout).
use tokenmill_kernels::try_alloc;

use crate::aligned::AlignedText;
use crate::description::BpeDescription;
use crate::error::{Defect, Error, Result};
use crate::ids::TokenId;
use crate::model::Random;
use crate::model::bpe::Bpe;
use crate::watch::Watch;

use super::Engine;
use super::input::{Special, Text};
use super::sink::{PretokenSink, SinkResult, Spelling};
use super::untrusted::UntrustedRanges;

/// How merges are skipped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// The probability that a merge is skipped, from 0 to 1. `None` for that of the description.
    pub probability: Option<f64>,
    /// The same seed gives the same ids.
    pub seed: u64,
}

impl Engine {
    /// Encodes a text while merges are skipped at random. No other method does that, even if the description has a
    /// dropout.
    ///
    /// # Errors
    /// As [`Engine::encode`]; a format error if the model is not byte-pair encoding; an argument error for a number
    /// that is no probability, or if neither the caller nor the description gives one.
    pub fn encode_with_dropout(
        &self,
        text: Text<'_>,
        how: Dropout,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Vec<TokenId>> {
        let Some(model) = self.stages.model.as_bpe() else {
            let reason = "only byte-pair encoding has merges to pass over; this model is of another type";
            return Err(Error::format(Defect::Unsupported, reason).at("type").at("model"));
        };
        let Some(probability) = how.probability.or(self.bpe()?.dropout.map(f64::from)) else {
            return Err(Error::argument(
                "this tokenizer has no dropout of its own; pass dropout=, from 0 to 1",
            ));
        };
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::argument(format!("dropout is {probability}; it must be from 0 to 1")));
        }
        let mut ids = vec![];
        if probability == 0.0 {
            self.encode(text, special, 1, watch, &mut ids)?;
            return Ok(ids);
        }
        let mut sink =
            Sampled { model, description: self.bpe()?, probability, random: Random::new(how.seed), ids };
        self.encode_pretokens(text, &self.recognizer(special)?, UntrustedRanges::none(), watch, &mut sink)?;
        Ok(sink.ids)
    }
}

/// Spells each pretoken with random merges.
struct Sampled<'a> {
    model: &'a Bpe,
    description: &'a BpeDescription,
    probability: f64,
    random: Random,
    ids: Vec<TokenId>,
}

impl PretokenSink for Sampled<'_> {
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        let Spelling { vocabulary, scratch, ticker, .. } = with;
        let chance = (self.probability, &mut self.random);
        let tables = (self.description, *vocabulary);
        self.model.sample(pretoken, tables, &mut scratch.bpe, chance, (&mut self.ids, None), ticker)
    }

    fn added(&mut self, _literal: AlignedText<'_>, id: TokenId) -> SinkResult {
        try_alloc::push(&mut self.ids, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::description::{Alphabet, BpeDescription, Description, Merges, Split, TokenList};
    use crate::watch::Unwatched;

    fn engine(dropout: Option<f32>) -> Engine {
        let tokens = [&b"a"[..], b"b", b"ab", b"abab", b"ba"];
        let entries = tokens.iter().zip(0..).map(|(bytes, id)| (id, bytes.to_vec())).collect();
        let model = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(entries), Merges::ById);
        compile(Description::of_bpe(&Split::Whole, BpeDescription { dropout, ..model })).unwrap()
    }

    fn sampled(engine: &Engine, probability: Option<f64>, seed: u64) -> Result<Vec<TokenId>> {
        let how = Dropout { probability, seed };
        engine.encode_with_dropout(Text::Str("abab"), how, &Special::Text, &Unwatched)
    }

    #[test]
    fn a_seed_gives_one_segmentation_and_an_ordinary_call_knows_nothing_of_chance() {
        let engine = engine(Some(0.5));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let ids = sampled(&engine, None, seed).unwrap();
            assert_eq!(sampled(&engine, Some(0.5), seed).unwrap(), ids);
            seen.insert(ids);
            let mut ordinary = Vec::new();
            engine.encode(Text::Str("abab"), &Special::Text, 1, &Unwatched, &mut ordinary).unwrap();
            assert_eq!(ordinary, [3]);
        }
        assert!(seen.len() > 4, "{seen:?}");
        assert_eq!(sampled(&engine, Some(1.0), 1).unwrap(), [0, 1, 0, 1]);
        assert_eq!(sampled(&engine, Some(0.0), 1).unwrap(), [3]);
    }

    #[test]
    fn what_is_no_probability_is_an_error() {
        let engine = engine(None);
        for probability in [None, Some(1.5), Some(-0.1), Some(f64::NAN)] {
            assert!(sampled(&engine, probability, 1).is_err());
        }
    }
}
