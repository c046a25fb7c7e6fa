//! Compiles a description into an engine. In: a [`Description`] and the caller's hooks, or the image of an engine
//! that was compiled before. Out: an [`Engine`], or the error of an invalid description. This is the only module that
//! chooses between the implementations of a stage.
use crate::decode::Chain;
use crate::description::{AddedToken, Additions, Description, Merges, Split};
use crate::engine::{AddedSet, Engine, Raw, Stages};
use crate::error::{Defect, Error, Result};
use crate::hooks::Hooks;
use crate::model::Model;
use crate::normalize::Normalizers;
use crate::pattern::{Plan, Splitter};
use crate::postprocess::PostProcessors;
use crate::pretokenize::{PreTokenizers, STEPS_LIMIT, only_splits};
use crate::special::LiteralMatcher;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched, Watch};
use tokenmill_kernels::image::ImageReader;
use tokenmill_kernels::{Automaton, NO_KEY, State};

/// Checks a description and compiles it. Cost: proportional to the vocabulary.
///
/// # Errors
/// A format error that names the wrong field of the description; a pattern error for an invalid split.
pub fn compile(description: Description) -> Result<Engine> {
    compile_with(description, &Hooks::default())
}

/// As [`compile`], for a description that names hooks; `hooks` holds the functions.
///
/// # Errors
/// As [`compile`]; a format error that names a missing hook; the error of a hook that is called to
/// normalize an added token.
pub fn compile_with(description: Description, hooks: &Hooks) -> Result<Engine> {
    compile_watched(description, hooks, &Unwatched)
}

/// As [`compile_with`]. The watch is polled while the tokens are processed one by one, and between
/// the tables that are built from all tokens at once.
///
/// # Errors
/// As [`compile_with`]; errors of the watch.
pub fn compile_watched(description: Description, hooks: &Hooks, watch: &dyn Watch) -> Result<Engine> {
    compile_with_additions(description, &Additions::default(), hooks, watch)
}

/// As [`compile_watched`], with the caller's [`Additions`]. The tables are built once, for the description with these
/// tokens. A model without them is built only if one of them is an ordinary token and no merge list
/// says whether text becomes it.
///
/// # Errors
/// As [`compile_watched`], and [`Description::with_additions`].
pub fn compile_with_additions(
    mut description: Description,
    additions: &Additions,
    hooks: &Hooks,
    watch: &dyn Watch,
) -> Result<Engine> {
    let ticker = &mut Ticker::new(watch);
    description.model.tokens().prepare_to_find(ticker)?;
    description.validate()?;
    if !additions.is_empty() {
        // A list of merges says what text becomes; only other models are asked.
        let is_listed = description.model.as_bpe().is_some_and(|bpe| matches!(bpe.merges, Merges::Listed(_)));
        let (without, mut made) = ((!is_listed).then(|| description.clone()), None);
        description = description.with_additions(additions, &mut |bytes| {
            let Some(without) = &without else { return Ok(None) };
            let (vocabulary, model) = match &made {
                Some(tables) => tables,
                None => &*made.insert(tables(without, ticker)?),
            };
            Ok(model.spells_as_one(bytes, vocabulary))
        })?;
        description.model.tokens().prepare_to_find(ticker)?;
        description.validate()?;
    }
    watch.poll()?;
    let (vocabulary, model) = tables(&description, ticker)?;
    watch.poll()?;
    let (stages, hooks) = stages(&description, hooks, (vocabulary, model), None, ticker)?;
    Ok(Engine::new(description, hooks, stages))
}

/// The engine whose tables [`Engine::write_tables`] wrote to an image, which is read from where they begin. In: its
/// description [without tables](Description::without_tables). The tables stay parts of the image.
///
/// # Errors
/// As [`compile_watched`]; if the parts of the image contradict each other.
pub fn from_image(
    mut description: Description,
    mut image: ImageReader,
    hooks: &Hooks,
    watch: &dyn Watch,
) -> Result<Engine> {
    let ticker = &mut Ticker::new(watch);
    description.read_tables(&mut image)?;
    let vocabulary = Vocabulary::read_tables(&description, &mut image)?;
    let model = Model::read(&description.model, &vocabulary, &mut image)?;
    let (stages, hooks) = stages(&description, hooks, (vocabulary, model), Some(&mut image), ticker)?;
    let engine = Engine::read(description, hooks, stages, &mut image)?;
    image.end()?;
    Ok(engine)
}

