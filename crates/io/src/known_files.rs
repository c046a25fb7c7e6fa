//! Published files that hold ranks alone: the split and the special tokens that belong to them,
//! by the sha256 of the file. Source: tiktoken 0.14.0, `tiktoken_ext/openai_public.py`.
use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use tokenmill_core::ids::TokenId;

/// What belongs to a file besides what is in it.
pub(crate) struct Known {
    /// The name of its split.
    pub(crate) split: &'static str,
    /// Its special tokens.
    pub(crate) special_tokens: &'static [(&'static str, TokenId)],
}

const GPT2: Known = Known { split: "gpt2", special_tokens: &[("<|endoftext|>", 50_256)] };

const CL100K: Known = Known {
    split: "cl100k",
    special_tokens: &[
        ("<|endoftext|>", 100_257),
        ("<|fim_prefix|>", 100_258),
        ("<|fim_middle|>", 100_259),
        ("<|fim_suffix|>", 100_260),
        ("<|endofprompt|>", 100_276),
    ],
};

const O200K: Known =
    Known { split: "o200k", special_tokens: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)] };

const FILES: [(&str, &Known); 5] = [
    // r50k_base.tiktoken
    ("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", &GPT2),
    // p50k_base.tiktoken
    ("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", &GPT2),
    // cl100k_base.tiktoken
    ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", &CL100K),
    // o200k_base.tiktoken
    ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", &O200K),
    // vocab.json of GPT-2, whose merges.txt goes with it
    ("196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783", &GPT2),
];

/// The sha256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut digest = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// What belongs to these bytes, if they are one of the published files.
pub(crate) fn find(bytes: &[u8]) -> Option<&'static Known> {
    let digest = sha256(bytes);
    FILES.iter().find(|(known, _)| *known == digest).map(|(_, known)| *known)
}
