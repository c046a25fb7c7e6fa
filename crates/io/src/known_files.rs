//! The splits and special tokens of published files that contain only ranks, by the sha256 of the file.
//!
//! Sources: tiktoken 0.14.0, `tiktoken_ext/openai_public.py`; Llama 3, `llama3/tokenizer.py`; Qwen,
//! `tokenization_qwen.py`; Whisper, `whisper/tokenizer.py`.
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};
use tokenmill_core::ids::TokenId;

/// The split and special tokens of a published file, which the file itself lacks.
pub(crate) struct Known {
    /// The name of its split.
    pub(crate) split: &'static str,
    /// Its named special tokens.
    named: &'static [(&'static str, TokenId)],
    /// Its numbered special tokens: the text before and after the number, the first number, and the ids.
    numbered: &'static [(&'static str, &'static str, u32, RangeInclusive<TokenId>)],
}

impl Known {
    /// Its special tokens.
    pub(crate) fn special_tokens(&self) -> impl Iterator<Item = (String, TokenId)> {
        let named = self.named.iter().map(|&(name, id)| (name.to_owned(), id));
        let numbered = self.numbered.iter().flat_map(|(before, after, first, ids)| {
            (*first..).zip(ids.clone()).map(move |(number, id)| (format!("{before}{number}{after}"), id))
        });
        named.chain(numbered)
    }
}

const GPT2: Known = Known { split: "gpt2", named: &[("<|endoftext|>", 50_256)], numbered: &[] };

const CL100K: Known = Known {
    split: "cl100k",
    named: &[
        ("<|endoftext|>", 100_257),
        ("<|fim_prefix|>", 100_258),
        ("<|fim_middle|>", 100_259),
        ("<|fim_suffix|>", 100_260),
        ("<|endofprompt|>", 100_276),
    ],
    numbered: &[],
};

const O200K: Known = Known {
    split: "o200k",
    named: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
    numbered: &[],
};

/// Llama 3. Later releases keep the file and name some of the reserved tokens.
const LLAMA3: Known = Known {
    split: "llama3",
    named: &[
        ("<|begin_of_text|>", 128_000),
        ("<|end_of_text|>", 128_001),
        ("<|start_header_id|>", 128_006),
        ("<|end_header_id|>", 128_007),
        ("<|eot_id|>", 128_009),
    ],
    numbered: &[
        ("<|reserved_special_token_", "|>", 0, 128_002..=128_005),
        ("<|reserved_special_token_", "|>", 4, 128_008..=128_008),
        ("<|reserved_special_token_", "|>", 5, 128_010..=128_255),
    ],
};

const QWEN: Known = Known {
    split: "qwen2",
    named: &[("<|endoftext|>", 151_643), ("<|im_start|>", 151_644), ("<|im_end|>", 151_645)],
    numbered: &[("<|extra_", "|>", 0, 151_646..=151_850)],
};

/// Whisper. The ids after these depend on the number of languages of a release.
const WHISPER: Known = Known {
    split: "gpt2",
    named: &[("<|endoftext|>", 50_257), ("<|startoftranscript|>", 50_258)],
    numbered: &[],
};

/// The sha256, name and meaning of each file. A name that files of many models have is empty.
const FILES: [(&str, &str, &Known); 8] = [
    // also gpt2.tiktoken of Whisper
    ("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", "r50k_base.tiktoken", &GPT2),
    ("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", "p50k_base.tiktoken", &GPT2),
    ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", "cl100k_base.tiktoken", &CL100K),
    ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", "o200k_base.tiktoken", &O200K),
    // tokenizer.model of Llama 3
    ("82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55", "", &LLAMA3),
    ("b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186", "qwen.tiktoken", &QWEN),
    // of Whisper
    ("b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126", "multilingual.tiktoken", &WHISPER),
    // vocab.json of GPT-2, which comes with a merges.txt
    ("196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783", "", &GPT2),
];

/// The sha256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Looks up a published file by its bytes.
pub(crate) fn find(bytes: &[u8]) -> Option<&'static Known> {
    let digest = sha256(bytes);
    FILES.iter().find(|(known, ..)| *known == digest).map(|(.., known)| *known)
}

/// The sha256 of the published file that has this name.
pub(crate) fn sha256_of_name(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(_, known, _)| !name.is_empty() && *known == name).map(|(digest, ..)| *digest)
}
