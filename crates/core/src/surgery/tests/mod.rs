//! What surgery promises, on small vocabularies and all texts of a few letters, by the definition of their models.
mod naive;
mod vocabularies;

use naive::Naive;
use vocabularies::{Kind, LETTERS, Random, tokenizer};

use super::{Condition, Surgery, extend, join, remap, trim};
use crate::compile::compile;
use crate::description::{
    Alphabet, BpeDescription, Description, Merges, ModelDescription, PieceKind, TokenList,
};
use crate::engine::{Engine, Special, Text};
use crate::error::{self, Result};
use crate::ids::{TokenId, to_u32};
use crate::watch::Unwatched;

/// The large tests run in full only if this is set.
fn is_slow() -> bool {
    std::env::var_os("TOKENMILL_SLOW").is_some()
}

/// The vocabularies of each kind.
fn rounds() -> usize {
    if is_slow() { 250 } else { 8 }
}

/// All texts up to a length.
fn all_texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut last = texts.clone();
    for _ in 0..if is_slow() { 7 } else { 5 } {
        last = last.iter().flat_map(|text| LETTERS.map(|letter| format!("{text}{letter}"))).collect();
        texts.extend(last.iter().cloned());
    }
    texts
}

/// A tokenizer, and the ids of all texts by the definition; `None` where a text has none.
struct Spelled {
    engine: Engine,
    ids: Vec<Option<Vec<TokenId>>>,
}

impl Spelled {
    /// The engine must give what the definition says, too.
    fn new(description: Description, texts: &[String]) -> Self {
        let naive = Naive::new(&description);
        let engine = compile(description).unwrap();
        let spell = |text: &String| {
            let ids = naive.spell(text);
            let mut found = Vec::new();
            let done = engine.encode(Text::Str(text), &Special::Text, 1, &Unwatched, &mut found);
            assert_eq!(done.is_ok().then_some(&found), ids.as_ref(), "{text} by {:?}", engine.description());
            ids
        };
        let ids = texts.iter().map(spell).collect();
        Self { engine, ids }
    }

    fn existing(&self) -> Vec<TokenId> {
        self.engine.description().model.tokens().ids().to_vec()
    }
}

/// A promise is about the ids of a tokenizer, mapped, or about those that stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Mapped,
    Stay,
}

/// Texts for which something was promised, and the others.
#[derive(Debug, Default)]
struct Tally {
    promised: usize,
    others: usize,
}

impl Tally {
    /// Checks what is promised for every text. Gives the new tokenizer.
    fn check(&mut self, texts: &[String], old: &Spelled, done: &Surgery, ids: Ids) -> Spelled {
        let new = Spelled::new(done.description.clone(), texts);
        let unk = old.engine.description().model.unk();
        for (text, (before, after)) in texts.iter().zip(old.ids.iter().zip(&new.ids)) {
            let is_kept = |&id: &TokenId| Some(id) != unk && done.id_map.of(id).is_some();
            let is_promised = match &done.promise.condition {
                Condition::All => true,
                Condition::IdsKept { longest } => {
                    assert!(longest.is_none_or(|longest| longest > 1000));
                    before.as_ref().is_some_and(|ids| ids.iter().all(is_kept))
                }
                Condition::Without(absent) => {
                    assert!(absent.iter().all(|bytes| !bytes.is_empty()));
                    let holds = |bytes: &Vec<u8>| {
                        text.as_bytes().windows(bytes.len()).any(|part| part == bytes.as_slice())
                    };
                    !absent.iter().any(holds)
                }
            };
            if !is_promised {
                self.others += 1;
                continue;
            }
            self.promised += 1;
            let place = |&id: &TokenId| if ids == Ids::Stay { Some(id) } else { done.id_map.of(id) };
            let want: Option<Vec<TokenId>> =
                before.as_ref().map(|ids| ids.iter().map(place).collect::<Option<_>>().unwrap());
            assert_eq!(*after, want, "{text}: {:?} by {:?}", old.engine.description(), done);
        }
        new
    }
}

/// Are the tokens of a tokenizer where a map says, no two at one place?
fn check_map(from: &Engine, done: &Surgery) {
    let (old, new) = (from.description().model.tokens(), done.description.model.tokens());
    let mut places = Vec::new();
    for (id, bytes) in old.iter() {
        let Some(place) = done.id_map.of(id) else { continue };
        places.push(place);
        let found = new.indices_of(place).map(|index| new.bytes(index)).collect::<Vec<_>>();
        assert_eq!(found, [bytes]);
    }
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
}

/// A law: it gets a kind of model, a random vocabulary of that kind, texts, and a source of random numbers.
type Law<'a> = dyn FnMut(Kind, Spelled, &[String], &mut Random) + 'a;

