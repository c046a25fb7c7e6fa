//! A place at which a text may be cut, and the stages that are asked for it.
use crate::description::Description;
use crate::model::Model;
use crate::normalize::Normalizers;
use crate::pattern::Splitter;
use crate::pretokenize::PreTokenizers;
use crate::vocabulary::Vocabulary;

/// A place at which a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    /// Where the character before it begins. A text that begins behind that character need not be cut there.
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
