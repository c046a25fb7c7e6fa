//! Do two tokenizers give the same? In: two engines. Out: a proof that they do, an input for which they do not, or
//! what was tried.
//!
//! `merges` has the proof for merges that differ without effect, `encoding` and `decoding` give an input to both
//! pipelines, `texts`, `literals`, `tokens` and `characters` make the texts that are tried, and `shrink` makes a
//! witness as short as it can be.
//! Chat templates are not looked at here: rendering them is the caller's.
mod around;
mod characters;
mod decoding;
mod encoding;
mod idle;
mod literals;
mod merges;
mod overlaps;
mod shrink;
#[cfg(test)]
mod tests;
mod texts;
mod tokens;
mod trees;

use crate::description::{Description, MergeList};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};

pub use encoding::Call;
pub use tokens::MergeChanges;

use around::{Found, each_around};
use encoding::Both;
use merges::{Outcome, compare as compare_merges};
use trees::Trees;

/// What a comparison came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Why the two give the same for every input; without it that is not known. Chat templates and settings are no
    /// part of it.
    pub proof: Option<Proof>,
    /// An input for which they differ.
    pub witness: Option<Witness>,
    /// The inputs that were tried, by what they are.
    pub tried: Vec<(&'static str, u64)>,
    /// The merges that differ.
    pub merges: MergeChanges,
}

/// Why two tokenizers give the same for every input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Their canonical descriptions are equal, but for flags and steps that have no effect.
    Descriptions,
    /// They differ in merges alone, and every two tokens that stay apart in one stay apart in the other.
    Merges,
}

/// An input for which two tokenizers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// A text: without any one of its characters there is no difference.
    Text {
        /// The text.
        text: String,
        /// How it is encoded, and what differs.
        call: Call,
    },
    /// Ids for the decoder: without any one of them there is no difference.
    Ids {
        /// The ids.
        ids: Vec<TokenId>,
        /// Are special tokens left out?
        skip_special: bool,
    },
}

/// The pairs of tokens that stay apart in one model alone from which texts are made.
const MOST_PAIRS_TRIED: usize = 20_000;

/// Compares two tokenizers. `texts` are tried first. Cost: bounded, whatever the two are; some seconds where nothing
/// is found.
///
/// # Errors
/// Those of the watch; out of memory; a format error for a hook without a name, which cannot be compared.
pub fn compare<'t>(
    a: &Engine,
    b: &Engine,
    texts: impl IntoIterator<Item = &'t str>,
    watch: &dyn Watch,
) -> Result<Comparison> {
    for engine in [a, b] {
        engine.description().check_hooks_have_names()?;
    }
    let ticker = &mut Ticker::new(watch);
    let canonical = |engine: &Engine| idle::without_idle_flags(engine.canonical().without_idle_parts());
    let (canonical_a, canonical_b) = (canonical(a), canonical(b));
    watch.poll()?;
    let mut search = Search {
        a,
        b,
        both: Both::new(a, b)?,
        differs: Differs::between((a, &canonical_a), (b, &canonical_b)),
        tried: Vec::new(),
        witness: None,
    };
    let mut proof = search.differs.is_none().then_some(Proof::Descriptions);
    if proof.is_none() && !search.texts("texts that were given", texts, ticker)? {
        proof = search.proof_of_merges(&canonical_a, &canonical_b, ticker)?.then_some(Proof::Merges);
        if proof.is_none() && search.witness.is_none() {
            search.everything(ticker)?;
        }
    }
    let merges = if search.differs.model { MergeChanges::of(a, b) } else { MergeChanges::default() };
    Ok(Comparison { proof, witness: search.witness, tried: search.tried, merges })
}

/// The groups of parts in which two descriptions differ.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // a flag for each group
struct Differs {
    added: bool,
    normalizer: bool,
    pre_tokenizer: bool,
    model: bool,
    frame: bool,
    decoding: bool,
}

impl Differs {
    fn between((engine_a, a): (&Engine, &Description), (engine_b, b): (&Engine, &Description)) -> Self {
        Self {
            added: a.added_tokens != b.added_tokens,
            normalizer: a.normalizer != b.normalizer,
            pre_tokenizer: a.pre_tokenizer != b.pre_tokenizer,
            model: a.model != b.model,
            frame: !engine_a.post_processors().is_equivalent_to(engine_b.post_processors()),
            decoding: a.decoding != b.decoding || a.defaults.clean_up_spaces != b.defaults.clean_up_spaces,
        }
    }

    fn is_none(self) -> bool {
        !(self.encode() || self.frame || self.decoding)
    }

    /// Do the two differ in a stage that determines the ids of a text?
    fn encode(self) -> bool {
        self.added || self.normalizer || self.pre_tokenizer || self.model
    }

