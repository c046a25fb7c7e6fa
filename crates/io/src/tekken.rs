//! `tekken.json` of Mistral: ranks in base64, the pattern, and how many special tokens there are.
//!
//! Special tokens have the first ids, so that the id of a rank is the rank and their number. The
//! file may list more ranks than are used.
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use tokenmill_core::description::{AddedToken, Alphabet, Bpe, Description, Merges, Roles, Split, TokenList};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::Splitter;

use crate::contents;
use crate::report::Report;
use crate::templates;
use crate::tokenizer_json::json_error;

/// Ranks, bytes of one token, and special tokens that a file may have.
const ENTRY_LIMIT: usize = 16 << 20;
const TOKEN_LIMIT: usize = 64 << 10;
const SPECIAL_LIMIT: u64 = 1 << 20;

/// Versions of mistral-common 1.13.1, and up to which of them the special tokens may be left out.
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
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u64,
    default_num_special_tokens: u64,
    version: String,
}

#[derive(Deserialize)]
struct Entry<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

#[derive(Deserialize)]
struct SpecialEntry {
    rank: u64,
    token_str: String,
}

/// Reads a file.
///
/// # Errors
/// A format error naming the field.
pub(crate) fn parse(bytes: &[u8], report: &mut Report) -> Result<Description> {
    let mut deserializer = serde_json::Deserializer::from_str(contents::text(bytes)?);
    let file: File<'_> = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer
        .end()
        .map_err(|error| Error::format(Defect::Json, format!("more text behind the end: {error}")))?;
    describe(file, report)
}

