//! Raw segments: parts of an unsplit text that merge on their own, looked up before the text is normalized.
//!
//! In: a description, then texts. Out: where the segments of a text end, and the ids of a segment that missed the
//! cache. Joined, the ids of the segments must be those of the text, whatever the text is.
//!
//! Most SentencePiece models take a whole text as one pretoken, write each space as a mark, and merge characters.
//! Nothing merges across a place where no token has the two characters side by side, and writing spaces as marks looks
//! at one character at a time. So a text can be cut at such places as it comes. Only segments that miss the cache are
//! rewritten. `docs/merging.md` has the proof.
//!
//! A mark may be put in front of a text. Its first segment is then looked up with a space before it, which is written
//! as that mark; where something else is put there, it goes through all stages.
use std::collections::HashSet;

use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};

use crate::aligned::AlignedText;
use crate::byte_alphabet::written_byte;
use crate::description::{
    Alphabet, BpeDescription, Description, Merges, ModelDescription, Normalizer, Pattern, PieceKind,
    PreTokenizer, PrependScheme,
};
use crate::engine::cuts::only_char;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::{TokenCuts, TokenCutsBuilder};
use crate::model::{Model, Scratch};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

const SPACE: char = ' ';
const MARK: char = '\u{2581}';

/// Where texts are cut, and how spaces are written.
#[derive(Debug)]
pub(crate) struct RawSegments {
    cuts: TokenCuts,
    spaces: Spaces,
}

/// What the stages before the model do with spaces.
#[derive(Debug, Clone, Copy)]
struct Spaces {
    /// What a space is written as; a space if it is kept.
    mark: char,
    prefix: Prefix,
    /// Is the text split before each mark?
    splits: bool,
}

/// What is put in front of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Nothing,
    /// What a space is written as.
    Space,
    /// The same, unless the text begins with a space or a mark. Perhaps only at the start of the caller's text.
    SpaceUnlessMarked {
        only_first: bool,
    },
    Other,
}

impl Prefix {
    /// This prefix, if there is no other one yet.
    fn after(self, before: Self) -> Self {
        if before == Self::Nothing { self } else { Self::Other }
    }
}

/// The first segment of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum FirstSegment {
    /// Nothing is put in front of it.
    Plain,
    /// It ends here, and has the ids that it would have after a space.
    Spaced(usize),
    /// It ends here, and goes through all stages.
    Staged(usize),
}

/// The most bytes of a first segment that is looked up.
pub(in crate::engine) const MAX_SPACED: usize = 127;

impl RawSegments {
    /// `None` if a stage before the model may do more than write spaces as marks, split before them and put something
    /// in front of the text, or if the model may spell a segment in another way than as part of the text.
    pub(super) fn new(
        description: &Description,
        model: &Model,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Self>> {
        let Some(spaces) = Spaces::new(description) else { return Ok(None) };
        let byte_tokens = byte_tokens(vocabulary);
        if !model.is_byte_complete() || !is_independent(&description.model, &byte_tokens) {
            return Ok(None);
        }
        let is_of_byte = |index: usize, id: TokenId| match &description.model {
            ModelDescription::Bpe(BpeDescription { merges: Merges::ByScore { kinds, .. }, .. }) => {
                kinds.get(index) == Some(&PieceKind::Byte)
            }
            _ => byte_tokens.contains(&id),
        };
        let (mut cuts, mut written) = (TokenCutsBuilder::new(), String::new());
        for (index, (id, token)) in vocabulary.tokens().iter().enumerate() {
            ticker.spend(token.len())?;
            let Ok(token) = std::str::from_utf8(token) else { return Ok(None) };
            // Text becomes a byte token without merging, and none of them merges.
            if is_of_byte(index, id) {
                continue;
            }
            cuts.add_text(token);
            for (at, mark) in token.match_indices(spaces.mark) {
                // The text is split before marks, but the model does not see that inside a segment.
                if spaces.splits && at > 0 {
                    return Ok(None);
                }
                // In a text a mark may be written as a space.
                let (before, after) = (&token[..at], &token[at + mark.len()..]);
                let beside = [before.chars().next_back(), Some(SPACE), after.chars().next()];
                written.clear();
                written.extend(beside.into_iter().flatten());
                cuts.add_text(&written);
            }
        }
        // Nor is a run of marks cut, however they are written.
        for pair in [[SPACE, SPACE], [SPACE, spaces.mark], [spaces.mark, SPACE]] {
            cuts.add_text(&pair.iter().collect::<String>());
        }
        Ok(Some(Self { cuts: cuts.finish(), spaces }))
    }

    /// Appends the cuts to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        self.cuts.write(image);
    }

