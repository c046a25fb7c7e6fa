//! A tokenizer without some of its tokens.
//!
//! In: which tokens to keep. Out: the tokenizer with these and with what they need, ids close together. A text whose
//! old ids are all kept must have the same ids: so what a kept token is made of stays, and what decides how text is
//! spelled elsewhere.
use super::{Condition, IdMap, Promise, Surgery, remap};
use crate::byte_alphabet;
use crate::description::{
    Alphabet, BpeDescription, EndOfWordForm, Merges, ModelDescription, PieceKind, PostProcessor, Role,
    TokenList, UnigramDescription,
};
use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::ids::{NO_ID, TokenId};
use crate::model::bpe::{Bpe, BpeScratch, MAX_EXPLAINED_SYMBOLS, MergeSteps};
use crate::watch::{Ticker, Watch};

/// Sums of SentencePiece start over beyond this number.
const RESTART_LIMIT: f64 = 1e5;

/// The same tokenizer with only the tokens for whose id `wanted` is true, and those that are always kept: added tokens,
/// bytes, the unknown token and what has a role, and what kept tokens are made of.
///
/// # Errors
/// A vocabulary error for a kept token with too many symbols for its merging to be explained; errors of the watch.
pub fn trim(engine: &Engine, wanted: &dyn Fn(TokenId) -> bool, watch: &dyn Watch) -> Result<Surgery> {
    let mut ticker = Ticker::new(watch);
    let identity = IdMap::identity(engine)?;
    let exists: Vec<bool> = identity.iter().map(|id| id.is_some()).collect();
    let mut keeping = Keeping { engine, kept: vec![false; exists.len()], waiting: Vec::new() };
    for id in (0..).take(exists.len()).filter(|&id| wanted(id)) {
        keeping.keep(id);
    }
    keeping.keep_what_always_stays();
    keeping.close(&mut ticker)?;
    let mut next = 0..;
    let new = exists
        .iter()
        .zip(&keeping.kept)
        .map(|(&exists, &kept)| if exists && kept { next.next().unwrap_or(NO_ID) } else { NO_ID });
    let id_map = IdMap::new(new.collect());
    let also_kept =
        (0..).zip(id_map.iter()).filter(|&(id, new)| new.is_some() && !wanted(id)).map(|(id, _)| id);
    let condition = Condition::IdsKept { longest: longest(engine) };
    let promise = Promise { condition, also_kept: also_kept.collect() };
    Ok(Surgery { description: remap::renumbered(engine, &id_map)?, id_map, promise })
}

/// The characters of a pretoken up to which no sum of a Unigram model starts over: its distance from 0 is at most
/// that of the worst edge, for each character.
fn longest(engine: &Engine) -> Option<usize> {
    let ModelDescription::Unigram(model) = &engine.description().model else { return None };
    if !model.single_precision {
        return None;
    }
    let farthest =
        model.scores.iter().map(|score| score.abs()).fold(model.unk_score.abs().max(1.0), f64::max);
    // One less than the quotient, for what the sums were rounded by.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a positive number below 1e5
    Some(((RESTART_LIMIT / farthest * 0.99) as usize).saturating_sub(1))
}

/// The tokens that are kept so far.
struct Keeping<'a> {
    engine: &'a Engine,
    /// By id.
    kept: Vec<bool>,
    /// Kept ids whose parts have not been looked at.
    waiting: Vec<TokenId>,
}