/// Tries a law on every kind.
fn for_each_kind(seed: u64, law: &mut Law<'_>) {
    let texts = all_texts();
    for (number, kind) in (1..).zip(Kind::ALL) {
        let random = &mut Random(seed.wrapping_mul(number));
        for _ in 0..rounds() {
            let description = tokenizer(kind, random);
            law(kind, Spelled::new(description, &texts), &texts, random);
        }
    }
}

#[test]
fn texts_whose_ids_are_kept_have_them_after_trimming() {
    let mut tallies: Vec<(Kind, Tally)> = Kind::ALL.map(|kind| (kind, Tally::default())).into();
    for_each_kind(0x9e37_79b9_7f4a_7c15, &mut |kind, old, texts, random| {
        for share in [2, 5, 8] {
            let wanted: Vec<bool> =
                (0..=old.existing().last().copied().unwrap_or(0)).map(|_| random.below(10) < share).collect();
            let is_wanted = |id: TokenId| wanted[id as usize];
            let done = trim(&old.engine, &is_wanted, &Unwatched).unwrap();
            check_map(&old.engine, &done);
            for id in old.existing() {
                let is_also_kept = done.promise.also_kept.contains(&id);
                assert_eq!(done.id_map.of(id).is_some(), is_wanted(id) || is_also_kept);
                assert!(!(is_wanted(id) && is_also_kept));
            }
            // Ids close up, in their order.
            let kept: Vec<TokenId> = old.existing().into_iter().filter_map(|id| done.id_map.of(id)).collect();
            assert!(kept.iter().copied().eq(0..to_u32(kept.len())));
            // Formats take the score of unknown characters from the lowest one.
            if let (ModelDescription::Unigram(before), ModelDescription::Unigram(after)) =
                (&old.engine.description().model, &done.description.model)
            {
                let lowest = |scores: &[f64]| scores.iter().copied().fold(f64::INFINITY, f64::min);
                assert!(lowest(&before.scores).total_cmp(&lowest(&after.scores)).is_eq());
            }
            tallies[kind as usize].1.check(texts, &old, &done, Ids::Mapped);
        }
    });
    for (kind, tally) in tallies {
        assert!(tally.promised > 2 * rounds() && tally.others > 2 * rounds(), "{kind:?}: {tally:?}");
    }
}

#[test]
fn texts_without_new_bytes_have_their_ids_after_extending() {
    let mut tallies: Vec<(Kind, Tally)> = Kind::ALL.map(|kind| (kind, Tally::default())).into();
    for_each_kind(0x2545_f491_4f6c_dd1d, &mut |kind, old, texts, random| {
        let model = &old.engine.description().model;
        let mut new = random.words(4);
        new.extend((kind == Kind::WordPiece).then(|| "##cbb".to_owned()));
        let tokens: Vec<Vec<u8>> = new.iter().map(|word| word.clone().into_bytes()).collect();
        let tokens: Vec<Vec<u8>> =
            tokens.into_iter().filter(|word| model.tokens().find(word).is_none()).collect();
        let done = match extend(&old.engine, &tokens, &Unwatched) {
            Ok(done) => done,
            Err(error) => return check_refusal(kind, &error),
        };
        check_map(&old.engine, &done);
        assert!(old.existing().iter().all(|&id| done.id_map.of(id) == Some(id)));
        tallies[kind as usize].1.check(texts, &old, &done, Ids::Stay);
        let naive = Naive::new(&done.description);
        let list = done.description.model.tokens();
        for token in &tokens {
            let id = list.id(list.find(token).unwrap());
            // What is always kept whole, or split again, may lie within a new token.
            let is_plain = !matches!(
                model.as_bpe().map(|model| &model.merges),
                Some(Merges::ByScore { kinds, .. })
                    if kinds.iter().any(|kind| matches!(kind, PieceKind::UserDefined | PieceKind::Unused))
            );
            let text = std::str::from_utf8(token).unwrap();
            if is_plain && !text.starts_with("##") && !is_too_long(model, text) {
                assert_eq!(naive.spell(text), Some(vec![id]), "{text} by {done:?}");
            }
        }
    });
    for (kind, tally) in tallies {
        let is_refused = matches!(kind, Kind::Continuing | Kind::EndOfWord | Kind::Unigram);
        assert_eq!(
            tally.promised > 20 * rounds() && tally.others > rounds(),
            !is_refused,
            "{kind:?}: {tally:?}"
        );
    }
}

fn is_too_long(model: &ModelDescription, text: &str) -> bool {
    matches!(model, ModelDescription::WordPiece(model) if text.len() > model.max_chars)
}

