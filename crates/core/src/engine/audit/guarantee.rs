//! What is promised of each stage, and why: from the structure of the tokenizer alone.
use std::fmt;

use crate::description::{
    Alphabet, Decoder, Decoding, ModelDescription, Normalizer, Pattern, PreTokenizer, Split,
};
use crate::error::Result;
use crate::model::Model;
use crate::pattern::{BACKTRACKING_LIMIT, Plan, Splitter};

use super::super::Engine;

/// The worst growth of time with the length of a text. Ordered from the strongest promise to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guarantee {
    /// As the length.
    Linear,
    /// As the length times its logarithm.
    LinearTimesLog,
    /// As the square of the length.
    Quadratic,
    /// The length has a limit, and a longer text is an error.
    Bounded,
    /// Nothing is promised.
    Nothing,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::LinearTimesLog => "n log n",
            Self::Quadratic => "quadratic",
            Self::Bounded => "bounded",
            Self::Nothing => "none",
        })
    }
}

/// A guarantee and its reason.
type Promise = (Guarantee, String);

fn promise(guarantee: Guarantee, reason: impl Into<String>) -> Promise {
    (guarantee, reason.into())
}

/// The weakest of the promises; of equal ones the first.
fn least(promises: impl IntoIterator<Item = Promise>) -> Option<Promise> {
    promises.into_iter().reduce(|least, next| if next.0 > least.0 { next } else { least })
}

fn of_plan(plan: Plan) -> Promise {
    match plan {
        Plan::Whole => promise(Guarantee::Linear, "there is no pattern"),
        Plan::Scanner => promise(
            Guarantee::Linear,
            "a scanner over classes of characters goes forward only, and back by a fixed number of them",
        ),
        Plan::Automaton { reads_past_match: false } => promise(
            Guarantee::Linear,
            "an automaton reads a few characters beyond what it matches; searches that find nothing and look-around \
             take a pass each",
        ),
        Plan::Automaton { reads_past_match: true } | Plan::Linear => promise(
            Guarantee::Quadratic,
            "each search for a match is linear, but it may read far beyond the match, and what it has read is read \
             again by the next one",
        ),
        Plan::Backtracking => {
            let (steps, per_byte) = BACKTRACKING_LIMIT;
            promise(
                Guarantee::Bounded,
                format!(
                    "the regex engine may take back {steps} steps for a text and {per_byte} for each byte of it; a text \
                     that needs more is a PatternError. What it only reads ahead is not counted"
                ),
            )
        }
    }
}

fn of_pattern(pattern: &Pattern) -> Result<Promise> {
    match pattern {
        Pattern::Literal(_) => Ok(promise(Guarantee::Linear, "a fixed text is searched for")),
        Pattern::Regex(regex) => Ok(of_plan(Splitter::compile(&Split::Pattern(regex.clone()))?.plan())),
    }
}

fn of_hook(name: impl fmt::Display) -> Promise {
    promise(Guarantee::Nothing, format!("{name} is a function of yours, which may do anything"))
}

impl Engine {
    /// What is promised of each stage, in the order of [`Engine::plan`].
    pub(super) fn promises(&self) -> Result<Vec<Promise>> {
        Ok(vec![
            self.promise_of_added_tokens(),
            self.promise_of_normalization()?,
            self.promise_of_split()?,
            promise(
                Guarantee::Linear,
                "each lookup sees eight lines of a table at most, whatever the pretokens are",
            ),
            self.promise_of_model(),
            self.promise_of_decoding()?,
        ])
    }

    fn promise_of_added_tokens(&self) -> Promise {
        let longest = self.vocabulary().added().iter().map(|token| token.content.len()).max();
        let Some(longest) = longest else { return promise(Guarantee::Linear, "there are none") };
        let reason = format!(
            "one automaton looks for all of them at once; beyond a match it has read at most the {longest} bytes of \
             the longest"
        );
        promise(Guarantee::Linear, reason)
    }

    fn promise_of_normalization(&self) -> Result<Promise> {
        let each = self.description.normalizer.iter().map(|step| {
            let log = |name: &str| {
                let reason = format!("{name} sorts each run of combining marks; all else is linear");
                promise(Guarantee::LinearTimesLog, reason)
            };
            Ok(match step {
                Normalizer::Nfc(_) => log("NFC"),
                Normalizer::Nfd(_) => log("NFD"),
                Normalizer::Nfkc(_) => log("NFKC"),
                Normalizer::Nfkd(_) => log("NFKD"),
                Normalizer::Bert { strip_accents, lowercase, .. } if strip_accents.unwrap_or(*lowercase) => {
                    log("NFD")
                }
                Normalizer::Replace { pattern, .. } => of_pattern(pattern)?,
                Normalizer::Hook(name) => of_hook(name),
                _ => promise(Guarantee::Linear, "each character is read once, with a bounded look ahead"),
            })
        });
        let all = each.collect::<Result<Vec<_>>>()?;
        Ok(least(all).unwrap_or_else(|| promise(Guarantee::Linear, "the tokenizer has no normalizer")))
    }

    fn promise_of_split(&self) -> Result<Promise> {
        if let Some(splitter) = &self.stages.splitter {
            return Ok(of_plan(splitter.plan()));
        }
        let each = self.description.pre_tokenizer.iter().map(|step| {
            Ok(match step {
                PreTokenizer::Split { pattern, .. } => of_pattern(pattern)?,
                PreTokenizer::Hook(name) => of_hook(name),
                _ => promise(Guarantee::Linear, "each step reads each character once"),
            })
        });
        let all = each.collect::<Result<Vec<_>>>()?;
        Ok(least(all).unwrap_or_else(|| of_plan(Plan::Whole)))
    }

    fn promise_of_model(&self) -> Promise {
        match (&self.stages.model, &self.description.model) {
            (Model::Bpe(bpe), _) if bpe.canonical().is_some() => promise(
                Guarantee::LinearTimesLog,
                "windows that are merged alone and agree where they meet, which is linear; where they do not, and this \
                 takes over 32 times the text, a queue of merges",
            ),
            (Model::Bpe(_), _) => promise(
                Guarantee::LinearTimesLog,
                "a queue gives out the merges of a pretoken in order of rank",
            ),
            (Model::WordPiece(_), ModelDescription::WordPiece(model)) => promise(
                Guarantee::Linear,
                format!(
                    "two automata read each pretoken once; one of more than {} characters is unknown",
                    model.max_chars
                ),
            ),
            (Model::WordLevel(_), _) => promise(Guarantee::Linear, "each pretoken is looked up once"),
            _ => promise(
                Guarantee::Linear,
                "an automaton names the tokens that end at each place, never more than the longest has characters",
            ),
        }
    }

    fn promise_of_decoding(&self) -> Result<Promise> {
        let Decoding::Steps(steps) = &self.description.decoding else {
            let reason = match self.description.model.alphabet() {
                Some(Alphabet::Bytes) => "the bytes of each id are copied",
                _ => "the text of each id is copied",
            };
            return Ok(promise(Guarantee::Linear, reason));
        };
        let each = steps.iter().map(|step| match step {
            Decoder::Replace { pattern, .. } => of_pattern(pattern),
            _ => Ok(promise(Guarantee::Linear, "each step reads what the one before gives once")),
        });
        let all = each.collect::<Result<Vec<_>>>()?;
        Ok(least(all).unwrap_or_else(|| promise(Guarantee::Linear, "the text of each id is copied")))
    }
}