fn describe(file: File<'_>, report: &mut Report) -> Result<Description> {
    let File { config, vocab, special_tokens } = file;
    let in_config = |error: Error, name: &str| error.at(name.to_owned()).at("config");
    if !VERSIONS.contains(&config.version.as_str()) {
        let reason = format!("version {:?} is not known; known are {}", config.version, VERSIONS.join(", "));
        return Err(in_config(Error::format(Defect::Version, reason), "version"));
    }
    let split = Split::Pattern(config.pattern);
    Splitter::compile(&split).map_err(|error| match error.kind {
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
    let tokens = ranks(&vocab[..used], first).map_err(|e| e.at("vocab"))?;
    let named = match special_tokens {
        Some(entries) => entries.into_iter().map(|entry| (entry.rank, entry.token_str)).collect(),
        None if VERSIONS_WITH_DEFAULTS.contains(&config.version.as_str()) => {
            (0..).zip(DEFAULT_SPECIAL).map(|(id, name)| (id, name.to_owned())).collect()
        }
        None => {
            let reason = format!("is missing; files of version {} list them", config.version);
            return Err(Error::format(Defect::Missing, reason).at("special_tokens"));
        }
    };
    let added_tokens = special(named, first).map_err(|e| e.at("special_tokens"))?;
    let find = |name: &str| added_tokens.iter().find(|token| token.content == name).map(|token| token.id);
    let roles = Roles {
        bos: find("<s>"),
        eos: find("</s>"),
        unk: find("<unk>"),
        pad: find("<pad>"),
        ..Roles::default()
    };
    let post_processor = templates::around(roles.bos.map(|id| ("<s>", id)), None);
    let model = Bpe { whole_pretokens: true, ..Bpe::plain(Alphabet::Bytes, tokens, Merges::ById) };
    Ok(Description { added_tokens, post_processor, roles, ..Description::of_bpe(&split, model) })
}

fn ranks(vocab: &[Entry<'_>], first: TokenId) -> Result<TokenList> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    if vocab.len() > ENTRY_LIMIT {
        return Err(Error::limit(format!("more than {ENTRY_LIMIT} ranks"), ENTRY_LIMIT as u64));
    }
    let mut tokens = TokenList::with_capacity(vocab.len(), 8 * vocab.len());
    let mut seen: HashSet<Vec<u8>> = HashSet::with_capacity(vocab.len());
    for (i, entry) in vocab.iter().enumerate() {
        let fault = |field: &str, error: Error| Err(error.at(field.to_owned()).at_index(i));
        if entry.rank != i as u64 {
            let reason = format!("the rank {} is not its place in the list", entry.rank);
            return fault("rank", Error::format(Defect::Inconsistent, reason));
        }
        if entry.token_bytes.len() > 2 * TOKEN_LIMIT {
            let reason = format!("is longer than a token of {TOKEN_LIMIT} bytes can be");
            return fault("token_bytes", Error::limit(reason, TOKEN_LIMIT as u64));
        }
        let bytes = match LENIENT.decode(entry.token_bytes.as_bytes()) {
            Ok(bytes) => bytes,
            Err(error) => return fault("token_bytes", Error::format(Defect::Base64, error.to_string())),
        };
        if i < 256 && bytes != [i as u8] {
            let reason = "the first 256 ranks must be the bytes in order";
            return fault("token_bytes", Error::format(Defect::Inconsistent, reason));
        }
        if bytes.is_empty() {
            return fault("token_bytes", Error::format(Defect::Empty, "the token is empty"));
        }
        tokens.push(first + i as TokenId, &bytes);
        if !seen.insert(bytes) {
            return fault("token_bytes", Error::format(Defect::Duplicate, "the token is there before"));
        }
    }
    Ok(tokens)
}

/// The special tokens by id, those without a name called by their number.
fn special(named: Vec<(u64, String)>, count: TokenId) -> Result<Vec<AddedToken>> {
    let from = named.len();
    if from > count as usize {
        let reason = format!("{from} special tokens, but config.default_num_special_tokens is {count}");
        return Err(Error::format(Defect::Inconsistent, reason));
    }
    let fillers = (from as u64..u64::from(count)).map(|id| (id, format!("<SPECIAL_{id}>")));
    let mut by_id: Vec<Option<String>> = vec![None; count as usize];
    let mut ids: HashMap<String, u64> = HashMap::with_capacity(count as usize);
    for (i, (id, name)) in named.into_iter().chain(fillers).enumerate() {
        let fault =
            |field: &str, defect, reason| Err(Error::format(defect, reason).at(field.to_owned()).at_index(i));
        let slot = usize::try_from(id).ok().and_then(|id| by_id.get_mut(id));
        let Some(slot) = slot else {
            let reason = format!("the rank {id} is not below the number of special tokens, {count}");
            return fault("rank", Defect::Range, reason);
        };
        if slot.is_some() {
            return fault("rank", Defect::Duplicate, format!("the rank {id} is there twice"));
        }
        if name.is_empty() {
            return fault("token_str", Defect::Empty, "a special token is empty".to_owned());
        }
        if ids.insert(name.clone(), id).is_some() {
            return fault("token_str", Defect::Duplicate, format!("{name:?} is there twice"));
        }
        *slot = Some(name);
    }
    let named = (0..).zip(by_id).filter_map(|(id, name)| Some(AddedToken::special(id, name?)));
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

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
        let error = parse(&changed(change), &mut Report::default()).unwrap_err();
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
        case(&|f| f["special_tokens"] = special(0, "<s>"), "special_tokens[1].rank", "duplicate");
        case(&|f| f["special_tokens"] = special(25, "<s>"), "special_tokens[1].rank", "range");
        case(&|f| f["special_tokens"] = special(1, "<unk>"), "special_tokens[1].token_str", "duplicate");
        case(&|f| f["special_tokens"] = special(1, ""), "special_tokens[1].token_str", "empty");
    }

    #[test]
    fn what_only_informs_may_be_wrong() {
        assert!(
            parse(&changed(|f| f["vocab"][4]["token_str"] = json!("wrong")), &mut Report::default()).is_ok()
        );
        assert!(parse(&changed(|f| f["image"] = json!("broken")), &mut Report::default()).is_ok());
        assert!(
            parse(
                &changed(|f| f["vocab"][258]["token_bytes"] = json!("not base64!")),
                &mut Report::default()
            )
            .is_ok()
        );
    }
}