impl Keeping<'_> {
    fn keep(&mut self, id: TokenId) {
        if let Some(kept) = self.kept.get_mut(id as usize)
            && !std::mem::replace(kept, true)
        {
            self.waiting.push(id);
        }
    }

    fn keep_what_always_stays(&mut self) {
        let description = self.engine.description();
        description.added_tokens.iter().for_each(|token| self.keep(token.id));
        let roles = Role::ALL.into_iter().filter_map(|role| description.roles.of(role));
        let padding = description.padding.as_ref().map(|padding| padding.id);
        roles.chain(description.model.unk()).chain(padding).for_each(|id| self.keep(id));
        for step in &description.post_processor {
            match step {
                PostProcessor::Template(template) => {
                    let ids = template.special_tokens.iter().flat_map(|token| &token.ids);
                    ids.for_each(|&id| self.keep(id));
                }
                PostProcessor::Bert { sep, cls } | PostProcessor::Roberta { sep, cls, .. } => {
                    self.keep(sep.1);
                    self.keep(cls.1);
                }
                PostProcessor::ByteLevel { .. } => {}
            }
        }
        let tokens = description.model.tokens();
        for byte in 0..=u8::MAX {
            for written in [vec![byte], byte_alphabet::written_byte(byte).into_bytes()] {
                let is_byte = written.len() > 1 || description.is_byte_level();
                if let Some(index) = tokens.find(&written).filter(|_| is_byte) {
                    self.keep(tokens.id(index));
                }
            }
        }
        match &description.model {
            ModelDescription::Bpe(model) => self.keep_of_bpe(model),
            ModelDescription::Unigram(model) => self.keep_of_unigram(model),
            ModelDescription::WordPiece(_) | ModelDescription::WordLevel(_) => {}
        }
    }

    fn keep_of_bpe(&mut self, model: &BpeDescription) {
        if let Alphabet::Chars { end_of_word: Some(mark) } = &model.alphabet
            && mark.form == EndOfWordForm::Separate
            && let Some(index) = model.tokens.find(mark.symbol.as_bytes())
        {
            self.keep(model.tokens.id(index));
        }
        // What text becomes by way of an unused piece depends on it, although it is in no result.
        if let Merges::ByScore { kinds, .. } = &model.merges {
            self.keep_kinds(&model.tokens, kinds);
        }
    }

    /// A character that is no piece would be unknown where it was none before, and its score is that of the lowest
    /// piece.
    fn keep_of_unigram(&mut self, model: &UnigramDescription) {
        self.keep_kinds(&model.tokens, &model.kinds);
        // Of equal pieces the last one counts; without it another would.
        let is_repeated = |index: usize, bytes: &[u8]| model.tokens.find(bytes) != Some(index);
        for (index, (id, bytes)) in model.tokens.iter().enumerate() {
            if std::str::from_utf8(bytes).is_ok_and(|text| text.chars().count() == 1) {
                self.keep(id);
            }
            if let Some(last) = model.tokens.find(bytes).filter(|_| is_repeated(index, bytes)) {
                self.keep(model.tokens.id(last));
            }
        }
        let normal = |index: &usize| model.kinds.get(*index).is_none_or(|kind| *kind == PieceKind::Normal);
        let lowest = (0..model.scores.len())
            .filter(normal)
            .min_by(|&a, &b| model.scores[a].total_cmp(&model.scores[b]));
        if let Some(index) = lowest {
            self.keep(model.tokens.id(index));
        }
    }

    fn keep_kinds(&mut self, tokens: &TokenList, kinds: &[PieceKind]) {
        for (index, kind) in kinds.iter().enumerate() {
            if *kind != PieceKind::Normal {
                self.keep(tokens.id(index));
            }
        }
    }

    /// Keeps what kept tokens are made of.
    fn close(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let (Some(model), Some(bpe)) =
            (self.engine.description().model.as_bpe(), self.engine.model().as_bpe())
        else {
            return Ok(());
        };
        let is_marked = model.continuing_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty())
            || matches!(model.alphabet, Alphabet::Chars { end_of_word: Some(_) });
        if is_marked {
            return self.close_over_all_parts(ticker);
        }
        let mut scratch = BpeScratch::default();
        while let Some(id) = self.waiting.pop() {
            for index in model.tokens.indices_of(id) {
                for part in parts(self.engine, (model, bpe), index, &mut scratch, ticker)? {
                    self.keep(part);
                }
            }
        }
        Ok(())
    }

    /// As [`Self::close`], where a token's bytes are not those of a text: every pair that may become it is kept.
    fn close_over_all_parts(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let merges = self.engine.merges()?;
        let mut by_result: Vec<Vec<(TokenId, TokenId)>> = vec![Vec::new(); self.kept.len()];
        for merge in merges.iter() {
            ticker.spend(4)?;
            by_result[merge.result as usize].push((merge.left, merge.right));
        }
        while let Some(id) = self.waiting.pop() {
            for &(left, right) in &by_result[id as usize] {
                self.keep(left);
                self.keep(right);
            }
        }
        Ok(())
    }
}

/// The ids of all tokens that merging makes on the way to one, first symbols included. None for a token that merging
/// does not make.
fn parts(
    engine: &Engine,
    (model, bpe): (&BpeDescription, &Bpe),
    index: usize,
    scratch: &mut BpeScratch,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<TokenId>> {
    let (id, bytes) = (model.tokens.id(index), model.tokens.bytes(index));
    if std::str::from_utf8(bytes).is_err() && !engine.description().is_byte_level() {
        return Ok(Vec::new());
    }
    let steps = match bpe.steps(bytes, &[id], (model, engine.vocabulary()), scratch, ticker) {
        Ok(steps) => steps,
        Err(error) if matches!(error.kind, Kind::UnknownToken { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let (symbols, merges) = match steps {
        MergeSteps::Whole => return Ok(Vec::new()),
        MergeSteps::TooLong(count) => {
            let reason = format!(
                "has {count} symbols; what a token of more than {MAX_EXPLAINED_SYMBOLS} is made of is not looked for"
            );
            return Err(Error::vocabulary(Some(id.into()), reason));
        }
        MergeSteps::Merged { symbols, merges } => (symbols, merges),
    };
    if symbols.len() != merges.len() + 1 {
        return Ok(Vec::new());
    }
    let written = symbols.iter().chain(merges.iter().map(|merge| &merge.result));
    let found = written.filter_map(|written| {
        let bytes = if engine.description().is_byte_level() {
            byte_alphabet::read(written)?
        } else {
            written.clone().into_bytes()
        };
        model.tokens.find(&bytes).map(|index| model.tokens.id(index))
    });
    Ok(found.collect())
}
