//! `tekken.json` of Mistral: ranks in base64, the pattern, and the number of special tokens.
//!
//! Special tokens have the first ids, so the id of a rank is the rank plus their number. The file
//! may list more ranks than are used.
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, Description, Merges, Role, Roles, Split, TokenList,
};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::Splitter;

use crate::limits::{ENTRY_LIMIT, TOKEN_LIMIT};
use crate::report::Report;
use crate::tokenizer_json::json_error;
use crate::{contents, loose_base64, templates};

/// Maximum number of special tokens.
const SPECIAL_LIMIT: u64 = 1 << 20;

/// Versions of mistral-common 1.13.1; up to one of these the special tokens may be left out.
const VERSIONS: [&str; 7] = ["v1", "v2", "v3", "v7", "v11", "v13", "v15"];
const VERSIONS_WITH_DEFAULTS: [&str; 4] = ["v1", "v2", "v3", "v7"];

/// The special tokens of files that list none, from id 0 on.
const DEFAULT_SPECIAL: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

#[derive(Deserialize)]
struct File<'a> {
    config: Config,
    #[serde(borrow)]
    vocab: Vec<Entry<'a>>,
    special_tokens: Option<Vec<SpecialEntry>>,
    image: Option<Value>,
    multimodal: Option<Value>,
    audio: Option<Value>,
    /// [`FRAME`].
    tokenmill: Option<Frame>,
}

/// The key of what a saved file says beside the format: mistral-common does not read it.
pub(super) const FRAME: &str = "tokenmill";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    /// The roles of tokens, where they are not those of the names `<s>`, `</s>`, `<unk>` and `<pad>`.
    roles: BTreeMap<String, TokenId>,
}

/// Sections without effect on text, and the keys that the library requires in them.
const IMAGE_PARTS: &[&str] = &["image_patch_size", "max_image_size"];
const AUDIO_PARTS: &[&str] = &["audio_encoding_config"];

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u64,
    default_num_special_tokens: u64,
    version: String,
}

/// The library accepts exactly these keys; the value of `token_str` is ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
    #[serde(rename = "token_str")]
    _text: IgnoredAny,
}

#[derive(Deserialize)]
struct SpecialEntry {
    /// Not always a number.
    rank: Value,
    token_str: String,
}

/// Reads a file.
///
/// # Errors
/// A format error that names the field.
pub(crate) fn parse(bytes: &[u8], report: &mut Report) -> Result<Description> {
    let mut deserializer = serde_json::Deserializer::from_str(contents::text(bytes)?);
    let file: File<'_> = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer
        .end()
        .map_err(|error| Error::format(Defect::Json, format!("more text after the end: {error}")))?;
    describe(file, report)
}

