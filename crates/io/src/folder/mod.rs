//! A folder of transformers: a tokenizer.json, or an older vocabulary file, with configuration files.
//!
//! In: a folder. Out: the description of what `AutoTokenizer.from_pretrained` of transformers 5.23
//! builds from it; nothing in the folder is executed. `settings` reads and merges the
//! configuration, `choice` chooses the class, `sources` reads the vocabulary, `classes` describes
//! the classes, `tokens` orders the added tokens, `frame` builds the tokens around ids.
//!
//! For most classes the stages of tokenizer.json are ignored, because the class builds its own.
mod chat;
mod choice;
mod classes;
mod defaults;
mod frame;
mod model_types;
mod roles;
mod settings;
mod sources;
mod tokens;
mod write;

use std::path::Path;

use serde_json::{Map, Value};
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    Additions, Alphabet, ChatTemplates, Description, PostProcessor, Roles, TemplatePiece,
};
use tokenmill_core::error::{Defect, Error, Kind as ErrorKind, Result};
use tokenmill_core::ids::TokenId;

use crate::files::Snapshot;
use crate::report::Report;
use crate::tekken;
use crate::tokenizer_json::{self, File, Kind, VocabEntries};
use choice::{Choice, Signs};
use classes::{Again, Parts, Recipe};
use frame::Place;
use settings::{CONFIG, CONFIGS, MODEL_CONFIG, Settings, TOKENIZER};
use sources::{Source, TEKKEN};

pub(crate) use settings::CONFIG as CONFIG_NAME;
pub(crate) use write::{LOSSY, write};

/// Is this the name of a file that configures, and holds no vocabulary?
pub(crate) fn is_config(name: &str) -> bool {
    CONFIGS.contains(&name)
}

/// A folder that was read.
pub(crate) enum Loaded {
    /// By its class.
    Described(Box<Description>),
    /// No class reads its vocabulary, so it is a plain file of any format, with the tokens that the
    /// configuration names.
    File(Additions),
}

/// Loads a folder, and its chat templates. One without configuration needs no class.
///
/// # Errors
/// A format error that names file and field; errors of the operating system.
pub(crate) fn load(files: &Snapshot<'_>, report: &mut Report) -> Result<(Loaded, ChatTemplates)> {
    files.listed()?;
    let config = settings::read(files, CONFIG)?;
    let loaded = if CONFIGS.iter().any(|name| files.has_part(name)) {
        load_configured(files, config.as_ref(), report)?
    } else {
        Loaded::File(Additions::default())
    };
    Ok((loaded, chat::read(files, config.as_ref(), report)?))
}