/// The stages of a valid description, around its tables; and the hooks that it names.
fn stages(
    description: &Description,
    hooks: &Hooks,
    (vocabulary, model): (Vocabulary, Model),
    image: Option<&mut ImageReader>,
    ticker: &mut Ticker<'_>,
) -> Result<(Stages, Hooks)> {
    let normalizers = Normalizers::compile(&description.normalizer, hooks).map_err(|e| e.at("normalizer"))?;
    let added = &description.added_tokens;
    let is_one_pass = normalizers.is_empty() && may_be_found_at_once(added);
    let added_set = |keep: &dyn Fn(&AddedToken) -> bool, literal: &dyn Fn(&AddedToken) -> Result<String>| {
        let chosen = added.iter().enumerate().filter(|(_, token)| keep(token));
        let chosen = chosen.map(|(i, token)| match literal(token) {
            Ok(literal) => Ok((token, literal)),
            Err(error) => Err(error.at_index(i).at("added_tokens")),
        });
        AddedSet::new(chosen.collect::<Result<Vec<_>>>()?)
    };
    let added_in_raw =
        added_set(&|token| is_one_pass || !token.normalized, &|token| Ok(token.content.clone()))?;
    let added_in_normalized =
        added_set(&|token| !is_one_pass && token.normalized, &|token| match normalizers
            .apply_to(&token.content)?
        {
            literal if literal.is_empty() => {
                let reason = format!("added token {:?} is empty when it is normalized", token.content);
                Err(Error::format(Defect::Unsupported, reason).at("normalized"))
            }
            literal => Ok(literal),
        })?;
    ticker.watch().poll()?;
    // Usually special tokens are all that is searched for in raw text.
    let is_special_alone = added_in_raw.is_special() && added_in_normalized.is_empty();
    let special = if is_special_alone {
        added_in_raw.literals().clone()
    } else {
        let special = added.iter().filter(|token| token.is_special);
        LiteralMatcher::new(special.map(|token| token.content.as_str()))?
    };
    let splitter = splitter(description)?;
    let pre_tokenizers = if splitter.is_some() {
        PreTokenizers::default()
    } else {
        PreTokenizers::compile(&description.pre_tokenizer, hooks).map_err(|e| e.at("pre_tokenizer"))?
    };
    let before_model = (&normalizers, &pre_tokenizers);
    let raw = match image {
        Some(image) => Raw::read(description, before_model, (&model, &vocabulary), image)?,
        // It is not used where one of them is looked for.
        None if added_in_normalized.is_empty() || added_in_normalized.has_only_special() => {
            Raw::new(description, before_model, (&model, &vocabulary), ticker)?
        }
        None => None,
    };
    let splits_everything = splitter.as_ref().is_some_and(|splitter| splitter.plan() != Plan::Backtracking);
    let spells_everything = splits_everything && normalizers.never_fails() && model.is_byte_complete();
    let mut chain = Chain::compile(&description.decoding, &description.model).map_err(|e| e.at("decoder"))?;
    if description.defaults.clean_up_spaces {
        chain = Some(Chain::cleaning(chain, description)?);
    }
    let post_processors =
        PostProcessors::compile(&description.post_processor).map_err(|e| e.at("post_processor"))?;
    let stages = Stages {
        added_in_raw,
        normalizers,
        added_in_normalized,
        splitter,
        pre_tokenizers,
        raw,
        spells_everything,
        model,
        post_processors,
        chain,
        special,
        vocabulary,
    };
    ticker.watch().poll()?;
    Ok((stages, hooks.named_by(description)))
}

