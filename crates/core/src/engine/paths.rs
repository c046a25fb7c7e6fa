//! What a Unigram model can say about a text besides its best ids: the next best paths, the probability of the
//! text, and random paths.
//!
//! A text is spelled pretoken by pretoken, so a hypothesis for the text is one for each pretoken, and their scores
//! add up. Added tokens are certain: they are in every hypothesis and have no score.
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use tokenmill_kernels::try_alloc;

use crate::aligned::AlignedText;
use crate::error::{Defect, Error, Result};
use crate::ids::TokenId;
use crate::model::Random;
use crate::model::unigram::{self, MAX_PATHS, Unigram};
use crate::watch::Watch;

use super::Engine;
use super::input::{Special, Text};
use super::sink::{PretokenSink, SinkResult, Spelling};
use super::untrusted::UntrustedRanges;

/// How a path is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// The probability of a path is proportional to exp(`alpha` × score).
    pub alpha: f64,
    /// The number of best paths to draw from; `None` for all of them.
    pub n_best: Option<usize>,
    /// The same seed draws the same ids.
    pub seed: u64,
}

impl Engine {
    /// The `n` best ways to spell a text, as ids and score, best first; fewer if there are no more. A score is the
    /// logarithm of a probability.
    ///
    /// # Errors
    /// As [`Engine::encode`]; a format error where the model is not Unigram; an argument error for
    /// an `n` that is not from 1 to 1024. Cost: `n` times that of encoding.
    pub fn n_best(
        &self,
        text: Text<'_>,
        n: usize,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Vec<(Vec<TokenId>, f64)>> {
        let model = self.unigram()?;
        if !(1..=MAX_PATHS).contains(&n) {
            return Err(Error::argument(format!("n is {n}; it must be from 1 to {MAX_PATHS}")));
        }
        let mut sink =
            NBest { model, n, steps: vec![], hypotheses: vec![Hypothesis { score: 0.0, step: None }] };
        self.encode_pretokens(text, &self.recognizer(special)?, UntrustedRanges::none(), watch, &mut sink)?;
        try_alloc::collect(sink.hypotheses.iter().map(|way| Ok((sink.ids(way)?, way.score))))
    }

    /// The logarithm of the probability of a text: the sum over all ways to spell it.
    ///
    /// # Errors
    /// As [`Engine::encode`], but for unknown characters, which have a probability; a format error
    /// where the model is not Unigram.
    pub fn log_probability(&self, text: Text<'_>, special: &Special, watch: &dyn Watch) -> Result<f64> {
        let mut sink = Marginal { model: self.unigram()?, sum: 0.0 };
        self.encode_pretokens(text, &self.recognizer(special)?, UntrustedRanges::none(), watch, &mut sink)?;
        Ok(sink.sum)
    }

    /// Encodes a text by a path that is drawn at random.
    ///
    /// # Errors
    /// As [`Self::n_best`]; an argument error for an `alpha` that is not a finite number.
    pub fn draw(
        &self,
        text: Text<'_>,
        how: Draw,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Vec<TokenId>> {
        let model = self.unigram()?;
        let Draw { alpha, n_best, seed } = how;
        if !alpha.is_finite() {
            return Err(Error::argument(format!("alpha is {alpha}; it must be a finite number")));
        }
        let mut random = Random::new(seed);
        match n_best {
            None => {
                let mut sink = Sample { model, alpha, random, ids: vec![] };
                self.encode_pretokens(
                    text,
                    &self.recognizer(special)?,
                    UntrustedRanges::none(),
                    watch,
                    &mut sink,
                )?;
                Ok(sink.ids)
            }
            Some(0 | 1) => {
                let mut ids = vec![];
                self.encode(text, special, 1, watch, &mut ids)?;
                Ok(ids)
            }
            Some(n) => {
                let mut hypotheses = self.n_best(text, n, special, watch)?;
                let scores: Vec<f64> = hypotheses.iter().map(|way| way.1).collect();
                Ok(hypotheses.swap_remove(unigram::draw(&scores, alpha, &mut random)).0)
            }
        }
    }

    fn unigram(&self) -> Result<&Unigram> {
        self.stages.model.as_unigram().ok_or_else(|| {
            let reason = "only a Unigram model knows how probable its ids are; this model is of another type";
            Error::format(Defect::Unsupported, reason).at("type").at("model")
        })
    }
}

/// Adds up the marginal log probabilities of the pretokens.
struct Marginal<'a> {
    model: &'a Unigram,
    sum: f64,
}

impl PretokenSink for Marginal<'_> {
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        self.sum += self.model.log_marginal(pretoken, &mut with.scratch.unigram, with.ticker)?;
        Ok(())
    }

    fn added(&mut self, _found: AlignedText<'_>, _id: TokenId) -> SinkResult {
        Ok(())
    }
}