fn load_configured(
    files: &Snapshot<'_>,
    config: Option<&Map<String, Value>>,
    report: &mut Report,
) -> Result<Loaded> {
    let folder = files.folder();
    let model_config = settings::read(files, MODEL_CONFIG)?;
    let name = tokenizer_file(folder, config)?;
    let path = folder.join(&name);
    let bytes = files.has_part(&name).then(|| files.read(&name)).transpose()?;
    let nothing = Map::new();
    let speaks_of_bytes =
        |bytes: &Vec<u8>| std::str::from_utf8(bytes).is_ok_and(|text| text.contains("\"ByteLevel\""));
    let signs = Signs {
        config: config.unwrap_or(&nothing),
        model_config: model_config.as_ref().unwrap_or(&nothing),
        is_byte_level: bytes.as_ref().is_some_and(speaks_of_bytes),
        has_tekken: files.has_part(TEKKEN),
    };
    let choice = choice::choose(&signs).map_err(|error| {
        let names_it = signs.config.contains_key("tokenizer_class") || signs.config.contains_key("auto_map");
        error.in_file(&folder.join(if names_it { CONFIG } else { MODEL_CONFIG }))
    })?;
    if let Some(model_config) = &model_config {
        report.set_file(MODEL_CONFIG);
        for key in ["model_type", "tokenizer_class"] {
            if model_config.contains_key(key) {
                report.add_part(key);
            }
        }
    }
    let Some(recipe) = choice.recipe else {
        report.note(format!("loaded as Mistral's own library does: {}", choice.why));
        let bytes = files.read(TEKKEN)?;
        report.set_file(TEKKEN);
        let description =
            tekken::parse(&bytes, report).map_err(|error| error.in_file(&folder.join(TEKKEN)))?;
        return Ok(Loaded::Described(Box::new(description)));
    };
    let file = bytes.as_deref().map(tokenizer_json::read).transpose();
    let mut file = file.map_err(|error| error.in_file(&path))?;
    if let Some(VocabEntries::List(pieces)) = file.as_mut().and_then(|file| file.model.vocab.as_mut())
        && recipe.has_code
        && let Some(scores) = bytes.as_deref().and_then(tokenizer_json::nearest_scores)
    {
        // The class takes its scores from Python's parser.
        pieces.iter_mut().zip(scores).for_each(|((_, score), nearest)| *score = nearest);
    }
    let entries = file.as_ref().map(|file| file.added_tokens.as_slice());
    let mut settings = Settings::read(files, config.cloned(), entries, report)?;
    let is_older = file.is_none();
    let source = match file {
        Some(file) => {
            let has_stages = !recipe.has_code;
            Some(Source { file: arranged(file, recipe, &settings)?, name, has_stages, roles: Vec::new() })
        }
        None => sources::find(files, recipe, &mut settings, report)?,
    };
    let Some(source) = source else {
        // A class without code has no vocabulary file of its own.
        if recipe.has_code {
            return Err(has_no_vocabulary(folder, recipe));
        }
        if let Some(name) = &choice.unknown {
            report.set_file(CONFIG);
            report.tolerate(Defect::Unknown, "tokenizer_class", format!("no class is called {name}"))?;
        }
        let additions = settings.tokens.additions().map_err(|error| error.in_file(&folder.join(CONFIG)))?;
        return Ok(Loaded::File(additions));
    };
    let model_config = model_config.unwrap_or_default();
    let builder =
        Builder { folder, name: source.name.clone(), is_older, recipe, choice, settings, model_config };
    Ok(Loaded::Described(Box::new(builder.build(source, report)?)))
}

fn has_no_vocabulary(folder: &Path, recipe: &Recipe) -> Error {
    let own = if recipe.vocabulary.is_empty() { String::new() } else { format!(" or {}", recipe.vocabulary) };
    let reason = format!("the folder is one of {}, and has no {TOKENIZER}{own}", recipe.name);
    Error::format(Defect::Missing, reason).in_file(folder)
}

/// A tokenizer.json with its pieces rearranged for the class.
fn arranged<'a>(mut file: File<'a>, recipe: &Recipe, settings: &Settings) -> Result<File<'a>> {
    if recipe.arranges_file
        && let Some(arrange) = recipe.arrange
        && let Some(VocabEntries::List(pieces)) = &mut file.model.vocab
    {
        *pieces = arrange(settings, std::mem::take(pieces))?;
    }
    Ok(file)
}

/// The name of tokenizer.json, which may contain a version of transformers.
fn tokenizer_file(folder: &Path, config: Option<&Map<String, Value>>) -> Result<String> {
    /// The supported version.
    const FOLLOWED: [u64; 3] = [5, 23, 0];
    let Some(Value::Array(names)) = config.and_then(|config| config.get("fast_tokenizer_files")) else {
        return Ok(TOKENIZER.to_owned());
    };
    let mut best: Option<(Vec<u64>, &str)> = None;
    for (i, name) in names.iter().enumerate() {
        let Some(name) = name.as_str().filter(|name| settings::is_base_name(name)) else {
            let reason = format!("{name} is not the name of a file in the folder");
            let error = Error::format(Defect::Unsupported, reason).at_index(i).at("fast_tokenizer_files");
            return Err(error.in_file(&folder.join(CONFIG)));
        };
        let version = name.strip_prefix("tokenizer.").and_then(|rest| rest.strip_suffix(".json"));
        let version: Option<Vec<u64>> =
            version.and_then(|text| text.split('.').map(|part| part.parse().ok()).collect());
        if let Some(version) = version.filter(|version| version.as_slice() <= FOLLOWED.as_slice())
            && best.as_ref().is_none_or(|(known, _)| *known < version)
        {
            best = Some((version, name));
        }
    }
    Ok(best.map_or(TOKENIZER, |(_, name)| name).to_owned())
}

