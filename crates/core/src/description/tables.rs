//! The parts of a description that grow with the vocabulary, as parts of an image.
//!
//! An image has the rest of a description in another form. There these parts are missing; here nothing else is.
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};

use super::{
    BpeDescription, Description, MergeList, Merges, ModelDescription, PieceKind, TokenList,
    UnigramDescription,
};
use crate::error::Result;

impl Description {
    /// The same description without tokens, merges, scores and kinds.
    #[must_use]
    pub fn without_tables(&self) -> Self {
        let mut without = self.clone();
        *without.model.tokens_mut() = TokenList::default().into();
        match &mut without.model {
            ModelDescription::Bpe(BpeDescription { merges: Merges::Listed(merges), .. }) => {
                *merges = MergeList::default();
            }
            ModelDescription::Bpe(BpeDescription { merges: Merges::ByScore { scores, kinds }, .. }) => {
                (*scores, *kinds) = (Vec::new(), Vec::new());
            }
            ModelDescription::Unigram(UnigramDescription { scores, kinds, .. }) => {
                (*scores, *kinds) = (Vec::new(), Vec::new());
            }
            _ => {}
        }
        without
    }

    /// Appends what [`Self::without_tables`] leaves out to an image.
    pub(crate) fn write_tables(&self, image: &mut ImageWriter) {
        self.model.tokens().write(image);
        match &self.model {
            ModelDescription::Bpe(BpeDescription { merges: Merges::Listed(merges), .. }) => {
                merges.write(image);
            }
            ModelDescription::Bpe(BpeDescription { merges: Merges::ByScore { scores, kinds }, .. }) => {
                image.array(scores);
                write_kinds(kinds, image);
            }
            ModelDescription::Unigram(UnigramDescription { scores, kinds, .. }) => {
                image.array(scores);
                write_kinds(kinds, image);
            }
            _ => {}
        }
    }

    /// Puts into a description what [`Self::without_tables`] left out.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read_tables(&mut self, image: &mut ImageReader) -> Result<()> {
        let tokens = TokenList::read(image)?;
        let count = tokens.len();
        *self.model.tokens_mut() = tokens.into();
        match &mut self.model {
            ModelDescription::Bpe(BpeDescription { merges: Merges::Listed(merges), .. }) => {
                *merges = MergeList::read(image)?;
            }
            ModelDescription::Bpe(BpeDescription { merges: Merges::ByScore { scores, kinds }, .. }) => {
                *scores = image.array_of(count)?.into_vec();
                *kinds = read_kinds(&image.array_of(count)?)?;
            }
            ModelDescription::Unigram(UnigramDescription { scores, kinds, .. }) => {
                *scores = image.array_of(count)?.into_vec();
                *kinds = read_kinds(&image.array()?)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn write_kinds(kinds: &[PieceKind], image: &mut ImageWriter) {
    let number = |kind| PieceKind::ALL.iter().position(|known| known == kind).unwrap_or_default() as u8;
    image.array(&kinds.iter().map(number).collect::<Vec<u8>>());
}

fn read_kinds(numbers: &[u8]) -> std::result::Result<Vec<PieceKind>, ImageError> {
    let kind = |&number: &u8| PieceKind::ALL.get(usize::from(number)).copied();
    let kinds = numbers.iter().map(kind).collect::<Option<_>>();
    kinds.ok_or(ImageError::Inconsistent("a token has no kind"))
}
