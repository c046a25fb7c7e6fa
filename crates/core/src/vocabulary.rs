//! The mapping between ids and bytes, both ways, for ordinary and added tokens.
//!
//! [`DecodedTokens`] holds the bytes that each id decodes to.
use std::borrow::Cow;
use std::sync::Arc;

use crate::byte_alphabet;
use crate::decoded::DecodedTokens;
use crate::description::{
    AddedToken, Alphabet, Decoding, Description, EndOfWord, EndOfWordForm, Merges, TokenList,
};
use crate::ids::{NO_ID, TokenId, to_u32};
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{MadeOnce, sorting};

/// The ids and bytes of one tokenizer.
#[derive(Debug)]
pub struct Vocabulary {
    tokens: Arc<TokenList>,
    added: Vec<AddedToken>,
    /// The indices of added tokens, ascending by content. Made at the first need.
    added_by_content: MadeOnce<Vec<u32>>,
    written_in_byte_alphabet: bool,
    decoded: DecodedTokens,
}

impl Vocabulary {
    /// Builds the vocabulary of a valid description.
    pub fn new(description: &Description) -> Self {
        let (tokens, added) = (description.model.tokens(), &description.added_tokens);
        let endings = Endings::of(description);
        let is_byte_level = description.is_byte_level();
        let size = tokens.size() + added.iter().map(|token| token.content.len()).sum::<usize>();
        let mut decoded = DecodedTokens::with_capacity(tokens.len() + added.len(), size);
        let (mut next_token, mut next_added) = (0, 0);
        // Both lists ascend and are merged by id. An id decodes to its added token, unless the
        // model produces the id too; else to its first ordinary token.
        while next_token < tokens.len() || next_added < added.len() {
            let token_id = tokens.ids().get(next_token).copied().unwrap_or(NO_ID);
            let added_id = added.get(next_added).map_or(NO_ID, |token| token.id);
            let id = token_id.min(added_id);
            let first = next_token;
            next_token += tokens.ids()[first..].iter().take_while(|&&other| other == id).count();
            if added_id == id {
                let token = &added[next_added];
                let ordinary = (first..next_token).map(|index| tokens.bytes(index));
                let bytes = bytes_of_model(token, ordinary, is_byte_level);
                decoded.push(id, bytes.unwrap_or(token.content.as_bytes()), token.is_special);
                next_added += 1;
            } else {
                let bytes = tokens.bytes(first);
                decoded.push(id, &bytes[..bytes.len() - endings.length(first)], false);
            }
        }
        Self::of(description, decoded.finish())
    }

    fn of(description: &Description, decoded: DecodedTokens) -> Self {
        Self {
            written_in_byte_alphabet: description.is_byte_level(),
            tokens: Arc::clone(description.model.tokens()),
            added: description.added_tokens.clone(),
            added_by_content: MadeOnce::new(),
            decoded,
        }
    }

    /// Appends the tables to an image.
    pub(crate) fn write_tables(&self, image: &mut ImageWriter) {
        self.decoded.write(image);
    }