/// Draws a path for each pretoken.
struct Sample<'a> {
    model: &'a Unigram,
    alpha: f64,
    random: Random,
    ids: Vec<TokenId>,
}

impl PretokenSink for Sample<'_> {
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        let Spelling { vocabulary, scratch, ticker, .. } = with;
        let chance = (self.alpha, &mut self.random);
        self.model.sample(pretoken, vocabulary, chance, &mut scratch.unigram, &mut self.ids, ticker)
    }

    fn added(&mut self, _found: AlignedText<'_>, id: TokenId) -> SinkResult {
        try_alloc::push(&mut self.ids, id)
    }
}

/// A way to spell the text so far.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    score: f64,
    /// Its last step; `None` at the start of the text.
    step: Option<usize>,
}

/// The last step of a hypothesis: its ids, and the step before.
struct Step {
    before: Option<usize>,
    ids: Rc<[TokenId]>,
}

/// Hypothesis `i` extended by continuation `j`.
#[derive(Debug, Clone, Copy)]
struct Pair {
    score: f64,
    i: usize,
    j: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| (other.i, other.j).cmp(&(self.i, self.j)))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

/// Keeps the best hypotheses for the text so far.
struct NBest<'a> {
    model: &'a Unigram,
    n: usize,
    steps: Vec<Step>,
    /// Best first.
    hypotheses: Vec<Hypothesis>,
}

impl NBest<'_> {
    /// Extends every hypothesis by every one of `next`, and keeps the `n` best.
    fn extend(&mut self, next: &[(Vec<TokenId>, f64)]) -> SinkResult {
        let next: Vec<(Rc<[TokenId]>, f64)> =
            next.iter().map(|(ids, score)| (ids.as_slice().into(), *score)).collect();
        let hypotheses = std::mem::take(&mut self.hypotheses);
        let pair = |i: usize, j: usize| Some(Pair { score: hypotheses.get(i)?.score + next.get(j)?.1, i, j });
        // Both lists descend, so (i, j) is never better than (i, j - 1), nor (i, 0) than (i - 1, 0). So only these
        // two successors of a pair that was taken are queued.
        let mut queue: BinaryHeap<Pair> = pair(0, 0).into_iter().collect();
        while self.hypotheses.len() < self.n
            && let Some(Pair { score, i, j }) = queue.pop()
        {
            let step = Step { before: hypotheses[i].step, ids: Rc::clone(&next[j].0) };
            try_alloc::push(&mut self.hypotheses, Hypothesis { score, step: Some(self.steps.len()) })?;
            try_alloc::push(&mut self.steps, step)?;
            queue.extend(pair(i, j + 1));
            if j == 0 {
                queue.extend(pair(i + 1, 0));
            }
        }
        Ok(())
    }

    fn ids(&self, hypothesis: &Hypothesis) -> Result<Vec<TokenId>> {
        let mut steps = vec![];
        let mut at = hypothesis.step;
        while let Some(step) = at {
            try_alloc::push(&mut steps, &self.steps[step].ids)?;
            at = self.steps[step].before;
        }
        let mut all = try_alloc::vec(steps.iter().map(|ids| ids.len()).sum())?;
        steps.iter().rev().for_each(|ids| all.extend_from_slice(ids));
        Ok(all)
    }
}