    /// The cuts of an image, for the same description.
    pub(super) fn read(
        description: &Description,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        let cuts = TokenCuts::read(image)?;
        let spaces = Spaces::new(description).ok_or(ImageError::Inconsistent("texts have no segments"))?;
        Ok(Self { cuts, spaces })
    }

    /// The first segment of a text between added tokens.
    pub(in crate::engine) fn first(&self, piece: AlignedText<'_>) -> FirstSegment {
        let is_spaced = match self.spaces.prefix {
            Prefix::Nothing => return FirstSegment::Plain,
            Prefix::Space => true,
            Prefix::SpaceUnlessMarked { only_first } => {
                let is_mark = |c: char| c == SPACE || c == self.spaces.mark;
                if (only_first && !piece.is_at_start()) || piece.text.starts_with(is_mark) {
                    return FirstSegment::Plain;
                }
                true
            }
            Prefix::Other => false,
        };
        match self.cuts.next(piece.text.as_bytes(), 0) {
            0 => FirstSegment::Plain,
            end if is_spaced && end <= MAX_SPACED => FirstSegment::Spaced(end),
            end => FirstSegment::Staged(end),
        }
    }

    /// The first cut inside a text from a byte on. Whether a place is a cut depends on the two characters beside it
    /// alone, so the search may start anywhere.
    pub(in crate::engine) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let before = (0..from).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        let cut = self.cuts.next(text.as_bytes(), before);
        (cut < text.len()).then_some(cut)
    }

    /// The ends of the next segments, at most as many as `ends` has places; there are none at the end of the text.
    /// A segment must begin at `from`.
    #[inline]
    pub(in crate::engine) fn next_ends<'e>(
        &self,
        text: &[u8],
        from: usize,
        ends: &'e mut [usize],
    ) -> &'e [usize] {
        let count = self.cuts.next_batch(text, from, ends);
        &ends[..count]
    }

    /// What a space is written as; a space if it is kept.
    pub(in crate::engine) fn mark(&self) -> char {
        self.spaces.mark
    }

    /// Is the text split before each mark?
    pub(in crate::engine) fn splits(&self) -> bool {
        self.spaces.splits
    }

    /// A token as it is written in a text: with spaces for marks. `None` if no text becomes it. `segment` is a buffer.
    pub(in crate::engine) fn raw_of<'s>(
        &self,
        token: &'s [u8],
        segment: &'s mut Vec<u8>,
    ) -> Option<&'s [u8]> {
        if self.spaces.mark == SPACE {
            return Some(token);
        }
        // All spaces are marks when the model sees them.
        let token = std::str::from_utf8(token).ok().filter(|token| !token.contains(SPACE))?;
        if !token.contains(self.spaces.mark) {
            return Some(token.as_bytes());
        }
        segment.clear();
        for (i, part) in token.split(self.spaces.mark).enumerate() {
            segment.extend_from_slice(if i > 0 { b" " } else { b"" });
            segment.extend_from_slice(part.as_bytes());
        }
        Some(segment)
    }

    /// Spells a segment into `scratch.ids`.
    pub(in crate::engine) fn spell(
        &self,
        segment: &[u8],
        (model, vocabulary): (&Model, &Vocabulary),
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if self.spaces.mark == SPACE || !segment.contains(&(SPACE as u8)) {
            return model.encode(segment, vocabulary, scratch, ticker);
        }
        let mut written = std::mem::take(&mut scratch.segment);
        let mut buffer = [0; 4];
        let mark = self.spaces.mark.encode_utf8(&mut buffer).as_bytes();
        written.clear();
        for (i, part) in segment.split(|&byte| byte == SPACE as u8).enumerate() {
            written.extend_from_slice(if i > 0 { mark } else { &[] });
            written.extend_from_slice(part);
        }
        let spelled = model.encode(&written, vocabulary, scratch, ticker);
        scratch.segment = written;
        spelled
    }

    /// Heap bytes held.
    pub(in crate::engine) fn memory(&self) -> usize {
        self.cuts.memory()
    }
}