/// The splitter, if pre-tokenization does nothing but split.
fn splitter(description: &Description) -> Result<Option<Splitter>> {
    let steps = &description.pre_tokenizer;
    if steps.len() > STEPS_LIMIT {
        let reason = format!("{} steps of pre-tokenization are over the limit of {STEPS_LIMIT}", steps.len());
        return Err(Error::limit(reason, STEPS_LIMIT as u64).at("pre_tokenizer"));
    }
    if let Some(split) = Split::of_stages(steps) {
        // An error of the only split needs no field name: its pattern identifies it.
        return Splitter::compile(&split).map(Some);
    }
    let Some(steps) = only_splits(steps) else { return Ok(None) };
    Splitter::compile_steps(&steps).map_err(|error| error.at("pre_tokenizer"))
}

/// The tables of a valid description.
fn tables(description: &Description, ticker: &mut Ticker<'_>) -> Result<(Vocabulary, Model)> {
    #[cfg(test)]
    tests::MADE.set(tests::MADE.get() + 1);
    let vocabulary = Vocabulary::new(description);
    ticker.watch().poll()?;
    let model = Model::new(&description.model, &vocabulary, ticker)?;
    Ok((vocabulary, model))
}

/// Can one search find both kinds of added tokens? Normalized tokens are searched for in the text
/// between the others. If no text can contain literals of the two kinds that share a character, a
/// single search gives the same result. Cost: near-linear in the bytes of the literals.
fn may_be_found_at_once(added: &[AddedToken]) -> bool {
    let (later, first): (Vec<_>, Vec<_>) = added.iter().partition(|token| token.normalized);
    if later.is_empty() || first.is_empty() {
        return true;
    }
    // White space that one token strips may be the context that another token checks, and a token
    // found in the first search is not a neighbour in the second.
    added.iter().all(|token| !token.lstrip && !token.rstrip)
        && later.iter().all(|token| !token.single_word)
        && !may_overlap(&later, &first)
        && !may_overlap(&first, &later)
}