/// The state of the conversion of a folder.
struct Builder<'a> {
    folder: &'a Path,
    /// The name of the vocabulary file.
    name: String,
    /// Is the vocabulary file not a tokenizer.json?
    is_older: bool,
    recipe: &'static Recipe,
    choice: Choice,
    settings: Settings,
    model_config: Map<String, Value>,
}

impl Builder<'_> {
    fn build(mut self, source: Source<'_>, report: &mut Report) -> Result<Description> {
        let in_config = |error: Error| error.in_file(&self.folder.join(CONFIG));
        let recipe = self.recipe;
        report.set_file(CONFIG);
        report.note(format!("loaded as {}: {}", recipe.name, self.choice.why));
        if let Some(name) = &self.choice.unknown {
            report
                .tolerate(Defect::Unknown, "tokenizer_class", format!("no class is called {name}"))
                .map_err(in_config)?;
        }
        self.settings.apply_roles(recipe, &source);
        let Source { mut file, has_stages, .. } = source;
        let charsmap = charsmap(file.normalizer.as_ref());
        let piece = |content: &str| place_of(&file, content);
        let has_frame = file.post_processor.as_ref().is_some_and(|value| !value.is_null());
        let parts =
            Parts { settings: &self.settings, charsmap: charsmap.as_deref(), has_frame, piece: &piece };
        let extra =
            if self.settings.names_extra { None } else { Some((recipe.extra)(&parts).map_err(in_config)?) };
        let build = recipe.build.filter(|_| !has_stages);
        let stages = build.map(|build| build(&parts)).transpose().map_err(in_config)?;
        let frame = (recipe.frame)(&parts).map_err(in_config)?;
        if let Some(extra) = extra {
            self.settings.tokens.extra = extra;
        }
        let rebuilds = stages.is_some();
        if let Some(stages) = stages {
            rebuild(&mut file, recipe, stages)
                .map_err(|error| error.in_file(&self.folder.join(&self.name)))?;
            let whose = if self.is_older {
                format!("{} has none", self.name)
            } else {
                format!("those of {} count for nothing", self.name)
            };
            report.note(format!(
                "{} builds its own normalizer, pre-tokenizer and decoder; {whose}",
                recipe.name
            ));
        }
        let entries = &mut file.added_tokens;
        if rebuilds {
            entries.clear();
        }
        self.settings.tokens.add_to(entries);
        match recipe.again {
            Again::Not => {}
            Again::Plainly => self.settings.tokens.add_plainly(entries),
            Again::WithFlags => self.settings.tokens.add_again(entries),
        }
        if self.settings.flag("fix_mistral_regex").map_err(in_config)? == Some(true) {
            self.fix_split(&mut file);
        }
        report.set_file(&self.name);
        let of_file: &[&str] = match (self.is_older, rebuilds) {
            (true, true) => &["vocabulary"],
            (true, false) => &["vocabulary", "normalizer", "pre_tokenizer", "decoder"],
            (false, true) => &["vocabulary", "added_tokens", "post_processor", "truncation", "padding"],
            (false, false) => &[
                "vocabulary",
                "added_tokens",
                "post_processor",
                "truncation",
                "padding",
                "normalizer",
                "pre_tokenizer",
                "decoder",
            ],
        };
        for what in of_file {
            report.add_part(what);
        }
        let path = self.folder.join(&self.name);
        let described = tokenizer_json::describe(file, report).map_err(|error| {
            let error = if rebuilds { of_class(error, recipe) } else { error };
            error.in_file(&path)
        });
        let mut description = described?;
        report.set_file(CONFIG);
        self.finish(&mut description, frame, report).map_err(in_config)?;
        Ok(description)
    }

    /// Adds frame, roles and defaults.
    fn finish(
        &self,
        description: &mut Description,
        frame: classes::Frame,
        report: &mut Report,
    ) -> Result<()> {
        let tokens = &self.settings.tokens;
        let id_of = |content: &str| id_of(description, content);
        let token_of = |id| token_of(description, id);
        // These two settings have no effect together with a tokenizer.json.
        let asks = |name: &str, default: bool| -> Result<bool> {
            Ok(if self.is_older { self.settings.flag(name)?.unwrap_or(default) } else { default })
        };
        let place = Place {
            tokens,
            id_of: &id_of,
            token_of: &token_of,
            adds: (asks("add_bos_token", self.recipe.adds_bos)?, asks("add_eos_token", false)?),
            says_adds: self.is_older
                && (self.settings.has("add_bos_token") || self.settings.has("add_eos_token")),
        };
        let kept = description.post_processor.clone();
        let post_processor = place.steps(frame, kept)?;
        let role = |name: &str| tokens.literal_of(name).and_then(id_of);
        let roles = Roles {
            bos: role("bos_token"),
            eos: role("eos_token"),
            unk: role("unk_token"),
            sep: role("sep_token"),
            pad: role("pad_token"),
            cls: role("cls_token"),
            mask: role("mask_token"),
        };
        if self.settings.has_decoder {
            tokens::check_ids(&tokens.by_id, id_of, |filed, content, id| {
                let reason = format!("{content:?} gets the id {id}, not {filed}");
                report.tolerate(Defect::Ignored, format!("added_tokens_decoder.{filed}"), reason)
            })?;
        }
        for (name, id, is_after) in [("add_bos_token", roles.bos, false), ("add_eos_token", roles.eos, true)]
        {
            if let Some(says) = self.settings.flag(name)?
                && says != puts(&post_processor, id, is_after)
            {
                let beside = if self.is_older { self.recipe.name } else { "a tokenizer.json" };
                let reason = format!("is {says}, which is ignored because of {beside}");
                report.tolerate(Defect::Ignored, name, reason)?;
            }
        }
        description.post_processor = post_processor;
        description.roles = roles;
        description.defaults = self.defaults(description, report)?;
        for (name, token) in &tokens.named {
            if token.is_some() && self.settings.has_named(name) {
                report.add_part(name);
            }
        }
        Ok(())
    }

    /// Some models of Mistral were published with a wrong split; a folder may ask for the correct one.
    fn fix_split(&self, file: &mut File<'_>) {
        const RIGHT: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        const LARGE: usize = 100_000;
        let text = |key: &str| self.model_config.get(key).and_then(Value::as_str);
        let is_new = text("transformers_version")
            .and_then(|version| version.split('.').next()?.parse::<u64>().ok())
            .is_some_and(|major| major >= 5);
        let may_be = text("model_type")
            .is_none_or(|kind| matches!(kind, "mistral" | "mistral3" | "voxtral" | "ministral" | "pixtral"));
        let size = match &file.model.vocab {
            Some(VocabEntries::Object(entries)) => entries.len(),
            Some(VocabEntries::List(entries)) => entries.len(),
            None => 0,
        };
        let Some(steps) = &mut file.pre_tokenizer else { return };
        if self.model_config.is_empty()
            || is_new
            || !may_be
            || size + file.added_tokens.len() <= LARGE
            || steps.is_null()
        {
            return;
        }
        let split = serde_json::json!({
            "type": "Split",
            "pattern": { "Regex": RIGHT },
            "behavior": "Isolated",
            "invert": false,
        });
        if let Some(Value::Array(steps)) = steps.get_mut("pretokenizers") {
            if let Some(first) = steps.first_mut() {
                *first = split;
            }
            return;
        }
        let kept = if steps.get("type").and_then(Value::as_str) == Some("Metaspace") {
            serde_json::json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false })
        } else {
            steps.take()
        };
        *steps = serde_json::json!({ "type": "Sequence", "pretokenizers": [split, kept] });
    }
}