impl Spaces {
    /// `None` if a stage before the model may do something else.
    fn new(description: &Description) -> Option<Self> {
        let mut spaces = Self { mark: SPACE, prefix: Prefix::Nothing, splits: false };
        let mut prepended = None;
        for step in &description.normalizer {
            match step {
                // A space that stays one is no mark.
                Normalizer::Prepend(prefix) if spaces.mark != SPACE && prefix.contains(SPACE) => return None,
                Normalizer::Prepend(prefix) => {
                    spaces.prefix = Prefix::Space.after(spaces.prefix);
                    prepended = Some(prefix);
                }
                Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                    if spaces.mark == SPACE && literal == " " =>
                {
                    spaces.mark = only_char(content)?;
                }
                Normalizer::SentencePiece(rules) if spaces.mark == SPACE => {
                    let changes_more = !rules.charsmap.is_empty()
                        || rules.remove_extra_whitespaces
                        || rules.treat_whitespace_as_suffix
                        || rules.user_defined.iter().any(|literal| literal.contains(SPACE));
                    if changes_more {
                        return None;
                    }
                    if rules.add_dummy_prefix {
                        spaces.prefix = Prefix::Space.after(spaces.prefix);
                    }
                    spaces.mark = if rules.escape_whitespaces { MARK } else { SPACE };
                }
                _ => return None,
            }
        }
        let mut is_marked = false;
        for step in &description.pre_tokenizer {
            match *step {
                PreTokenizer::Metaspace { replacement, prepend, split }
                    if !is_marked && (spaces.mark == SPACE || spaces.mark == replacement) =>
                {
                    is_marked = true;
                    spaces.mark = replacement;
                    if prepend != PrependScheme::Never {
                        let only_first = prepend == PrependScheme::First;
                        spaces.prefix = Prefix::SpaceUnlessMarked { only_first }.after(spaces.prefix);
                    }
                    spaces.splits |= split;
                }
                // There are no spaces left.
                PreTokenizer::Split { pattern: Pattern::Literal(ref literal), invert: false, .. }
                    if spaces.mark != SPACE && literal == " " => {}
                _ => return None,
            }
        }
        if prepended.is_some_and(|prefix| only_char(prefix) != Some(spaces.mark)) {
            spaces.prefix = Prefix::Other;
        }
        Some(spaces)
    }
}

/// Are the ids of a text those of its parts, where no token has the characters on both sides of a place?
fn is_independent(model: &ModelDescription, byte_tokens: &HashSet<TokenId>) -> bool {
    let ModelDescription::Bpe(bpe) = model else { return false };
    let merges_characters = match &bpe.merges {
        // Byte tokens stand for text that is no symbol, so merges of them are not seen in the text of tokens.
        Merges::Listed(merges) => {
            let (first, last) = (byte_tokens.iter().min().copied(), byte_tokens.iter().max().copied());
            let is_one = |id: &TokenId| (first..=last).contains(&Some(*id)) && byte_tokens.contains(id);
            !merges.iter().any(|merge| [merge.left, merge.right, merge.result].iter().any(is_one))
        }
        // How an unused piece is split again depends on the merges of the whole text.
        Merges::ByScore { kinds, .. } => !kinds.contains(&PieceKind::Unused),
        Merges::ById => false,
    };
    merges_characters
        && bpe.continuing_prefix.is_none()
        && !bpe.whole_pretokens
        && bpe.alphabet == Alphabet::Chars { end_of_word: None }
}

/// The tokens `<0xNN>`.
fn byte_tokens(vocabulary: &Vocabulary) -> HashSet<TokenId> {
    (0..=u8::MAX).filter_map(|byte| vocabulary.find(written_byte(byte).as_bytes())).collect()
}
