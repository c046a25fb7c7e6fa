//! Writes the keys of a GGUF file as llama.cpp's converter does, and no tensors.
//!
//! In: an engine. Out: a file that this module's reader reads as the same tokenizer. What llama.cpp makes of the ids of
//! a text must be said by its own keys, or the file is refused. What it leaves out for every model of a family (a
//! normal form before byte-level merges, flags of added tokens, the longest word of BERT) stands in the keys of
//! `whole`.
use std::borrow::Cow;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{
    Alphabet, BpeDescription, ChatTemplates, Description, Merges, ModelDescription, Normalizer, PieceKind,
    PostProcessor, PreTokenizer, Role, TemplatePiece, WordPieceDescription,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::keys::KeyWriter;
use super::metadata::key;
use super::read::{MARK, is_bracketed, parse};
use super::{chat, pre, whole};
use crate::fingerprint::Digests;
use crate::folder::LOSSY;
use crate::limits::ENTRY_LIMIT;
use crate::report::Report;
use crate::vocab_txt;

/// Scores of tokens outside the model and of ids without a token, as llama.cpp's converter has them.
const OUTSIDE_SCORE: f32 = -1000.0;
const GAP_SCORE: f32 = -10000.0;

/// Writes a file; the same bytes every time. With `lossy`, what the keys of llama.cpp leave out is left out.
///
/// # Errors
/// A format error that names what a GGUF file cannot hold.
pub(crate) fn write(engine: &Engine, lossy: bool) -> Result<Vec<u8>> {
    let description = engine.canonical();
    let keys = match &description.model {
        ModelDescription::Bpe(BpeDescription { merges: Merges::ByScore { scores, kinds }, .. }) => {
            of_pieces(&description, "llama", scores, kinds)
        }
        #[allow(clippy::cast_possible_truncation)] // what the format holds; the check is below
        ModelDescription::Unigram(model) if !model.kinds.is_empty() => of_pieces(
            &description,
            "t5",
            &model.scores.iter().map(|&s| s as f32).collect::<Vec<_>>(),
            &model.kinds,
        ),
        ModelDescription::Unigram(_) => cannot("model", "GGUF holds pieces as SentencePiece counts them"),
        ModelDescription::Bpe(model) => of_bytes(engine, &description, model, lossy),
        ModelDescription::WordPiece(model) => of_words(&description, model),
        ModelDescription::WordLevel(_) => cannot("model", "GGUF has no model of whole words"),
    }?;
    if lossy {
        return Ok(keys.finish());
    }
    let mut plain = parse(&keys.finish(), None, &mut Report::default()).map_err(whole::refused)?;
    check(&plain, &description)?;
    let digests = Digests::of(engine)?;
    let mut framed = keys.clone();
    whole::write_frame(&description, &mut framed);
    let is_framed = plain.roles == description.roles && plain.defaults == description.defaults;
    (plain.roles, plain.defaults) = (description.roles, description.defaults);
    let of_keys = Digests::of(&compile(plain)?)?;
    if of_keys == digests {
        return Ok(if is_framed { keys } else { framed }.finish());
    }
    whole::write_source(engine, &mut framed).map_err(|error| {
        let others = [
            (of_keys.encode != digests.encode, "ids"),
            (of_keys.decode != digests.decode, "decoded texts"),
            (of_keys.template != digests.template, "tokens around a text"),
        ];
        let others: Vec<&str> = others.iter().filter_map(|(differ, what)| differ.then_some(*what)).collect();
        let what = format!(
            "the keys of llama.cpp say other {}, and what could stand beside them cannot hold this either",
            others.join(" and ")
        );
        whole::refused_as(&what, error)
    })?;
    let file = framed.finish();
    let again = parse(&file, None, &mut Report::default()).map_err(whole::refused)?;
    if Digests::of(&compile(again)?)? == digests {
        Ok(file)
    } else {
        cannot("added_tokens", "a GGUF file cannot hold this as it is")
    }
}

fn cannot<T>(field: &str, what: &str) -> Result<T> {
    Err(Error::format(Defect::CannotHold, format!("{what}; save as tokenizer.json")).at(field.to_owned()))
}

/// Checks that llama.cpp's own keys say which ids a text becomes. `plain` is what they are read as.
fn check(plain: &Description, description: &Description) -> Result<()> {
    let refuse = |field: &str, what: &str| {
        let reason = format!("{what}; save as tokenizer.json, or {LOSSY}");
        Err(Error::format(Defect::CannotHold, reason).at(field.to_owned()))
    };
    let has_pieces = matches!(plain.normalizer.as_slice(), [Normalizer::SentencePiece(_)]);
    if has_pieces && !has_same_pieces(&plain.model, &description.model) {
        let what = "llama.cpp reads these pieces in another way (user-defined ones, ids without a piece, added tokens)";
        return refuse("model", what);
    }
    if let Some(id) = whole::first_difference(plain, description) {
        return refuse("model", &format!("the token {id} has bytes that no text of a GGUF file stands for"));
    }
    // llama.cpp has no normal forms, and its converter leaves out those of byte-level models.
    let is_normal_form =
        matches!(description.normalizer.as_slice(), [Normalizer::Nfc(_)]) && description.is_byte_level();
    let same_words = |step: &Normalizer| match step {
        Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
            Some((*clean_text, *handle_chinese_chars, strip_accents.unwrap_or(*lowercase), *lowercase))
        }
        _ => None,
    };
    let is_same_step = |(a, b)| a == b || same_words(a).is_some_and(|words| Some(words) == same_words(b));
    let is_same_normalizer = plain.normalizer.len() == description.normalizer.len()
        && plain.normalizer.iter().zip(&description.normalizer).all(is_same_step);
    if !is_normal_form && !is_same_normalizer {
        return refuse("normalizer", "llama.cpp has no such normalization");
    }
    let is_split = plain.model.as_bpe().is_some_and(|model| model.alphabet == Alphabet::Bytes);
    if !is_split && plain.pre_tokenizer != description.pre_tokenizer {
        return refuse("pre_tokenizer", "llama.cpp cuts text for this model in another way");
    }
    if plain.model.unk() != description.model.unk() && !plain.is_byte_level() {
        return refuse("model", "llama.cpp takes another token for the unknown one");
    }
    let around = around(&description.post_processor);
    if around.is_none() || around != self::around(&plain.post_processor) {
        return refuse("post_processor", "GGUF puts at most one token before a text and one after it");
    }
    Ok(())
}