/// What cannot be extended or joined is of a kind for which that is said.
fn check_refusal(kind: Kind, error: &error::Error) {
    match &error.kind {
        error::Kind::Format { .. } => {
            assert!(
                matches!(kind, Kind::Continuing | Kind::EndOfWord | Kind::Unigram | Kind::ById),
                "{kind:?}: {error}"
            );
        }
        error::Kind::Vocabulary { .. } => {
            assert!(matches!(kind, Kind::ById | Kind::Scored), "{kind:?}: {error}");
        }
        _ => panic!("{kind:?}: {error}"),
    }
}

#[test]
fn every_text_has_its_ids_mapped_after_remapping() {
    let mut done_of = [0; Kind::ALL.len()];
    for_each_kind(0x1234_5678_9abc_def1, &mut |kind, old, texts, random| {
        let ids = old.existing();
        let mut places: Vec<TokenId> = (0..to_u32(2 * ids.len())).collect();
        random.shuffle(&mut places);
        let pairs: Vec<(TokenId, TokenId)> = ids.iter().copied().zip(places).collect();
        let done = match remap(&old.engine, &pairs) {
            Ok(done) => done,
            // Some token is built by nothing, or a piece is listed twice: their order cannot change.
            Err(error) => {
                assert!(matches!(kind, Kind::ById | Kind::Unigram), "{kind:?}: {error}");
                return;
            }
        };
        done_of[kind as usize] += 1;
        check_map(&old.engine, &done);
        assert_eq!(done.promise.condition, Condition::All);
        let new = Tally::default().check(texts, &old, &done, Ids::Mapped);
        let back: Vec<(TokenId, TokenId)> = pairs.iter().map(|&(old, new)| (new, old)).collect();
        let back = remap(&new.engine, &back).unwrap().description;
        // An order that was written down stays so.
        if kind == Kind::ById {
            assert_eq!(Spelled::new(back, texts).ids, old.ids);
        } else {
            assert_eq!(back, *old.engine.description());
        }
    });
    for (kind, number) in Kind::ALL.iter().zip(done_of) {
        assert!(number > 0, "{kind:?}");
    }
}

#[test]
fn texts_without_new_bytes_have_the_ids_of_the_first_after_joining() {
    let mut tallies: Vec<(Kind, Tally)> = Kind::ALL.map(|kind| (kind, Tally::default())).into();
    for_each_kind(0x0fed_cba9_8765_4321, &mut |kind, first, texts, random| {
        let second = compile(tokenizer(kind, random)).unwrap();
        let done: Result<Surgery> = join(&first.engine, &second);
        let done = match done {
            Ok(done) => done,
            Err(error) => return check_refusal(kind, &error),
        };
        let unk = second.description().model.unk();
        let (old, new) = (second.description().model.tokens(), done.description.model.tokens());
        for (id, bytes) in old.iter().filter(|&(id, _)| Some(id) != unk) {
            // Pieces that no text becomes are left out.
            if let Some(place) = done.id_map.of(id) {
                assert_eq!(new.bytes(new.index_of(place).unwrap()), bytes);
            } else {
                assert_eq!(kind, Kind::Scored);
            }
        }
        let before = first.existing();
        assert!(new.ids().starts_with(&before));
        tallies[kind as usize].1.check(texts, &first, &done, Ids::Stay);
    });
    for (kind, tally) in tallies {
        let is_enough = tally.promised > rounds() && tally.others > rounds();
        assert_eq!(is_enough, kind != Kind::Unigram, "{kind:?}: {tally:?}");
    }
}

/// A token with the bytes of a piece that no text becomes would be there twice.
#[test]
fn bytes_of_a_piece_that_no_text_becomes_are_not_added() {
    let pieces = [("<unk>", PieceKind::Unknown), ("a", PieceKind::Normal), ("c", PieceKind::Control)];
    let tokens = TokenList::from_entries((0..).zip(pieces.map(|(text, _)| text)).collect());
    let merges = Merges::ByScore { scores: vec![0.0; 3], kinds: pieces.map(|(_, kind)| kind).to_vec() };
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, merges);
    let model = ModelDescription::Bpe(BpeDescription { unk: Some(0), ..plain });
    let engine = compile(Description::of_model(model)).unwrap();
    let error = extend(&engine, &[b"ac".to_vec()], &Unwatched).unwrap_err();
    assert!(matches!(error.kind, error::Kind::Vocabulary { id: Some(2), .. }), "{error}");
    let done = extend(&engine, &[b"aa".to_vec()], &Unwatched).unwrap();
    assert_eq!(done.description.model.tokens().ids(), [0, 1, 2, 3]);
}