fn describe(file: File<'_>, report: &mut Report) -> Result<Description> {
    let File { config, vocab, special_tokens, image, multimodal, audio, tokenmill } = file;
    let in_config = |error: Error, name: &str| error.at(name.to_owned()).at("config");
    if !VERSIONS.contains(&config.version.as_str()) {
        let reason = format!("version {:?} is not known; known are {}", config.version, VERSIONS.join(", "));
        return Err(in_config(Error::format(Defect::Version, reason), "version"));
    }
    let split = Split::Pattern(config.pattern.clone());
    Splitter::compile(&split).map_err(|error| match &error.kind {
        Kind::Pattern { pattern, reason, .. } => {
            in_config(Error::format(Defect::Pattern, format!("{pattern:?}: {reason}")), "pattern")
        }
        _ => in_config(error, "pattern"),
    })?;
    let specials = config.default_num_special_tokens;
    if specials > SPECIAL_LIMIT {
        let reason = format!("{specials} special tokens are more than {SPECIAL_LIMIT}");
        return Err(in_config(Error::limit(reason, SPECIAL_LIMIT), "default_num_special_tokens"));
    }
    let used = config.default_vocab_size.checked_sub(specials).and_then(|used| usize::try_from(used).ok());
    let Some(used) = used.filter(|&used| used <= vocab.len()) else {
        let reason = format!(
            "{} ids of which {specials} are special need more ranks than the {} that are there",
            config.default_vocab_size,
            vocab.len()
        );
        return Err(in_config(Error::format(Defect::Inconsistent, reason), "default_vocab_size"));
    };
    if used < vocab.len() {
        let reason = format!("{} ranks of {} are used", used, vocab.len());
        report.note(reason);
    }
    let first = specials as TokenId;
    let tokens = ranks(&vocab[..used], first, report)?;
    let named = match special_tokens {
        Some(entries) => entries,
        None if VERSIONS_WITH_DEFAULTS.contains(&config.version.as_str()) => {
            let entry =
                |(rank, name): (u64, &str)| SpecialEntry { rank: rank.into(), token_str: name.into() };
            (0..).zip(DEFAULT_SPECIAL).map(entry).collect()
        }
        None => {
            let reason = format!("is missing; files of version {} list them", config.version);
            return Err(Error::format(Defect::Missing, reason).at("special_tokens"));
        }
    };
    let added_tokens = special(named, first, report)?;
    find_shadowed(&tokens, &added_tokens, report)?;
    for (name, section, parts) in [
        ("image", image, IMAGE_PARTS),
        ("multimodal", multimodal, IMAGE_PARTS),
        ("audio", audio, AUDIO_PARTS),
    ] {
        check_section(name, section.as_ref(), parts, report)?;
    }
    let find = |name: &str| added_tokens.iter().find(|token| token.content == name).map(|token| token.id);
    let post_processor = templates::around(find("<s>").map(|id| ("<s>", id)), None);
    let roles = match tokenmill {
        Some(frame) => named_roles(&frame, config.default_vocab_size)?,
        None => Roles {
            bos: find("<s>"),
            eos: find("</s>"),
            unk: find("<unk>"),
            pad: find("<pad>"),
            ..Roles::default()
        },
    };
    let model = BpeDescription {
        whole_pretokens: true,
        ..BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById)
    };
    Ok(Description { added_tokens, post_processor, roles, ..Description::of_bpe(&split, model) })
}

fn named_roles(frame: &Frame, count: u64) -> Result<Roles> {
    let mut roles = Roles::default();
    for (name, &id) in &frame.roles {
        let fault = |defect, reason: String| {
            Err(Error::format(defect, reason).at(name.clone()).at("roles").at(FRAME))
        };
        let Some(role) = Role::ALL.into_iter().find(|role| role.name() == name) else {
            return fault(Defect::Unknown, format!("{name:?} is not a role"));
        };
        if u64::from(id) >= count {
            return fault(Defect::Range, format!("the id {id} does not exist; there are {count}"));
        }
        roles.set(role, id);
    }
    Ok(roles)
}

