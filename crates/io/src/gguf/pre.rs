//! Splits by the names that `tokenizer.ggml.pre` has in llama.cpp.
//!
//! The patterns are those of the models' own tokenizers, which llama.cpp rewrites; several patterns
//! are applied in order, each to the pieces of the one before. An unknown name is an error, because
//! another split would change the ids.
use tokenmill_core::description::{Behavior, Pattern, PreTokenizer};
use tokenmill_core::pattern::{from_portable, portable};

/// The split of a name.
pub(super) struct Pre {
    /// The patterns, in order.
    patterns: &'static [&'static str],
    /// A pretoken that is a token becomes that token, without merging.
    pub(super) whole_pretokens: bool,
    /// Default for adding the begin-of-sequence token.
    pub(super) add_bos: bool,
}

impl Pre {
    /// The pre-tokenization steps.
    pub(super) fn stages(&self) -> Vec<PreTokenizer> {
        let stage = |pattern: &&str| PreTokenizer::Split {
            pattern: Pattern::Regex((*pattern).to_owned()),
            behavior: Behavior::Isolated,
            invert: false,
        };
        self.patterns.iter().map(stage).collect()
    }
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
const TEKKEN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
/// Letters with case, as code points, because normalization would change some of them.
const DEEPSEEK_LETTERS: &str = concat!(
    r"\s?[A-Za-z",
    r"\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}",
    r"\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}",
    r"\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}",
    r"\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}",
    r"\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}",
    r"\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}",
    r"\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}",
    r"\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}",
    r"\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}",
    r"\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}",
    r"\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}",
    r"\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}",
    r"\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}",
    r"\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}",
    r"\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}",
    r"]+",
);
const HAN_HANGUL: &str = r"[\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+";
const DEEPSEEK_V3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
const BLOOM: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
const BAILING: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
const SEED: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Names, of which the first is written into files; patterns, `whole_pretokens`, `add_bos`.
type Family = (&'static [&'static str], &'static [&'static str], bool, bool);

const FAMILIES: &[Family] = &[
    (
        &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        &[LLAMA3],
        true,
        true,
    ),
    (&["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"], &[LLAMA3], false, false),
    (
        &["qwen2", "deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"],
        &[QWEN2],
        false,
        false,
    ),
    (&["qwen35"], &[QWEN35], false, false),
    (
        &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "jina-v1-en",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v2-code",
            "gigachat",
            "roberta-bpe",
            "mellum",
            "modern-bert",
            "a.x-4.0",
            "exaone4",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
        ],
        &[GPT2],
        false,
        false,
    ),
    (
        &["starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"],
        &[r"\p{N}", GPT2],
        false,
        false,
    ),
    (&["falcon"], &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"], false, false),
    (
        &["deepseek-llm"],
        &[r"[\r\n]", DEEPSEEK_LETTERS, r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", HAN_HANGUL, r"\p{N}+"],
        false,
        false,
    ),
    (&["deepseek-coder"], &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN_HANGUL, r"\p{N}"], false, false),
    (
        &["deepseek-v3", "hunyuan-dense", "joyai-llm"],
        &[r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3],
        false,
        false,
    ),
    (&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[O200K], false, false),
    (&["tekken"], &[TEKKEN], true, true),
    (&["bloom", "poro-chat", "gpt3-finnish"], &[BLOOM], false, false),
    (&["viking"], &[BLOOM, r"\p{N}"], false, false),
    (&["bailingmoe", "bailingmoe2", "llada-moe"], &[BAILING], false, false),
    (&["seed-coder"], &[SEED], false, false),
    (
        &["chameleon"],
        &[
            "<sentinel:[0-9]+>",
            "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
            r"([\t\n]|    |  )",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            GPT2,
        ],
        false,
        true,
    ),
    // For files from before the key existed.
    (&["default"], &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"], false, false),
];

/// Looks up a name.
pub(super) fn find(name: &str) -> Option<Pre> {
    let (_, patterns, whole_pretokens, add_bos) =
        FAMILIES.iter().find(|(names, ..)| names.contains(&name))?;
    Some(Pre { patterns, whole_pretokens: *whole_pretokens, add_bos: *add_bos })
}

/// The name of these steps. If the rule for whole pretokens has no effect, it may differ.
pub(super) fn name_of(
    steps: &[PreTokenizer],
    whole_pretokens: bool,
    has_effect: bool,
) -> Option<&'static str> {
    // Several spellings of a pattern have one portable form.
    let spelled = |step: &PreTokenizer| match step {
        PreTokenizer::Split { pattern: Pattern::Regex(pattern), behavior: Behavior::Isolated, .. } => Some(
            portable(pattern)
                .and_then(|portable| from_portable(&portable))
                .unwrap_or_else(|_| pattern.clone()),
        ),
        _ => None,
    };
    let steps: Vec<String> = steps.iter().map(spelled).collect::<Option<_>>()?;
    let mut found = FAMILIES.iter().filter(|(_, patterns, ..)| {
        patterns.len() == steps.len()
            && Pre { patterns, whole_pretokens: false, add_bos: false }
                .stages()
                .iter()
                .zip(&steps)
                .all(|(stage, step)| spelled(stage).as_ref() == Some(step))
    });
    let (exact, other) = (
        found.clone().find(|(_, _, whole, _)| *whole == whole_pretokens),
        found.next().filter(|_| !has_effect),
    );
    exact.or(other)?.0.first().copied()
}

/// The architecture whose models have this split: llama.cpp opens no file without one. For a vocabulary alone it
/// changes nothing.
pub(super) fn architecture(name: &str) -> &'static str {
    match name {
        "llama-bpe" | "tekken" | "deepseek-llm" | "deepseek-coder" => "llama",
        "qwen2" => "qwen2",
        "qwen35" => "qwen35",
        "starcoder" => "starcoder",
        "falcon" => "falcon",
        "deepseek-v3" => "deepseek2",
        "bloom" => "bloom",
        "bailingmoe" => "bailingmoe",
        "chameleon" => "chameleon",
        "dbrx" => "dbrx",
        _ => "gpt2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tokenmill_core::description::Split;
    use tokenmill_core::pattern::Splitter;

    #[test]
    fn every_pattern_is_valid_and_every_name_is_there_once() {
        let mut names = HashSet::new();
        for (family, patterns, ..) in FAMILIES {
            for name in *family {
                assert!(names.insert(name), "{name}");
                assert_eq!(find(name).unwrap().stages().len(), patterns.len());
            }
            for pattern in *patterns {
                Splitter::compile(&Split::Pattern((*pattern).to_owned())).unwrap();
            }
        }
        assert!(find("").is_none() && find("llama").is_none());
    }
}