/// The reference's limit for words, for classes that build the model.
const MAX_CHARS: usize = 100;

/// Replaces the stages of the file by those of a class.
fn rebuild(file: &mut File<'_>, recipe: &Recipe, stages: classes::Stages) -> Result<()> {
    let found = Kind::of(&file.model).map_err(|error| error.at("model"))?;
    let model = recipe.model.unwrap_or(found);
    if found != model {
        let reason = format!("{} makes a {model:?} model, but this is one of {found:?}", recipe.name);
        return Err(Error::format(Defect::Unsupported, reason).at("type").at("model"));
    }
    let entry = &mut file.model;
    entry.name = Some(model.name().to_owned());
    entry.dropout = None;
    entry.unk_token = stages.unk_token;
    entry.continuing_subword_prefix = stages.continuing_prefix;
    entry.end_of_word_suffix = stages.end_of_word_suffix;
    entry.fuse_unk = Some(stages.fuse_unk);
    entry.byte_fallback = Some(stages.byte_fallback);
    entry.ignore_merges = None;
    entry.max_input_chars_per_word = (model == Kind::WordPiece).then_some(MAX_CHARS);
    entry.unk_id = stages.unk_id;
    file.normalizer = Some(stages.normalizer);
    file.pre_tokenizer = Some(stages.pre_tokenizer);
    file.decoder = Some(stages.decoder);
    Ok(())
}