fn ranks(vocab: &[Entry<'_>], first: TokenId, report: &mut Report) -> Result<TokenList> {
    if vocab.len() > ENTRY_LIMIT {
        return Err(Error::limit(format!("more than {ENTRY_LIMIT} ranks"), ENTRY_LIMIT as u64).at("vocab"));
    }
    let mut tokens = TokenList::with_capacity(vocab.len(), 8 * vocab.len());
    let mut seen: HashSet<Vec<u8>> = HashSet::with_capacity(vocab.len());
    for (i, entry) in vocab.iter().enumerate() {
        let fault = |field: &str, error: Error| Err(error.at(field.to_owned()).at_index(i).at("vocab"));
        if entry.rank != i as u64 {
            let reason = format!("the rank {} differs from the index in the list", entry.rank);
            return fault("rank", Error::format(Defect::Inconsistent, reason));
        }
        if entry.token_bytes.len() > 2 * TOKEN_LIMIT {
            let reason = format!("is longer than a token of {TOKEN_LIMIT} bytes can be");
            return fault("token_bytes", Error::limit(reason, TOKEN_LIMIT as u64));
        }
        let tolerate = |report: &mut Report, defect, reason: String| {
            report.tolerate(defect, format!("vocab[{i}].token_bytes"), reason)
        };
        let bytes = match STANDARD.decode(entry.token_bytes.as_bytes()) {
            Ok(bytes) => bytes,
            Err(error) => {
                let Some(bytes) = loose_base64::decode(&entry.token_bytes) else {
                    return fault("token_bytes", Error::format(Defect::Base64, error.to_string()));
                };
                tolerate(report, Defect::Base64, format!("{error}; ignored, as Python does"))?;
                bytes
            }
        };
        if i < 256 && bytes != [i as u8] {
            let reason = "the first 256 ranks must be the bytes in order";
            return fault("token_bytes", Error::format(Defect::Inconsistent, reason));
        }
        if bytes.is_empty() {
            tolerate(report, Defect::Empty, "the token is empty, and left out".to_owned())?;
        } else {
            tokens.push(first + i as TokenId, &bytes);
        }
        if !seen.insert(bytes) {
            return fault(
                "token_bytes",
                Error::format(Defect::Duplicate, "an earlier token has the same bytes"),
            );
        }
    }
    Ok(tokens)
}

/// The special tokens by id; those without a name are named by their number.
///
/// Ids are the ranks if each occurs once; else the indices in the list, by which the library decodes.
fn special(named: Vec<SpecialEntry>, count: TokenId, report: &mut Report) -> Result<Vec<AddedToken>> {
    let list = |error: Error| error.at("special_tokens");
    let from = named.len();
    if from > count as usize {
        let reason = format!("{from} special tokens, but config.default_num_special_tokens is {count}");
        return Err(list(Error::format(Defect::Inconsistent, reason)));
    }
    let ids = special_ids(&named, count, report)?;
    let fillers = (from..count as usize).map(|place| format!("<SPECIAL_{place}>"));
    let names = named.into_iter().map(|entry| entry.token_str).chain(fillers);
    let mut seen: HashSet<String> = HashSet::with_capacity(count as usize);
    let mut tokens = Vec::with_capacity(count as usize);
    for (i, (name, id)) in names.zip(ids).enumerate() {
        let fault =
            |defect, reason| Err(list(Error::format(defect, reason).at("token_str".to_owned()).at_index(i)));
        if name.is_empty() {
            return fault(Defect::Empty, "a special token is empty".to_owned());
        }
        if !seen.insert(name.clone()) {
            return fault(Defect::Duplicate, format!("{name:?} occurs twice"));
        }
        tokens.push(AddedToken::special(id, name));
    }
    AddedToken::sort_by_id(&mut tokens);
    Ok(tokens)
}

/// The ids of all special tokens, by index.
fn special_ids(named: &[SpecialEntry], count: TokenId, report: &mut Report) -> Result<Vec<TokenId>> {
    if let Some(i) = named.iter().position(|entry| entry.rank.is_array() || entry.rank.is_object()) {
        let error = Error::format(Defect::Type, "expected a number");
        return Err(error.at("rank".to_owned()).at_index(i).at("special_tokens"));
    }
    let places = || 0..count;
    let rank = |place: TokenId| {
        let entry = named.get(place as usize);
        entry.map_or(Some(place), |entry| entry.rank.as_u64().and_then(|rank| TokenId::try_from(rank).ok()))
    };
    let ranks: Vec<TokenId> = places().map_while(|place| rank(place).filter(|&rank| rank < count)).collect();
    if ranks.iter().collect::<HashSet<_>>().len() == count as usize {
        return Ok(ranks);
    }
    for (place, entry) in (0_u32..).zip(named).filter(|&(place, _)| rank(place) != Some(place)) {
        let reason = format!(
            "the ranks are not the numbers below {count}; {place}, its place, counts, not {}",
            entry.rank
        );
        report.tolerate(Defect::Inconsistent, format!("special_tokens[{place}].rank"), reason)?;
    }
    Ok(places().collect())
}

/// Reports special tokens whose names are ordinary tokens too.
fn find_shadowed(tokens: &TokenList, special: &[AddedToken], report: &mut Report) -> Result<()> {
    let ids: HashMap<&[u8], TokenId> =
        special.iter().map(|token| (token.content.as_bytes(), token.id)).collect();
    for (id, bytes) in tokens.iter() {
        if let Some(other) = ids.get(bytes) {
            let rank = id - special.len() as TokenId;
            let reason = format!("is {other} as a special token, and {id} as text");
            report.tolerate(Defect::Duplicate, format!("vocab[{rank}].token_bytes"), reason)?;
        }
    }
    Ok(())
}

/// The checks of the library in a section without effect on text.
fn check_section(name: &str, section: Option<&Value>, parts: &[&str], report: &mut Report) -> Result<()> {
    let Some(section) = section.filter(|section| !is_nothing(section)) else { return Ok(()) };
    let Some(section) = section.as_object() else {
        return report.tolerate(Defect::Type, name, "expected an object; it says nothing about text");
    };
    for part in parts.iter().filter(|&&part| !section.contains_key(part)) {
        let reason = "is missing; the section says nothing about text";
        report.tolerate(Defect::Missing, format!("{name}.{part}"), reason)?;
    }
    Ok(())
}

/// Is the value falsy in Python?
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file() -> Value {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        tokens.extend([b"ab".to_vec(), b"abc".to_vec(), b"never used".to_vec()]);
        let vocab: Vec<Value> = tokens
            .iter()
            .enumerate()
            .map(|(rank, bytes)| json!({"rank": rank, "token_bytes": STANDARD.encode(bytes), "token_str": null}))
            .collect();
        json!({
            "config": {"pattern": r"\s|\S+", "num_vocab_tokens": 259, "default_vocab_size": 283,
                       "default_num_special_tokens": 25, "version": "v3"},
            "vocab": vocab,
        })
    }

    fn changed(change: impl Fn(&mut Value)) -> Vec<u8> {
        let mut file = file();
        change(&mut file);
        serde_json::to_vec(&file).unwrap()
    }

    fn fault(change: impl Fn(&mut Value)) -> (String, &'static str) {
        let error = parse(&changed(change), &mut Report::new(true)).unwrap_err();
        let Kind::Format { defect, .. } = &error.kind else { panic!("{error}") };
        (error.field.to_string(), defect.as_str())
    }

    #[test]
    fn ids_are_ranks_behind_the_special_tokens() {
        let description = parse(&changed(|_| ()), &mut Report::default()).unwrap();
        let tokens = description.model.tokens();
        assert_eq!((tokens.id(0), tokens.len()), (25, 258));
        assert_eq!(tokens.bytes(257), b"abc");
        let contents: Vec<&str> =
            description.added_tokens.iter().map(|token| token.content.as_str()).collect();
        assert_eq!(contents[..3], ["<unk>", "<s>", "</s>"]);
        assert_eq!(
            contents[19..],
            [
                "[TOOL_CONTENT]",
                "<SPECIAL_20>",
                "<SPECIAL_21>",
                "<SPECIAL_22>",
                "<SPECIAL_23>",
                "<SPECIAL_24>"
            ]
        );
        assert_eq!(description.roles.pad, Some(11));
    }

    #[test]
    fn faults_have_a_place_and_a_kind() {
        let case = |change: &dyn Fn(&mut Value), field: &str, kind: &str| {
            let (found_field, found_kind) = fault(change);
            assert_eq!((found_field.as_str(), found_kind), (field, kind));
        };
        case(&|f| f["config"]["pattern"] = json!("(a"), "config.pattern", "pattern");
        case(&|f| f["config"]["version"] = json!("v99"), "config.version", "version");
        case(&|f| f["config"]["version"] = json!("v11"), "special_tokens", "missing");
        case(
            &|f| f["config"]["default_vocab_size"] = json!(400),
            "config.default_vocab_size",
            "inconsistent",
        );
        case(&|f| f["config"]["default_vocab_size"] = json!(3), "config.default_vocab_size", "inconsistent");
        let many = "config.default_num_special_tokens";
        case(&|f| f["config"]["default_num_special_tokens"] = json!(u64::MAX), many, "limit");
        case(&|f| f["vocab"][3]["rank"] = json!(4), "vocab[3].rank", "inconsistent");
        case(&|f| f["vocab"][3]["token_bytes"] = json!("A A"), "vocab[3].token_bytes", "base64");
        case(&|f| f["vocab"][3]["token_bytes"] = json!("BA=="), "vocab[3].token_bytes", "inconsistent");
        case(&|f| f["vocab"][257]["token_bytes"] = json!(""), "vocab[257].token_bytes", "empty");
        case(&|f| f["vocab"][257]["token_bytes"] = json!("YWI="), "vocab[257].token_bytes", "duplicate");
        case(
            &|f| f["vocab"][257]["token_bytes"] = json!("A".repeat(200_000)),
            "vocab[257].token_bytes",
            "limit",
        );
        let special = |rank: u64, name: &str| json!([{"rank": 0, "token_str": "<unk>"}, {"rank": rank, "token_str": name}]);
        case(&|f| f["special_tokens"] = special(0, "<s>"), "special_tokens[1].rank", "inconsistent");
        case(&|f| f["special_tokens"] = special(25, "<s>"), "special_tokens[1].rank", "inconsistent");
        case(
            &|f| f["special_tokens"] = json!([{"rank": [], "token_str": "<s>"}]),
            "special_tokens[0].rank",
            "type",
        );
        case(&|f| f["special_tokens"] = special(1, "ab"), "vocab[256].token_bytes", "duplicate");
        case(&|f| f["vocab"][257]["token_bytes"] = json!("YWI"), "vocab[257].token_bytes", "base64");
        case(&|f| f["vocab"][257]["token_bytes"] = json!("e*Hh4"), "vocab[257].token_bytes", "base64");
        case(&|f| f["vocab"][257]["score"] = json!(1), "vocab[257].score", "unsupported");
        case(&|f| f["image"] = json!("broken"), "image", "type");
        case(&|f| f["audio"] = json!({"a": 1}), "audio.audio_encoding_config", "missing");
        case(&|f| f["special_tokens"] = special(1, "<unk>"), "special_tokens[1].token_str", "duplicate");
        case(&|f| f["special_tokens"] = special(1, ""), "special_tokens[1].token_str", "empty");
    }

    #[test]
    fn what_only_informs_may_be_wrong() {
        let read = |change: &dyn Fn(&mut Value)| parse(&changed(change), &mut Report::new(true));
        assert!(read(&|f| f["vocab"][4]["token_str"] = json!("wrong")).is_ok());
        assert!(read(&|f| f["vocab"][4]["token_str"] = json!(7)).is_ok());
        assert!(read(&|f| f["image"] = json!({})).is_ok());
        assert!(read(&|f| f["vocab"][258]["token_bytes"] = json!("not base64!")).is_ok());
    }

    #[test]
    fn what_the_library_lets_pass_is_reported() {
        let case = |change: &dyn Fn(&mut Value), field: &str, kind: &str| {
            let mut report = Report::new(false);
            let description = parse(&changed(change), &mut report).unwrap();
            let [found] = report.tolerated() else { panic!("{report:?}") };
            assert_eq!((found.field.as_str(), found.defect.as_str()), (field, kind));
            description
        };
        let bytes = "vocab[257].token_bytes";
        let read = case(&|f| f["vocab"][257]["token_bytes"] = json!("e*Hh4"), bytes, "base64");
        assert_eq!(read.model.tokens().bytes(257), b"xxx");
        let read = case(&|f| f["vocab"][257]["token_bytes"] = json!(""), bytes, "empty");
        assert_eq!(read.model.tokens().len(), 257);
        let special =
            |rank: Value| json!([{"rank": 0, "token_str": "<unk>"}, {"rank": rank, "token_str": "<s>"}]);
        for rank in [json!(0), json!(25), json!(-1), json!("1"), json!(null)] {
            let place = "special_tokens[1].rank";
            let read = case(&|f| f["special_tokens"] = special(rank.clone()), place, "inconsistent");
            assert_eq!(read.roles.bos, Some(1));
        }
        case(&|f| f["audio"] = json!("?"), "audio", "type");
    }

    #[test]
    fn special_tokens_may_be_listed_in_another_order() {
        let listed = json!([{"rank": 1, "token_str": "<s>"}, {"rank": 0, "token_str": "<unk>"}]);
        let read = parse(&changed(|f| f["special_tokens"] = listed.clone()), &mut Report::new(true)).unwrap();
        assert_eq!((read.roles.bos, read.roles.unk), (Some(1), Some(0)));
    }
}