/// Are these the same pieces? Whether unknown characters next to each other are one token does not matter where each is
/// spelled by its bytes.
fn has_same_pieces(plain: &ModelDescription, own: &ModelDescription) -> bool {
    match (plain, own) {
        (ModelDescription::Bpe(plain), ModelDescription::Bpe(own)) if plain.byte_fallback => {
            BpeDescription { fuse_unk: own.fuse_unk, ..plain.clone() } == *own
        }
        _ => plain == own,
    }
}

/// The ids before and after a single text; `None` if they are others than at most one of each.
fn around(steps: &[PostProcessor]) -> Option<(Option<TokenId>, Option<TokenId>)> {
    let mut steps = steps.iter().filter(|step| !matches!(step, PostProcessor::ByteLevel { .. }));
    let (step, rest) = (steps.next(), steps.next());
    if rest.is_some() {
        return None;
    }
    let template = match step {
        None => return Some((None, None)),
        Some(PostProcessor::Bert { cls, sep } | PostProcessor::Roberta { cls, sep, .. }) => {
            return Some((Some(cls.1), Some(sep.1)));
        }
        Some(PostProcessor::Template(template)) => template,
        Some(PostProcessor::ByteLevel { .. }) => return None,
    };
    let id = |piece: &TemplatePiece| match piece {
        TemplatePiece::Special { name, .. } => {
            let token = template.special_tokens.iter().find(|token| token.name == *name)?;
            <[TokenId; 1]>::try_from(token.ids.as_slice()).ok().map(|[id]| id)
        }
        TemplatePiece::Sequence { .. } => None,
    };
    let is_text = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Sequence { second: false, .. });
    match template.single.as_slice() {
        [text] if is_text(text) => Some((None, None)),
        [before, text] if is_text(text) => Some((Some(id(before)?), None)),
        [text, after] if is_text(text) => Some((None, Some(id(after)?))),
        [before, text, after] if is_text(text) => Some((Some(id(before)?), Some(id(after)?))),
        _ => None,
    }
}

/// A token of a file.
struct Entry<'a> {
    text: Cow<'a, str>,
    kind: PieceKind,
    score: f32,
}