    /// The tables of an image, for the same description.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read_tables(
        description: &Description,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        DecodedTokens::read(image).map(|decoded| Self::of(description, decoded))
    }

    /// Number of ids that exist.
    pub fn len(&self) -> usize {
        self.decoded.len()
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.tokens.memory() + self.decoded.memory()
    }

    /// Are there no ids?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest id.
    pub fn max_id(&self) -> Option<TokenId> {
        let token = self.tokens.ids().last().copied();
        token.max(self.added.last().map(|token| token.id))
    }

    /// Does this id exist?
    #[inline]
    pub fn contains(&self, id: TokenId) -> bool {
        self.decoded.contains(id)
    }

    /// The bytes that an id decodes to; `None` if it does not exist.
    #[inline]
    pub fn decoded(&self, id: TokenId) -> Option<&[u8]> {
        self.decoded.get(id)
    }

    /// The bytes of all ids.
    #[inline]
    pub(crate) fn decoded_tokens(&self) -> &DecodedTokens {
        &self.decoded
    }

    /// The id of the ordinary token with exactly these bytes; of several the last.
    #[inline]
    pub fn find(&self, bytes: &[u8]) -> Option<TokenId> {
        self.find_index(bytes).map(|index| self.tokens.id(index))
    }

    /// As [`Self::find`], without special tokens: only ids that text may produce.
    #[inline]
    pub fn find_in_text(&self, bytes: &[u8]) -> Option<TokenId> {
        self.find(bytes).filter(|&id| !self.is_special(id))
    }

    /// As [`Self::find`], but returns the index in [`Self::tokens`].
    #[inline]
    pub fn find_index(&self, bytes: &[u8]) -> Option<usize> {
        self.tokens.find(bytes)
    }

    /// The ordinary tokens.
    pub fn tokens(&self) -> &TokenList {
        &self.tokens
    }

    /// The added tokens, ascending by id.
    pub fn added(&self) -> &[AddedToken] {
        &self.added
    }

    /// The added token with this id.
    pub fn added_by_id(&self, id: TokenId) -> Option<&AddedToken> {
        // Most ids are smaller than those of added tokens.
        let (first, last) = (self.added.first()?, self.added.last()?);
        if !(first.id..=last.id).contains(&id) {
            return None;
        }
        self.added.binary_search_by_key(&id, |token| token.id).ok().map(|index| &self.added[index])
    }

    /// The added token with this content; of several the first. Cost: logarithmic, but for the first call.
    pub fn added_by_content(&self, content: &str) -> Option<&AddedToken> {
        let of = |index: &u32| self.added[*index as usize].content.as_str();
        let sorted = self.added_by_content.get_or_make(|| {
            let mut sorted: Vec<u32> = (0..to_u32(self.added.len())).collect();
            sorting::sort_by(&mut sorted, |a, b| of(a).cmp(of(b)).then(a.cmp(b)));
            sorted
        });
        let first = sorted.get(sorted.partition_point(|index| of(index) < content))?;
        Some(&self.added[*first as usize]).filter(|token| token.content == content)
    }

    /// Is this the id of a special token? The model never produces one from text.
    #[inline]
    pub fn is_special(&self, id: TokenId) -> bool {
        self.added_by_id(id).is_some_and(|token| token.is_special)
    }

    /// Is this added token also an ordinary token, with the same id?
    pub fn holds_as_ordinary(&self, token: &AddedToken) -> bool {
        let index = self.find_written_index(&token.content);
        index.is_some_and(|index| self.tokens.id(index) == token.id)
    }

    /// Every token in written form with its id: ids ascending, tokens of one id in list order,
    /// added tokens after ordinary ones and without those that are ordinary as well.
    pub fn entries(&self) -> impl Iterator<Item = (TokenId, Cow<'_, str>)> + '_ {
        let ordinary = self.tokens.iter().map(|(id, bytes)| (id, Cow::Owned(self.write(bytes))));
        let mut added = self.added.iter().filter(|token| !self.holds_as_ordinary(token)).peekable();
        let mut ordinary = ordinary.peekable();
        std::iter::from_fn(move || {
            let comes_first = match (ordinary.peek(), added.peek()) {
                (Some((id, _)), Some(token)) => *id <= token.id,
                (ordinary, _) => ordinary.is_some(),
            };
            if comes_first {
                return ordinary.next();
            }
            added.next().map(|token| (token.id, Cow::Borrowed(token.content.as_str())))
        })
    }

    /// The written form of an id: `Ġworld` for byte-level vocabularies.
    pub fn written(&self, id: TokenId) -> Option<String> {
        if let Some(token) = self.added_by_id(id) {
            return Some(token.content.clone());
        }
        let bytes = self.tokens.bytes(self.tokens.index_of(id)?);
        Some(self.write(bytes))
    }

    /// As [`Self::written`], without a copy if the vocabulary stores that form. Not for
    /// vocabularies whose ids decode to their own bytes: these store the decoded form.
    #[inline]
    pub fn as_written(&self, id: TokenId) -> Option<Cow<'_, str>> {
        if self.written_in_byte_alphabet {
            return self.written(id).map(Cow::Owned);
        }
        self.decoded(id).map(String::from_utf8_lossy)
    }

    /// The written form of a token's bytes.
    pub fn write(&self, bytes: &[u8]) -> String {
        if self.written_in_byte_alphabet {
            byte_alphabet::write(bytes)
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    }

    /// The id of a written form; added tokens first.
    pub fn id_of_written(&self, written: &str) -> Option<TokenId> {
        if let Some(token) = self.added_by_content(written) {
            return Some(token.id);
        }
        self.find_written_index(written).map(|index| self.tokens.id(index))
    }

    /// The index in [`Self::tokens`] of the ordinary token with this written form.
    fn find_written_index(&self, written: &str) -> Option<usize> {
        if self.written_in_byte_alphabet {
            self.find_index(&byte_alphabet::read(written)?)
        } else {
            self.find_index(written.as_bytes())
        }
    }

    /// All ids, ascending.
    pub fn ids(&self) -> Vec<TokenId> {
        let mut ids: Vec<TokenId> = self.tokens.ids().to_vec();
        ids.extend(self.added.iter().map(|token| token.id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// The bytes that an added token decodes to if it is also one of the `ordinary` tokens of its id,
/// in the byte alphabet, and not special. The model produces the id for these bytes, which may be
/// only a part of a character, and most texts with the id have it from the model.
fn bytes_of_model<'a>(
    token: &AddedToken,
    mut ordinary: impl Iterator<Item = &'a [u8]>,
    is_byte_level: bool,
) -> Option<&'a [u8]> {
    if token.is_special || !is_byte_level {
        return None;
    }
    let read = byte_alphabet::read(&token.content)?;
    ordinary.find(|&bytes| bytes == read)
}

/// The length of the end-of-word mark at the end of each ordinary token, by index.
///
/// Marked tokens are found by their merges, not by their spelling: text may contain the characters
/// `</w>` too.
struct Endings {
    mark: usize,
    marked: Vec<bool>,
}

impl Endings {
    fn of(description: &Description) -> Self {
        let Some(model) = description.model.as_bpe() else { return Self { mark: 0, marked: Vec::new() } };
        let (Alphabet::Chars { end_of_word: Some(end_of_word) }, Decoding::Bytes) =
            (&model.alphabet, &description.decoding)
        else {
            return Self { mark: 0, marked: Vec::new() };
        };
        let merged: std::collections::HashSet<TokenId> = match &model.merges {
            Merges::Listed(merges) => merges.iter().map(|merge| merge.result).collect(),
            Merges::ById | Merges::ByScore { .. } => std::collections::HashSet::new(),
        };
        let mut marked: Vec<bool> = model
            .tokens
            .iter()
            .map(|(id, bytes)| !merged.contains(&id) && is_marked_symbol(bytes, end_of_word))
            .collect();
        // The parts of a merge precede it in the list, so one pass is enough.
        if let Merges::Listed(merges) = &model.merges {
            for merge in merges.iter() {
                let index = |id| model.tokens.index_of(id);
                if let (Some(result), Some(right)) = (index(merge.result), index(merge.right)) {
                    // Where tokens share an id, this need not be the token that the merge makes.
                    let ends = model.tokens.bytes(result).ends_with(end_of_word.symbol.as_bytes());
                    marked[result] |= marked[right] && ends;
                }
            }
        }
        Self { mark: end_of_word.symbol.len(), marked }
    }

    fn length(&self, index: usize) -> usize {
        if self.marked.get(index) == Some(&true) { self.mark } else { 0 }
    }
}

/// Is this symbol the end-of-word mark, or a character with the mark as suffix?
fn is_marked_symbol(bytes: &[u8], end_of_word: &EndOfWord) -> bool {
    match end_of_word.form {
        EndOfWordForm::Separate => bytes == end_of_word.symbol.as_bytes(),
        EndOfWordForm::Suffix => {
            bytes.len() > end_of_word.symbol.len() && bytes.ends_with(end_of_word.symbol.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{BpeDescription, Merge, Split};

    fn vocabulary(tokens: &[(TokenId, &[u8])], added: &[(TokenId, &str)]) -> Vocabulary {
        let tokens =
            TokenList::from_entries(tokens.iter().map(|&(id, bytes)| (id, bytes.to_vec())).collect());
        let added_tokens = added.iter().map(|&(id, content)| AddedToken::special(id, content)).collect();
        let model = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById);
        let description = Description { added_tokens, ..Description::of_bpe(&Split::Whole, model) };
        description.validate().unwrap();
        Vocabulary::new(&description)
    }

    #[test]
    fn an_added_token_that_the_model_gives_too_decodes_to_the_bytes_of_the_model() {
        let added = |content: &str, is_special| {
            let token = AddedToken { is_special, ..AddedToken::special(0, content) };
            let tokens = TokenList::from_entries(vec![(0, b"\xa2".to_vec()), (0, b"a".to_vec())]);
            let model = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById);
            let description =
                Description { added_tokens: vec![token], ..Description::of_bpe(&Split::Whole, model) };
            Vocabulary::new(&description).decoded(0).unwrap().to_vec()
        };
        assert_eq!(added("¢", false), b"\xa2");
        assert_eq!(added("¢", true), "¢".as_bytes());
        // The single byte of this character is not a token.
        assert_eq!(added("é", false), "é".as_bytes());
        assert_eq!(added("漢", false), "漢".as_bytes());
    }

    #[test]
    fn a_token_without_the_mark_of_the_one_that_has_its_id_stays_whole() {
        let tokens = [(0, "a"), (1, "b</w>"), (2, "A"), (2, "ab</w>")];
        let tokens =
            TokenList::from_entries(tokens.map(|(id, token)| (id, token.as_bytes().to_vec())).into());
        let end_of_word = Some(EndOfWord { symbol: "</w>".to_owned(), form: EndOfWordForm::Suffix });
        let merges = Merges::listed(vec![Merge { left: 0, right: 1, result: 2 }]);
        let model = BpeDescription::plain(Alphabet::Chars { end_of_word }, tokens, merges);
        let vocabulary = Vocabulary::new(&Description::of_bpe(&Split::Whole, model));
        assert_eq!(vocabulary.decoded(1), Some(&b"b"[..]));
        assert_eq!(vocabulary.decoded(2), Some(&b"A"[..]));
    }

    #[test]
    fn holes_huge_ids_and_dense_ids_look_up_alike() {
        let cases: [&[(TokenId, &[u8])]; 3] =
            [&[(0, b"a"), (1, b" b")], &[(0, b"a"), (7, b" b")], &[(0, b"a"), (4_000_000_000, b" b")]];
        for tokens in cases {
            let last = tokens[1].0;
            let vocabulary = vocabulary(tokens, &[(last + 1, "<s>")]);
            assert_eq!(vocabulary.decoded(last), Some(&b" b"[..]));
            assert_eq!(vocabulary.decoded(last + 1), Some(&b"<s>"[..]));
            assert_eq!(vocabulary.decoded(last + 2), None);
            assert_eq!(vocabulary.written(last).as_deref(), Some("Ġb"));
            assert_eq!(vocabulary.id_of_written("Ġb"), Some(last));
            assert_eq!(vocabulary.id_of_written("<s>"), Some(last + 1));
            assert_eq!(vocabulary.find(b" b"), Some(last));
            assert_eq!(vocabulary.find(b"<s>"), None);
            assert_eq!((vocabulary.len(), vocabulary.max_id()), (3, Some(last + 1)));
        }
    }
}