    /// Do the two differ in nothing but the model?
    fn is_model_alone(self) -> bool {
        self.model && !(self.added || self.normalizer || self.pre_tokenizer || self.frame || self.decoding)
    }
}

struct Search<'a> {
    a: &'a Engine,
    b: &'a Engine,
    both: Both<'a>,
    differs: Differs,
    tried: Vec<(&'static str, u64)>,
    witness: Option<Witness>,
}

impl Search<'_> {
    /// Do the two differ in merges alone, and in such that every two tokens stay apart in both or in neither? If not,
    /// texts are made of the pairs that do not.
    fn proof_of_merges(
        &mut self,
        canonical_a: &Description,
        canonical_b: &Description,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool> {
        let is_same_model = match (canonical_a.model.as_bpe(), canonical_b.model.as_bpe()) {
            (Some(model_a), Some(model_b)) => {
                let mut without_merges = model_a.clone();
                without_merges.merges = model_b.merges.clone();
                // The rule for whole pretokens is the same, or changes nothing in either.
                let rule = |engine: &Engine| engine.bpe().map(|bpe| bpe.whole_pretokens);
                if rule(self.a).ok() == rule(self.b).ok() {
                    without_merges.whole_pretokens = model_b.whole_pretokens;
                }
                without_merges == *model_b
            }
            _ => false,
        };
        let is_proof = is_same_model && self.differs.is_model_alone();
        // A list with redundant merges, or merges by id, may come to the same merges in the same order.
        let are_of_both = |merges: MergeList| self.a.merges_by(&merges) && self.b.merges_by(&merges);
        if is_proof && (self.a.merges().is_ok_and(are_of_both) || self.b.merges().is_ok_and(are_of_both)) {
            return Ok(true);
        }
        let canonical =
            |engine: &Engine| engine.model().as_bpe().and_then(|bpe| Some(bpe.canonical()?.in_order()));
        let (Some(merges_a), Some(merges_b)) = (canonical(self.a), canonical(self.b)) else {
            return Ok(false);
        };
        if self.a.description().model.tokens() != self.b.description().model.tokens() {
            return Ok(false);
        }
        let tokens = self.a.description().model.tokens().clone();
        let (Some(trees_a), Some(trees_b)) = (Trees::new(&merges_a, &tokens), Trees::new(&merges_b, &tokens))
        else {
            return Ok(false);
        };
        let watch = ticker.watch();
        watch.poll()?;
        let (mut left, mut pairs) = (MOST_PAIRS_TRIED, 0);
        let mut each = |search: &mut Self, x: u32, y: Option<u32>| {
            pairs += 1;
            let mut bytes = tokens.bytes(x as usize).to_vec();
            bytes.extend(y.into_iter().flat_map(|y| tokens.bytes(y as usize)));
            let Some(rest) = left.checked_sub(1) else { return Ok(true) };
            left = rest;
            search.around("texts of tokens that stay apart in one of both", &bytes, watch)
        };
        let (forward, back) = ((&trees_a, &trees_b), (&trees_b, &trees_a));
        for (one, other) in [forward, back] {
            let outcome = compare_merges(one, other, &mut |x, y| each(self, x, y), ticker)?;
            match outcome {
                Outcome::Same if is_proof => return Ok(true),
                _ if self.witness.is_some() => break,
                _ => {}
            }
        }
        if pairs > 0 {
            self.tried.push(("pairs of tokens that stay apart in one of both", pairs));
        }
        Ok(false)
    }

    /// Tries everything else.
    fn everything(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let differs = self.differs;
        let has_texts = differs.encode() || differs.frame;
        if has_texts && self.all_texts(false, ticker)? {
            return Ok(());
        }
        if (differs.decoding || differs.added || differs.model) && self.ids(ticker)? {
            return Ok(());
        }
        // All characters take the longest, so it comes last.
        if !has_texts || self.all_texts(true, ticker)? || self.all_characters(false, ticker)? {
            return Ok(());
        }
        self.all_characters(true, ticker)?;
        Ok(())
    }

    fn all_characters(&mut self, is_offsets: bool, ticker: &mut Ticker<'_>) -> Result<bool> {
        let calls = self.calls(is_offsets);
        let (a, b) = (self.a.description(), self.b.description());
        self.each("single characters", &calls, ticker, &|found| characters::each_character(a, b, found))
    }

    /// The ways to call in which a difference may show.
    fn calls(&self, is_offsets: bool) -> Vec<Call> {
        if is_offsets {
            return vec![Call::Offsets];
        }
        let mut calls = Vec::new();
        if self.differs.encode() {
            calls.push(Call::Text);
            let has_special =
                |engine: &Engine| engine.description().added_tokens.iter().any(|token| token.is_special);
            if has_special(self.a) || has_special(self.b) {
                calls.push(Call::Parsed);
            }
        }
        if self.differs.frame {
            calls.extend([Call::Special, Call::Pair]);
        }
        calls
    }

    fn all_texts(&mut self, is_offsets: bool, ticker: &mut Ticker<'_>) -> Result<bool> {
        let (a, b, differs) = (self.a, self.b, self.differs);
        let (of_a, of_b) = (a.description(), b.description());
        let calls = self.calls(is_offsets);
        let mut tried =
            |kind: &'static str, search: &mut Self, make: &dyn Fn(&mut Found<'_>) -> Result<bool>| {
                search.each(kind, &calls, ticker, make)
            };
        if tried("sentences", self, &|found| {
            texts::SENTENCES.iter().try_fold(false, |done, text| Ok(done || found(text)?))
        })? {
            return Ok(true);
        }
        if tried("literals of added tokens", self, &|found| literals::each_literal(of_a, of_b, found))?
            || tried("runs of a character", self, &|found| texts::each_run(of_a, of_b, found))?
            || tried("literals of steps", self, &|found| texts::each_literal_of_steps(of_a, of_b, found))?
        {
            return Ok(true);
        }
        if differs.model && tried("tokens that differ", self, &|found| tokens::each_differing(a, b, found))? {
            return Ok(true);
        }
        let extra = texts::characters_of_steps(of_a, of_b);
        if tried("short texts", self, &|found| texts::each_short(&extra, found))? {
            return Ok(true);
        }
        if differs.model {
            let alphabet = few_characters(a);
            if tried("texts of the characters of tokens", self, &|found| {
                texts::each_up_to(&alphabet, 1 << 16, found)
            })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn ids(&mut self, ticker: &mut Ticker<'_>) -> Result<bool> {
        let (a, b) = (self.a, self.b);
        let mut witness = None;
        let mut tried: Vec<(&'static str, u64)> = Vec::new();
        decoding::each_row((a, b), &mut self.both, ticker, &mut |kind, ids, ticker| {
            count(&mut tried, kind);
            for skip_special in [false, true] {
                if decoding::differ((a, b), ids, skip_special, ticker)? {
                    let holds = |ids: &[TokenId]| decoding::differ((a, b), ids, skip_special, ticker);
                    witness = Some(Witness::Ids { ids: shrink::shrink(ids.to_vec(), holds)?, skip_special });
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        self.tried.extend(tried);
        self.witness = witness;
        Ok(self.witness.is_some())
    }

    fn texts<'t>(
        &mut self,
        kind: &'static str,
        texts: impl IntoIterator<Item = &'t str>,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool> {
        let calls = self.calls(false);
        for text in texts {
            count(&mut self.tried, kind);
            if self.try_text(text, &calls, ticker)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Texts that hold these bytes.
    fn around(&mut self, kind: &'static str, bytes: &[u8], watch: &dyn Watch) -> Result<bool> {
        let ticker = &mut Ticker::new(watch);
        each_around(bytes, 64, &mut |text| {
            count(&mut self.tried, kind);
            self.try_text(text, &[Call::Text], ticker)
        })
    }

    fn each(
        &mut self,
        kind: &'static str,
        calls: &[Call],
        ticker: &mut Ticker<'_>,
        make: &dyn Fn(&mut Found<'_>) -> Result<bool>,
    ) -> Result<bool> {
        make(&mut |text| {
            count(&mut self.tried, kind);
            self.try_text(text, calls, ticker)
        })
    }

    /// Gives a text to both pipelines; keeps what is left of it if they differ.
    fn try_text(&mut self, text: &str, calls: &[Call], ticker: &mut Ticker<'_>) -> Result<bool> {
        for &call in calls {
            if self.both.differ(text, call, ticker)? {
                let text = shrink::shrink_text(text, |text| self.both.differ(text, call, ticker))?;
                self.witness = Some(Witness::Text { text, call });
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn count(tried: &mut Vec<(&'static str, u64)>, kind: &'static str) {
    match tried.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, count)) => *count += 1,
        None => tried.push((kind, 1)),
    }
}

/// The characters of the tokens that are longer than one, if there are few.
fn few_characters(engine: &Engine) -> Vec<char> {
    const MOST: usize = 12;
    let mut chars = std::collections::BTreeSet::new();
    for (_, bytes) in engine.description().model.tokens().iter().filter(|(_, bytes)| bytes.len() > 1) {
        chars.extend(std::str::from_utf8(bytes).into_iter().flat_map(str::chars));
        if chars.len() > MOST {
            return Vec::new();
        }
    }
    chars.into_iter().collect()
}
