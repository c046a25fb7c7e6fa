//! What a tokenizer means, as a hash: the same for every file that says the same.
//!
//! Three digests are taken of the canonical description, of what decides ids, text and the frame
//! around them; the fingerprint is the hash of the three. Layout, key order, the notation of merges
//! and steps that do nothing leave no trace in them.
use tokenmill_core::description::{Decoder, Decoding, Description, Normalizer, PostProcessor};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;

use crate::known_files::sha256;
use crate::state::shape::{State, Writer};

/// Of this library's rules for what is hashed. A change of them makes another one.
const VERSION: u8 = 1;

/// The digests of a tokenizer, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Of what decides the ids of a text.
    pub encode: String,
    /// Of what decides the text of ids.
    pub decode: String,
    /// Of what is put around ids: templates, truncation, padding, and the parts that ids play.
    pub template: String,
}

impl Digests {
    /// Of a tokenizer, in which hooks count by their names. Cost: proportional to the vocabulary.
    ///
    /// # Errors
    /// A format error for a hook without a name.
    pub fn of(engine: &Engine) -> Result<Self> {
        engine.description().check_hooks_have_names()?;
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
        } = plain(engine.canonical());
        let vocabulary = engine.vocabulary();
        // Where no step says what a token is as text, its bytes do: `Ġ` may be a space or itself.
        let text = |id: u32| match &decoding {
            Decoding::Bytes => vocabulary.decoded(id).map(<[u8]>::to_vec),
            _ => vocabulary.written(id).map(String::into_bytes),
        };
        let texts: Vec<(u32, Vec<u8>)> =
            vocabulary.ids().into_iter().filter_map(|id| Some((id, text(id)?))).collect();
        let special: Vec<u32> =
            added_tokens.iter().filter(|token| token.is_special).map(|token| token.id).collect();
        Ok(Self {
            encode: digest("encode", &[&added_tokens, &normalizer, &pre_tokenizer, &model]),
            decode: digest("decode", &[&decoding, &texts, &special, &defaults.clean_up_spaces]),
            template: digest(
                "template",
                &[&post_processor, &truncation, &padding, &roles, &defaults.special_as_text],
            ),
        })
    }

    /// The three as one: `tm1-` and 64 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let Self { encode, decode, template } = self;
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

/// [`State`] without its reading half, so that values of several types may stand in one list.
trait Written {
    fn write_to(&self, out: &mut Writer);
}

impl<T: State> Written for T {
    fn write_to(&self, out: &mut Writer) {
        self.write(out);
    }
}

/// The description without what says nothing.
fn plain(mut description: Description) -> Description {
    for step in &mut description.normalizer {
        if let Normalizer::Bert { strip_accents, lowercase, .. } = step {
            strip_accents.get_or_insert(*lowercase);
        }
    }
    description.normalizer.retain(|step| match step {
        Normalizer::Prepend(text) => !text.is_empty(),
        Normalizer::Strip { left, right } => *left || *right,
        _ => true,
    });
    description
        .post_processor
        .retain(|step| !matches!(step, PostProcessor::ByteLevel { trim_offsets: false, .. }));
    if let Decoding::Steps(steps) = &mut description.decoding {
        for step in steps {
            if let Decoder::Metaspace { split, .. } = step {
                *split = true;
            }
        }
    }
    description
}
