//! The records and choices of a description, in the order in which they are written.
use std::sync::Arc;

use tokenmill_core::description::{
    AddedToken, Alphabet, Behavior, BpeDescription, CallDefaults, CallLimits, ChatTemplates, Decoder,
    Decoding, Description, EndOfWord, EndOfWordForm, HookName, Merge, MergeList, Merges, ModelDescription,
    Normalizer, Padding, PaddingLength, Pattern, PieceKind, PostProcessor, PreTokenizer, PrependScheme,
    Roles, SentencePieceRules, Side, Template, TemplatePiece, TemplateToken, TokenList, Truncation,
    TruncationStrategy, UnicodeTables, UnigramDescription, WordLevelDescription, WordPieceDescription,
};
use tokenmill_core::error::{Defect, Error, Result};

use super::shape::{Reader, State, Writer, choice, record};

record!(Description {
    added_tokens,
    normalizer,
    pre_tokenizer,
    model,
    post_processor,
    decoding,
    truncation,
    padding,
    roles,
    defaults,
    chat_templates,
});
record!(AddedToken { id, content, is_special, single_word, lstrip, rstrip, normalized });
record!(Roles { bos, eos, unk, sep, pad, cls, mask });
record!(CallDefaults { special_as_text, clean_up_spaces, limits });
record!(CallLimits { padding_side, truncation_side, max_length });

choice!(Normalizer {
    0: Nfc(tables),
    1: Nfd(tables),
    2: Nfkc(tables),
    3: Nfkd(tables),
    4: Lowercase,
    5: Strip { left, right },
    6: StripAccents,
    7: Replace { pattern, content },
    8: Prepend(text),
    9: ByteLevel,
    10: Nmt,
    11: Bert { clean_text, handle_chinese_chars, strip_accents, lowercase },
    12: Precompiled(charsmap),
    13: SentencePiece(rules),
    14: Hook(name),
});
choice!(HookName { 0: Named(name), 1: Unnamed(number) });
choice!(UnicodeTables { 0: Reference, 1: Current });
record!(SentencePieceRules {
    charsmap,
    user_defined,
    add_dummy_prefix,
    remove_extra_whitespaces,
    escape_whitespaces,
    treat_whitespace_as_suffix,
});
choice!(Pattern { 0: Literal(text), 1: Regex(regex) });

choice!(PreTokenizer {
    0: Split { pattern, behavior, invert },
    1: PrefixSpace,
    2: ByteAlphabet,
    3: Bert,
    4: Punctuation(behavior),
    5: Whitespace,
    6: WhitespaceSplit,
    7: Digits { individual },
    8: CharDelimiter(delimiter),
    9: FixedLength(length),
    10: UnicodeScripts,
    11: Metaspace { replacement, prepend, split },
    12: Hook(name),
});
choice!(Behavior { 0: Removed, 1: Isolated, 2: MergedWithPrevious, 3: MergedWithNext, 4: Contiguous });
choice!(PrependScheme { 0: First, 1: Never, 2: Always });

choice!(ModelDescription { 0: Bpe(model), 1: WordPiece(model), 2: WordLevel(model), 3: Unigram(model) });
record!(BpeDescription {
    alphabet,
    tokens,
    merges,
    whole_pretokens,
    unk,
    fuse_unk,
    byte_fallback,
    continuing_prefix,
    dropout,
});
choice!(Alphabet { 0: Bytes, 1: Chars { end_of_word } });
record!(EndOfWord { symbol, form });
choice!(EndOfWordForm { 0: Separate, 1: Suffix });
/// As a list of records.
impl State for MergeList {
    fn write(&self, out: &mut Writer) {
        out.length(self.len());
        self.iter().for_each(|merge| merge.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let length = from.length()?;
        (0..length).map(|_| Merge::read(from)).collect()
    }
}

choice!(Merges { 0: ById, 1: Listed(merges), 2: ByScore { scores, kinds } });
record!(Merge { left, right, result });
choice!(PieceKind { 0: Normal, 1: Unknown, 2: Control, 3: UserDefined, 4: Unused, 5: Byte });
record!(WordPieceDescription { tokens, unk, continuing_prefix, max_chars });
record!(WordLevelDescription { tokens, unk });
record!(UnigramDescription { tokens, scores, kinds, unk, unk_score, byte_fallback, single_precision });

choice!(PostProcessor {
    0: Template(template),
    1: Bert { sep, cls },
    2: Roberta { sep, cls, trim_offsets, add_prefix_space },
    3: ByteLevel { trim_offsets, add_prefix_space },
});
record!(Template { single, pair, special_tokens });
choice!(TemplatePiece { 0: Sequence { second, type_id }, 1: Special { name, type_id } });
record!(TemplateToken { name, ids, tokens });

choice!(Decoding { 0: Bytes, 1: Steps(steps), 2: Spaced });
choice!(Decoder {
    0: ByteLevel,
    1: WordPiece { prefix, cleanup },
    2: Metaspace { replacement, prepend, split },
    3: Bpe { suffix },
    4: Ctc { pad, delimiter, cleanup },
    5: ByteFallback,
    6: Fuse,
    7: Strip { content, start, stop },
    8: Replace { pattern, content },
    9: SentencePiece { unk_surface, add_dummy_prefix, remove_extra_whitespaces, treat_whitespace_as_suffix },
    10: Denormalize { map },
});

record!(Truncation { direction, max_length, strategy, stride });
choice!(Side { 0: Left, 1: Right });
choice!(TruncationStrategy { 0: LongestFirst, 1: OnlyFirst, 2: OnlySecond });
record!(Padding { length, direction, multiple_of, id, type_id, token });
choice!(PaddingLength { 0: Longest, 1: Fixed(length) });

impl State for ChatTemplates {
    fn write(&self, out: &mut Writer) {
        out.length(self.len());
        for (name, source) in self.iter() {
            out.bytes(name.as_bytes());
            out.bytes(source.as_bytes());
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut templates = Self::default();
        for _ in 0..from.length()? {
            templates.set(&String::read(from)?, &String::read(from)?)?;
        }
        Ok(templates)
    }
}

impl State for Arc<TokenList> {
    fn write(&self, out: &mut Writer) {
        out.length(self.len());
        for (id, bytes) in self.iter() {
            id.write(out);
            out.bytes(bytes);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.length()?;
        let mut tokens = TokenList::with_capacity(count, from.0.len());
        for _ in 0..count {
            let id = u32::read(from)?;
            tokens.push(id, from.bytes()?);
        }
        Ok(tokens.into())
    }
}