/// The tokens of a file by id: those of the model, added tokens in their place, and a token for each gap.
fn entries<'a>(
    description: &'a Description,
    of_model: impl Fn(usize, &'a [u8]) -> Result<Entry<'a>>,
) -> Result<Vec<Entry<'a>>> {
    let tokens = description.model.tokens();
    let added = &description.added_tokens;
    let largest = tokens.ids().last().copied().max(added.last().map(|token| token.id));
    let count = largest.map_or(0, |id| id as usize + 1);
    if count > ENTRY_LIMIT {
        return Err(Error::limit(format!("{count} ids are more than {ENTRY_LIMIT}"), ENTRY_LIMIT as u64));
    }
    let mut entries: Vec<Option<Entry<'a>>> = Vec::new();
    entries.resize_with(count, || None);
    for (index, (id, bytes)) in tokens.iter().enumerate() {
        let entry = &mut entries[id as usize];
        if entry.is_none() {
            *entry = Some(of_model(index, bytes)?);
        }
    }
    for token in added {
        let (kind, score) = match &entries[token.id as usize] {
            // A piece keeps its kind: its library knows it by that.
            Some(Entry { kind, score, .. }) if *kind != PieceKind::Normal => (*kind, *score),
            other => {
                let kind = if token.is_special { PieceKind::Control } else { PieceKind::UserDefined };
                (kind, other.as_ref().map_or(OUTSIDE_SCORE, |entry| entry.score))
            }
        };
        entries[token.id as usize] = Some(Entry { text: token.content.as_str().into(), kind, score });
    }
    let filled = entries.into_iter().enumerate().map(|(id, entry)| {
        entry.unwrap_or_else(|| Entry {
            text: format!("[PAD{id}]").into(),
            kind: PieceKind::Unused,
            score: GAP_SCORE,
        })
    });
    Ok(filled.collect())
}

/// The number of a kind in `token_type`.
fn number(kind: PieceKind) -> i32 {
    match kind {
        PieceKind::Normal => 1,
        PieceKind::Unknown => 2,
        PieceKind::Control => 3,
        PieceKind::UserDefined => 4,
        PieceKind::Unused => 5,
        PieceKind::Byte => 6,
    }
}

