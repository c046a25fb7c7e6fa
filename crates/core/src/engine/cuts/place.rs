//! A place at which a text may be cut, and the stages that are asked for it.
use crate::description::Description;
use crate::model::Model;
use crate::model::bpe::Bpe;
use crate::normalize::Normalizers;
use crate::pattern::Splitter;
use crate::pretokenize::PreTokenizers;
use crate::vocabulary::Vocabulary;

/// A place at which a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    /// Where the character before it begins. A text that begins after that character need not be cut there.
    pub(crate) before: usize,
    /// The end of the text that makes it such a place.
    pub(crate) seen: usize,
}

/// The stages that are asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutStages<'a> {
    pub(crate) description: &'a Description,
    pub(crate) normalizers: &'a Normalizers,
    pub(crate) splitter: Option<&'a Splitter>,
    pub(crate) pre_tokenizers: &'a PreTokenizers,
    pub(crate) model: &'a Model,
    pub(crate) vocabulary: &'a Vocabulary,
}

impl CutStages<'_> {
    /// Does each id of the model stand for exactly the bytes of its token? Not an unknown token, which stands for any
    /// bytes, or for several that follow one another.
    pub(crate) fn ids_are_bytes(&self) -> bool {
        let has_no_unknown = |bpe: &Bpe| bpe.canonical().is_some() || self.description.model.unk().is_none();
        self.description.is_byte_level() && self.model.as_bpe().is_some_and(has_no_unknown)
    }
}
