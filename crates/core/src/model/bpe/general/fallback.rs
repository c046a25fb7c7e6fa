//! What text becomes that is no symbol: tokens for its bytes, or the unknown token.
//!
//! Comes in: a description. Goes out: the tokens for some bytes, or nothing; then the text is an error. It must
//! never give the tokens of only some of the bytes.
use crate::description::BpeDescription;
use crate::ids::{NO_ID, TokenId};
use crate::vocabulary::Vocabulary;

/// The tokens for text that is no symbol.
#[derive(Debug)]
pub(super) struct Fallback {
    /// The unknown token.
    pub(super) unk: Option<TokenId>,
    /// Do adjacent unknown symbols become one token?
    pub(super) fuse: bool,
    /// The tokens `<0xNN>`, [`NO_ID`] where one is missing. They come before the unknown token, if all that are
    /// needed are there.
    bytes: Option<Box<[TokenId; 256]>>,
}

impl Fallback {
    /// The tokens `<0xNN>` are found by how they are written. Special ones are never made from text.
    pub(super) fn new(
        &BpeDescription { unk, fuse_unk, byte_fallback, .. }: &BpeDescription,
        vocabulary: &Vocabulary,
    ) -> Self {
        let find = |byte: usize| {
            let id = vocabulary.find(format!("<0x{byte:02X}>").as_bytes());
            id.filter(|&id| !vocabulary.is_special(id)).unwrap_or(NO_ID)
        };
        let bytes = byte_fallback.then(|| Box::new(std::array::from_fn(find)));
        Self { unk, fuse: fuse_unk, bytes }
    }

    /// The tokens `<0xNN>` of these bytes, if all are there.
    pub(super) fn tokens_of(&self, bytes: &[u8]) -> Option<impl Iterator<Item = TokenId>> {
        let table = self.bytes.as_ref()?;
        let token = |byte: &u8| table[usize::from(*byte)];
        bytes.iter().all(|byte| token(byte) != NO_ID).then(|| bytes.iter().map(token))
    }

    /// Can nothing be unknown?
    pub(super) fn spells_all(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| !bytes.contains(&NO_ID))
    }
}