/// The keys before those of the special tokens.
fn start(architecture: &str, model: &str, pre: Option<&str>, entries: &[Entry<'_>]) -> KeyWriter {
    let mut keys = KeyWriter::default();
    keys.text("general.architecture", architecture);
    keys.text(&key("model"), model);
    if let Some(pre) = pre {
        keys.text(&key("pre"), pre);
    }
    let texts: Vec<&str> = entries.iter().map(|entry| &*entry.text).collect();
    keys.texts(&key("tokens"), &texts);
    if matches!(model, "llama" | "t5") {
        let scores: Vec<f32> = entries.iter().map(|entry| entry.score).collect();
        keys.floats(&key("scores"), &scores);
    }
    let kinds: Vec<i32> = entries.iter().map(|entry| number(entry.kind)).collect();
    keys.integers(&key("token_type"), &kinds);
    keys
}

/// The keys of special tokens and chat templates.
fn finish(description: &Description, keys: &mut KeyWriter) {
    let roles = &description.roles;
    let (before, after) = around(&description.post_processor).unwrap_or_default();
    let is_bert = matches!(description.model, ModelDescription::WordPiece(_));
    let named = |name: &str| {
        let special = |name| description.added_tokens.iter().find(|t| t.is_special && t.content == name);
        special(name).map(|token| token.id)
    };
    for role in Role::ALL {
        let id = roles.of(role).or_else(|| match role {
            Role::Bos if !is_bert => before,
            Role::Eos if !is_bert => after,
            Role::Cls if is_bert => before,
            Role::Sep if is_bert => after,
            Role::Unk => description.model.unk(),
            Role::Pad => description.pad(),
            Role::Mask => named("[MASK]").or_else(|| named("<mask>")),
            _ => None,
        });
        if let Some(id) = id {
            keys.number(&key(whole::key_of(role)), id);
        }
    }
    keys.flag(&key("add_bos_token"), before.is_some());
    keys.flag(&key(if is_bert { "add_sep_token" } else { "add_eos_token" }), after.is_some());
    let templates = &description.chat_templates;
    if let Some(template) = templates.get(ChatTemplates::DEFAULT) {
        keys.text(chat::KEY, template);
    }
    let others = || templates.iter().filter(|(name, _)| *name != ChatTemplates::DEFAULT);
    let names: Vec<&str> = others().map(|(name, _)| name).collect();
    if !names.is_empty() {
        keys.texts(chat::NAMES, &names);
    }
    for (name, template) in others() {
        keys.text(&format!("{}.{name}", chat::KEY), template);
    }
}

/// Byte-level byte-pair encoding: the written tokens, and the merges by them.
fn of_bytes(
    engine: &Engine,
    description: &Description,
    model: &BpeDescription,
    lossy: bool,
) -> Result<KeyWriter> {
    if model.alphabet != Alphabet::Bytes {
        return cannot("model", "GGUF holds merges over bytes, or merges over characters by score");
    }
    let listed = engine.merges()?;
    let is_letters = |step: &PreTokenizer| *step == PreTokenizer::ByteAlphabet;
    let steps: Vec<PreTokenizer> =
        description.pre_tokenizer.iter().filter(|step| !is_letters(step)).cloned().collect();
    let filed = engine.bpe()?.whole_pretokens;
    // A rule that changes nothing may be there or not.
    let has_effect = model.whole_pretokens || !filed;
    let name = pre::name_of(&steps, filed, has_effect);
    if name.is_none() && !lossy {
        let reason = format!(
            "GGUF names how text is split (tokenizer.ggml.pre), and llama.cpp has no name for this split; save as \
             tokenizer.json, or {LOSSY}, and give split= to load() again"
        );
        return Err(Error::format(Defect::CannotHold, reason).at("split"));
    }
    let vocabulary = engine.vocabulary();
    let entries = entries(description, |_, bytes| {
        Ok(Entry { text: vocabulary.write(bytes).into(), kind: PieceKind::Normal, score: 0.0 })
    })?;
    let mut keys = start(name.map_or("gpt2", pre::architecture), "gpt2", name, &entries);
    let mut merges = Vec::with_capacity(listed.len());
    for parts in model.parts_of(&listed, vocabulary.added()) {
        let (left, right) = parts?;
        merges.push(format!("{} {}", vocabulary.write(left), vocabulary.write(right)));
    }
    keys.texts(&key("merges"), &merges);
    finish(description, &mut keys);
    Ok(keys)
}

/// Pieces with scores, as SentencePiece has them.
fn of_pieces(
    description: &Description,
    name: &str,
    scores: &[f32],
    kinds: &[PieceKind],
) -> Result<KeyWriter> {
    let [Normalizer::SentencePiece(rules)] = description.normalizer.as_slice() else {
        return cannot("normalizer", "GGUF holds the normalization of SentencePiece for this model");
    };
    let entries = entries(description, |index, bytes| {
        let kind = kinds.get(index).copied().unwrap_or(PieceKind::Normal);
        let score = scores.get(index).copied().unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Entry { text: text.into(), kind, score }),
            Err(_) => cannot("model", "GGUF holds texts, and a token is not UTF-8"),
        }
    })?;
    let mut keys = start(name, name, Some("default"), &entries);
    keys.flag(&key("add_space_prefix"), rules.add_dummy_prefix);
    keys.flag(&key("remove_extra_whitespaces"), rules.remove_extra_whitespaces);
    if name == "t5" && !rules.charsmap.is_empty() {
        keys.raw(&key("precompiled_charsmap"), &rules.charsmap);
    }
    finish(description, &mut keys);
    Ok(keys)
}

/// WordPiece: the file marks the starts of words, where BERT marks the other pieces.
fn of_words(description: &Description, model: &WordPieceDescription) -> Result<KeyWriter> {
    if model.continuing_prefix != vocab_txt::PREFIX {
        return cannot("model", "GGUF holds WordPiece whose pieces within words begin with ##");
    }
    let entries = entries(description, |_, bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return cannot("model", "GGUF holds texts, and a token is not UTF-8");
        };
        let text = match text.strip_prefix(vocab_txt::PREFIX) {
            Some(rest) => rest.into(),
            None if is_bracketed(text) => text.into(),
            None => format!("{MARK}{text}").into(),
        };
        Ok(Entry { text, kind: PieceKind::Normal, score: 0.0 })
    })?;
    let mut keys = start("bert", "bert", Some("default"), &entries);
    keys.number(&key("token_type_count"), 2);
    if let [Normalizer::Bert { lowercase, strip_accents, .. }] = description.normalizer.as_slice() {
        keys.flag(&key("normalizer.lowercase"), *lowercase);
        keys.flag(&key("normalizer.strip_accents"), strip_accents.unwrap_or(*lowercase));
    }
    finish(description, &mut keys);
    Ok(keys)
}