/// An error of the unknown token, which the class sets and not the file, names the class.
fn of_class(mut error: Error, recipe: &Recipe) -> Error {
    if error.field.to_string() == "model.unk_id"
        && let ErrorKind::Format { reason, .. } = &mut error.kind
    {
        *reason = format!(
            "{} sets the unknown token by its id, which does not fit these pieces: {reason}; {CONFIG} names the class",
            recipe.name
        );
    }
    error
}

/// The character map of a normalizer, or of the first of its steps that has one.
fn charsmap(normalizer: Option<&Value>) -> Option<String> {
    let normalizer = normalizer?;
    let one = std::slice::from_ref(normalizer);
    let steps = match normalizer.get("normalizers") {
        Some(Value::Array(steps)) => steps,
        _ => one,
    };
    let first = steps.iter().find(|step| step.get("type").and_then(Value::as_str) == Some("Precompiled"))?;
    first.get("precompiled_charsmap")?.as_str().map(str::to_owned)
}

/// The index and score of a piece in a vocabulary list.
fn place_of(file: &File<'_>, content: &str) -> Option<(usize, f64)> {
    let Some(VocabEntries::List(entries)) = &file.model.vocab else { return None };
    let place = entries.iter().position(|(piece, _)| piece == content)?;
    Some((place, entries[place].1))
}

/// The id of a token in written form.
fn id_of(description: &Description, content: &str) -> Option<TokenId> {
    let added = description.added_tokens.iter().find(|token| token.content == content);
    added.map(|token| token.id).or_else(|| {
        let tokens = description.model.tokens();
        let is_bytes = description.model.alphabet() == Some(&Alphabet::Bytes);
        let bytes = if is_bytes { byte_alphabet::read(content)? } else { content.as_bytes().to_vec() };
        tokens.iter().find(|(_, token)| *token == bytes).map(|(id, _)| id)
    })
}

/// The written form of an id.
fn token_of(description: &Description, id: TokenId) -> Option<String> {
    let added = description.added_tokens.iter().find(|token| token.id == id);
    added.map(|token| token.content.clone()).or_else(|| {
        let tokens = description.model.tokens();
        let bytes = tokens.bytes(tokens.index_of(id)?);
        let is_bytes = description.model.alphabet() == Some(&Alphabet::Bytes);
        Some(if is_bytes { byte_alphabet::write(bytes) } else { String::from_utf8_lossy(bytes).into_owned() })
    })
}

/// Does a post-processor put this id before a single sequence, or after it (`is_after`)?
fn puts(steps: &[PostProcessor], id: Option<TokenId>, is_after: bool) -> bool {
    let Some(id) = id else { return false };
    steps.iter().any(|step| match step {
        PostProcessor::Template(template) => {
            let is_sequence = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Sequence { .. });
            let pieces = template.single.as_slice();
            let at = pieces.iter().position(is_sequence).unwrap_or(pieces.len());
            let side = if is_after { pieces.get(at..) } else { pieces.get(..at) };
            side.unwrap_or_default().iter().any(|piece| {
                matches!(piece, TemplatePiece::Special { name, .. }
                    if template.special_tokens.iter().any(|token| token.name == *name && token.ids.contains(&id)))
            })
        }
        PostProcessor::Bert { sep, cls } | PostProcessor::Roberta { sep, cls, .. } => {
            id == if is_after { sep.1 } else { cls.1 }
        }
        PostProcessor::ByteLevel { .. } => false,
    })
}
