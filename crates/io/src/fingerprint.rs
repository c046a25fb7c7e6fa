//! A hash of a tokenizer's behaviour, independent of the layout of its file.
//!
//! In: an engine. Out: three digests of the canonical description, for everything that determines
//! ids, text and the frame around them; the fingerprint is the hash of the three. A fourth digest, of the
//! chat templates, is not part of it: they change no id of a text. Layout, key
//! order, the notation of merges and steps without effect must not change them.
use tokenmill_core::description::{Decoding, Description};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;

use crate::known_files::sha256;
use crate::state::shape::{State, Writer};

/// Version of the rules for hashing. A change of the rules needs a new version.
const VERSION: u8 = 1;

/// The digests of a tokenizer, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Digest of everything that determines the ids of a text.
    pub encode: String,
    /// Digest of everything that determines the text of ids.
    pub decode: String,
    /// Digest of everything around the ids: templates, truncation, padding and roles.
    pub template: String,
    /// Digest of the chat templates. It is not part of the fingerprint.
    pub chat: String,
}

impl Digests {
    /// The digests of a tokenizer; hooks are identified by name. Cost: proportional to the vocabulary.
    ///
    /// # Errors
    /// A format error for a hook without a name.
    pub fn of(engine: &Engine) -> Result<Self> {
        Ok(Self::with_description(engine)?.0)
    }

    /// The digests, and the description that they are of: one for all notations of the same tokenizer.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(crate) fn with_description(engine: &Engine) -> Result<(Self, Description)> {
        engine.description().check_hooks_have_names()?;
        let plain = engine.canonical().without_idle_parts();
        let Description {
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
        } = &plain;
        let vocabulary = engine.vocabulary();
        // Without steps, a token decodes to its bytes: `Ġ` may be a space or itself.
        let text = |id: u32| match decoding {
            Decoding::Bytes => vocabulary.decoded(id).map(<[u8]>::to_vec),
            _ => vocabulary.written(id).map(String::into_bytes),
        };
        let texts: Vec<(u32, Vec<u8>)> =
            vocabulary.ids().into_iter().filter_map(|id| Some((id, text(id)?))).collect();
        let special: Vec<u32> =
            added_tokens.iter().filter(|token| token.is_special).map(|token| token.id).collect();
        let mut around: Vec<&dyn Written> =
            vec![post_processor, truncation, padding, roles, &defaults.special_as_text];
        // Without them the digest is that of tokenizers that cannot have them.
        if defaults.limits.is_some() {
            around.push(&defaults.limits);
        }
        let digests = Self {
            encode: digest("encode", &[added_tokens, normalizer, pre_tokenizer, model]),
            decode: digest("decode", &[decoding, &texts, &special, &defaults.clean_up_spaces]),
            template: digest("template", &around),
            chat: digest("chat", &[chat_templates]),
        };
        Ok((digests, plain))
    }

    /// The fingerprint: `tm1-` and 64 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let Self { encode, decode, template, chat: _ } = self;
        format!("tm{VERSION}-{}", digest("tokenizer", &[encode, decode, template]))
    }
}

fn digest(name: &str, parts: &[&dyn Written]) -> String {
    let mut out = Writer(vec![VERSION]);
    out.bytes(name.as_bytes());
    for part in parts {
        part.write_to(&mut out);
    }
    sha256(&out.0)
}

/// The writing half of [`State`], so that values of several types fit in one list.
trait Written {
    fn write_to(&self, out: &mut Writer);
}

impl<T: State> Written for T {
    fn write_to(&self, out: &mut Writer) {
        self.write(out);
    }
}