/// Does one of `texts` contain one of `literals`, or end with the start of one?
fn may_overlap(texts: &[&AddedToken], literals: &[&AddedToken]) -> bool {
    let literals = (0..).zip(literals.iter().map(|token| token.content.as_bytes()));
    let automaton = Automaton::new(literals);
    texts.iter().any(|text| {
        let mut state = State::START;
        let holds_one = text.content.bytes().any(|byte| {
            state = automaton.step(state, byte);
            automaton.longest(state) != NO_KEY
        });
        holds_one || state != State::START
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Alphabet, BpeDescription, Merges, PreTokenizer, TokenList};
    use crate::error::Kind;
    use crate::watch::cancelled;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn added(contents: &[String], normalized: bool) -> Vec<AddedToken> {
        let token = |content: &String| AddedToken { normalized, ..AddedToken::special(0, content) };
        contents.iter().map(token).collect()
    }

    /// Is there a text in which the two share a character?
    fn overlap_naively(a: &str, b: &str) -> bool {
        let meet = |left: &str, right: &str| left.char_indices().any(|(i, _)| right.starts_with(&left[i..]));
        a.contains(b) || b.contains(a) || meet(a, b) || meet(b, a)
    }

    proptest! {
        #[test]
        fn one_search_is_enough_where_no_two_literals_overlap(
            later in prop::collection::vec("[ab]{1,4}|[abcdéè]{1,3}", 0..3),
            first in prop::collection::vec("[cd]{1,4}|[abcdéè]{1,3}", 0..3),
        ) {
            let overlap = later.iter().any(|a| first.iter().any(|b| overlap_naively(a, b)));
            let all = [added(&later, true), added(&first, false)].concat();
            prop_assert_eq!(may_be_found_at_once(&all), !overlap);
        }
    }

    fn numbers(count: u32, with_bytes: bool) -> Description {
        let bytes = (0..=255).filter(|byte: &u8| with_bytes && !byte.is_ascii_digit()).map(|byte| vec![byte]);
        let tokens = (0..count).map(|number| number.to_string().into_bytes()).chain(bytes);
        let tokens = TokenList::from_entries((0..).zip(tokens).collect());
        Description::of_bpe(&Split::Whole, BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById))
    }

    /// Cancels the work at its last permitted poll.
    struct Patience {
        left: AtomicUsize,
    }

    impl Watch for Patience {
        fn poll(&self) -> Result<()> {
            let left =
                self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map_or_else(|_| Err(cancelled()), |_| Ok(()))
        }

        fn progress(&self, _: &'static str, _: u64, _: u64) {}
    }

    #[test]
    fn compiling_stops_whenever_the_watch_says_so() {
        for with_bytes in [false, true] {
            let all = 10_000;
            let compile = |left| {
                let patience = Patience { left: AtomicUsize::new(left) };
                let description = numbers(100_000, with_bytes);
                let error = compile_watched(description, &Hooks::default(), &patience).err();
                (error.map(Error::into_kind), left - patience.left.load(Ordering::Relaxed))
            };
            let (error, polls) = compile(all);
            assert!(error.is_none());
            // The watch is polled all the time, not only between the tables.
            assert!(polls > 100, "{polls}");
            for left in [0, 1, polls / 3, polls / 2, polls - 1] {
                assert!(matches!(compile(left).0, Some(Kind::Cancelled)));
            }
        }
    }

    thread_local! {
        /// Number of models built on this thread.
        pub(super) static MADE: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn special_tokens_of_the_caller_cost_no_second_model() {
        let made = |description: Description, content: &str| {
            MADE.set(0);
            let special = Additions::of_special_tokens(vec![(content.to_owned(), None)]);
            let hooks = Hooks::default();
            let engine = compile_with_additions(description.clone(), &special, &hooks, &Unwatched).unwrap();
            let made = MADE.get();
            let extended = compile(description).unwrap().with_additions(&special).unwrap();
            assert_eq!(engine.description(), &extended);
            made
        };
        assert_eq!(made(numbers(1000, true), "<s>"), 1);
        // An ordinary token that no merge builds: the model is asked, and rebuilt without the token.
        let mut description = numbers(1000, true);
        let tokens = description.model.tokens();
        let entries = tokens.iter().map(|(id, bytes)| (id, bytes.to_vec())).chain([(5000, b"<s>".to_vec())]);
        let tokens = TokenList::from_entries(entries.collect());
        description.model = crate::description::ModelDescription::Bpe(BpeDescription::plain(
            Alphabet::Bytes,
            tokens,
            Merges::ById,
        ));
        assert_eq!(made(description, "<s>"), 2);
    }

    #[test]
    fn special_tokens_are_added_in_linear_time() {
        let engine = compile(numbers(1000, true)).unwrap();
        let tokens: Vec<(String, Option<u32>)> = (0..200_000).map(|i| (format!("<{i}>"), None)).collect();
        let additions = Additions::of_special_tokens(tokens.clone());
        let description = engine.with_additions(&additions).unwrap();
        assert_eq!(description.added_tokens.len(), tokens.len());
        assert!(
            description
                .added_tokens
                .iter()
                .zip(&tokens)
                .all(|(token, (content, _))| token.content == *content)
        );
    }

    #[test]
    fn literals_of_both_kinds_are_compared_in_linear_time() {
        // The two kinds overlap only in their first characters.
        let long = |letter: char, kind: bool| {
            let contents: Vec<String> =
                (0..300).map(|i| format!("{}{i}", letter.to_string().repeat((64 << 10) - 300 - i))).collect();
            added(&contents, kind)
        };
        assert!(may_be_found_at_once(&[long('a', true), long('b', false)].concat()));
        assert!(!may_be_found_at_once(&[long('a', true), long('a', false)].concat()));
    }

    #[test]
    fn steps_that_would_use_up_the_stack_are_refused() {
        for step in [PreTokenizer::FixedLength(2), PreTokenizer::Digits { individual: true }] {
            for (count, is_fine) in [(STEPS_LIMIT, true), (STEPS_LIMIT + 1, false)] {
                let pre_tokenizer = vec![step.clone(); count];
                let error = compile(Description { pre_tokenizer, ..numbers(300, true) }).err();
                let said = error.map(|error| error.to_string());
                assert_eq!(said.is_none(), is_fine, "{said:?}");
            }
        }
    }
}
