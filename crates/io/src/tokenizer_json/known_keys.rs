//! The keys of each kind of component.

/// The keys that the reference reads in a component of this type, and keys that it writes without effect.
pub(super) fn known(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "NFC" | "NFD" | "NFKC" | "NFKD" => &["unicode_tables"],
        "Lowercase" | "StripAccents" | "Nmt" | "BertPreTokenizer" | "Whitespace" | "WhitespaceSplit"
        | "UnicodeScripts" | "ByteFallback" | "Fuse" => &[],
        "Replace" => &["pattern", "content"],
        "Prepend" => &["prepend"],
        "BertNormalizer" | "Bert" => &["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"],
        "Precompiled" => &["precompiled_charsmap"],
        "ByteLevel" => &["add_prefix_space", "trim_offsets", "use_regex"],
        "Metaspace" => &["replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"],
        "Split" => &["pattern", "behavior", "invert"],
        "Punctuation" => &["behavior"],
        "Digits" => &["individual_digits"],
        "CharDelimiterSplit" => &["delimiter"],
        "FixedLength" => &["length"],
        "Hook" => &["name"],
        "BertProcessing" => &["sep", "cls"],
        "RobertaProcessing" => &["sep", "cls", "trim_offsets", "add_prefix_space"],
        "TemplateProcessing" => &["single", "pair", "special_tokens"],
        "WordPiece" => &["prefix", "cleanup"],
        "BPEDecoder" => &["suffix"],
        "CTC" => &["pad_token", "word_delimiter_token", "cleanup"],
        // Both a normalizer and a decoder have this name.
        "Strip" => &["strip_left", "strip_right", "content", "start", "stop"],
        "Sequence" => &["normalizers", "pretokenizers", "processors", "decoders"],
        _ => return None,
    })
}