impl PretokenSink for NBest<'_> {
    fn spell(&mut self, pretoken: &[u8], with: &mut Spelling<'_, '_>) -> Result<()> {
        let next = self.model.n_best(pretoken, self.n, with.vocabulary, with.ticker)?;
        with.ticker.spend(16 * self.n)?;
        Ok(self.extend(&next)?)
    }

    fn added(&mut self, _found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.extend(&[(vec![id], 0.0)])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::compile;
    use crate::description::{
        AddedToken, Alphabet, BpeDescription, Description, Merges, ModelDescription, Split, TokenList,
        UnigramDescription,
    };
    use crate::error::Kind;
    use crate::watch::Unwatched;

    const PIECES: [(&str, f64); 6] =
        [("<unk>", -9.0), ("a", -1.0), ("b", -1.5), ("ab", -2.0), ("ba", -2.75), ("aba", -3.0)];

    /// Pretokens are runs of letters and single spaces.
    fn engine() -> Engine {
        let mut tokens = TokenList::default();
        for (id, (piece, _)) in PIECES.iter().enumerate() {
            tokens.push(id as u32, piece.as_bytes());
        }
        let model = UnigramDescription {
            tokens: Arc::new(tokens),
            scores: PIECES.map(|piece| piece.1).to_vec(),
            kinds: vec![],
            unk: Some(0),
            unk_score: -19.0,
            byte_fallback: false,
            single_precision: false,
        };
        let plain = BpeDescription::plain(Alphabet::Bytes, TokenList::default(), Merges::ById);
        let split = Split::Pattern("[a-z]+| ".to_owned());
        let mut description = Description::of_bpe(&split, plain);
        description.model = ModelDescription::Unigram(model);
        description.added_tokens = vec![AddedToken::special(6, "<s>")];
        compile(description).unwrap()
    }

    #[test]
    fn hypotheses_of_a_text_are_hypotheses_of_its_pretokens() {
        let engine = engine();
        let (text, special) = (Text::Str("abab<s>aba ab"), Special::Parse);
        let each = |text| engine.n_best(Text::Str(text), 1024, &special, &Unwatched).unwrap();
        let mut want = vec![];
        for (a, x) in each("abab") {
            for (b, y) in each("aba") {
                for (c, z) in each("ab") {
                    want.push(([a.as_slice(), &[6], &b, &[0], &c].concat(), x + y - 19.0 + z));
                }
            }
        }
        want.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all = engine.n_best(text, 1024, &special, &Unwatched).unwrap();
        let scores =
            |hypotheses: &[(Vec<TokenId>, f64)]| hypotheses.iter().map(|way| way.1).collect::<Vec<_>>();
        assert_eq!(scores(&all), scores(&want));
        let sorted = |mut hypotheses: Vec<(Vec<TokenId>, f64)>| {
            hypotheses.sort_by(|a, b| a.0.cmp(&b.0));
            hypotheses
        };
        let ten = engine.n_best(text, 10, &special, &Unwatched).unwrap();
        assert_eq!(ten, all[..10]);
        let mut ids = vec![];
        engine.encode(text, &special, 1, &Unwatched, &mut ids).unwrap();
        assert_eq!(ids, all[0].0);
        let sum: f64 = all.iter().map(|way| way.1.exp()).sum();
        let marginal = engine.log_probability(text, &special, &Unwatched).unwrap();
        assert!((marginal - sum.ln()).abs() < 1e-9);
        assert_eq!(sorted(all), sorted(want));
        assert_eq!(engine.n_best(Text::Str(""), 3, &special, &Unwatched).unwrap(), [(vec![], 0.0)]);
    }

    #[test]
    fn a_seed_draws_the_same_ids_and_another_one_others() {
        const TEXT: &str = "abababab ababaab<s>";
        let engine = engine();
        let draw = |n_best, alpha, seed| {
            let how = Draw { alpha, n_best, seed };
            engine.draw(Text::Str(TEXT), how, &Special::Parse, &Unwatched).unwrap()
        };
        for n_best in [None, Some(64)] {
            let different: std::collections::HashSet<_> =
                (0..50).map(|seed| draw(n_best, 0.3, seed)).collect();
            assert!(different.len() > 20, "{}", different.len());
            assert_eq!(draw(n_best, 0.3, 7), draw(n_best, 0.3, 7));
        }
        // A seed must give these ids in every version.
        assert_eq!(draw(None, 0.5, 42), [3, 1, 4, 2, 3, 0, 5, 2, 1, 1, 2, 6]);
        let mut best = vec![];
        engine.encode(Text::Str(TEXT), &Special::Parse, 1, &Unwatched, &mut best).unwrap();
        assert_eq!((draw(Some(0), 0.5, 42), draw(Some(1), 0.5, 42)), (best.clone(), best));
    }

    #[test]
    fn other_models_and_impossible_numbers_are_errors() {
        let plain = BpeDescription::plain(
            Alphabet::Bytes,
            TokenList::from_entries(vec![(0, vec![b'a'])]),
            Merges::ById,
        );
        let bpe = compile(Description::of_bpe(&Split::Whole, plain)).unwrap();
        let error = bpe.log_probability(Text::Str("a"), &Special::Text, &Unwatched).unwrap_err();
        assert_eq!(error.field.to_string(), "model.type");
        for n in [0, 1025] {
            let error = engine().n_best(Text::Str("a"), n, &Special::Text, &Unwatched).unwrap_err();
            assert!(matches!(error.kind, Kind::Argument(_)));
        }
        let how = Draw { alpha: f64::NAN, n_best: None, seed: 0 };
        assert!(engine().draw(Text::Str("a"), how, &Special::Text, &Unwatched).is_err());
    }
}
