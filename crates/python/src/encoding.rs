//! `tokenmill.Encoding`.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use tokenmill_core::description::Padding;
use tokenmill_core::engine::{Arranged, Engine, Sequence};
use tokenmill_core::error::Result;
use tokenmill_core::postprocess::{OutputPart, Pad, Windows};

use crate::convert;
use crate::output::{self, Item};

/// Ids, each with the part of the text that it stands for.
///
/// All lists have one entry per id. `offsets` count characters of the given text, `byte_offsets`
/// bytes of its UTF-8; both are half-open, and non-decreasing in each sequence. A token that splits
/// a character has the whole character as its `offsets`. Special tokens and padding that were added
/// have `(0, 0)`, and no word and no sequence.
#[pyclass(frozen, eq, module = "tokenmill")]
pub(crate) struct Encoding {
    engine: Arc<Engine>,
    arranged: Arranged,
    /// The windows after this one, if the text was truncated.
    overflowing: Vec<Vec<OutputPart>>,
    /// The written form of padding.
    pad_token: Option<Arc<str>>,
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.arranged, &other.arranged);
        ours.parts == theirs.parts
            && self.overflowing == other.overflowing
            && ours.sequences == theirs.sequences
            && (Arc::ptr_eq(&self.engine, &other.engine) || self.tokens_of(true).eq(other.tokens_of(true)))
    }
}

impl Encoding {
    /// The encoding of sequences, with the layout of each window.
    pub(crate) fn new(engine: Arc<Engine>, sequences: Vec<Sequence>, windows: Windows) -> Self {
        let mut windows = windows.into_iter();
        let arranged = Arranged { sequences: sequences.into(), parts: windows.next().unwrap_or_default() };
        Self { engine, arranged, overflowing: windows.collect(), pad_token: None }
    }

    pub(crate) fn length(&self) -> usize {
        self.arranged.len()
    }

    /// Pads encodings and their overflowing windows to the same length.
    ///
    /// # Errors
    /// An argument error for a length above the limit.
    pub(crate) fn pad(encodings: &mut [Self], padding: &Padding) -> Result<()> {
        let longest = encodings.iter().map(Self::length).max().unwrap_or(0);
        let pad = Pad::new(padding, longest)?;
        let token: Arc<str> = padding.token.as_str().into();
        for encoding in encodings {
            pad.apply(&mut encoding.arranged.parts);
            encoding.overflowing.iter_mut().for_each(|parts| pad.apply(parts));
            encoding.pad_token = Some(Arc::clone(&token));
        }
        Ok(())
    }

    /// Every token. With `surfaces`, a token that is not spelled like the text is the text that it
    /// stands for.
    fn tokens_of(&self, surfaces: bool) -> impl Iterator<Item = String> {
        let token = move |part, place| self.token(part, place, surfaces);
        self.arranged.parts.iter().flat_map(move |part| (0..part.len()).map(move |place| token(part, place)))
    }

    /// The token at an index of a part.
    fn token(&self, part: &OutputPart, place: usize, surfaces: bool) -> String {
        let ordinary = |id| self.engine.vocabulary().written(id).unwrap_or_default();
        match *part {
            OutputPart::Tokens { second, range, .. } => {
                let encoding = &self.arranged.sequences[usize::from(second)].encoding;
                let at = range.start + place;
                let surface = || {
                    let found = encoding.surfaces.binary_search_by_key(&at, |(index, _)| *index).ok()?;
                    Some(encoding.surfaces[found].1.clone())
                };
                let surface = if surfaces { surface() } else { None };
                surface.unwrap_or_else(|| ordinary(encoding.ids[at]))
            }
            OutputPart::Special { id, .. } => {
                let named = self.engine.post_processors().written(id).map(str::to_owned);
                named.unwrap_or_else(|| ordinary(id))
            }
            OutputPart::Padding { id, .. } => {
                self.pad_token.as_deref().map_or_else(|| ordinary(id), str::to_owned)
            }
        }
    }

    /// A list with one item per id.
    fn list<'py, T: Item<'py>>(
        &self,
        py: Python<'py>,
        items: impl Iterator<Item = T>,
    ) -> PyResult<Bound<'py, PyList>> {
        output::list_of(py, self.length(), items)
    }
}

/// The index of a sequence, by default 0.
fn number_of(sequence: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    sequence.map_or(Ok(Some(0)), |sequence| convert::place(sequence, "sequence"))
}

#[pymethods]
impl Encoding {
    /// The ids.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.ids())
    }

    /// The tokens in the written form of their format (`Ġworld`).
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.tokens_of(false))
    }

    /// The tokens as the tokenizers library has them: added tokens, and text unknown to a Unigram
    /// model, appear as in the normalized text.
    #[getter]
    fn surface_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.tokens_of(true))
    }

    /// `(start, end)` in characters.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.offsets())
    }

    /// `(start, end)` in bytes.
    #[getter]
    fn byte_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.byte_offsets().map(|span| (span.start, span.end)))
    }

    /// The type of each id, as set by the file's post-processor; without one, 1 for ids of the
    /// second sequence.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.type_ids())
    }

    /// 0 for padding, 1 for everything else.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.attention_mask())
    }

    /// 1 for everything that was added to the text, including padding, 0 for everything else.
    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.special_tokens_mask())
    }

    /// The index of the pretoken in its sequence (an added token in the text counts as one), or of
    /// the given word; None for ids that were added.
    #[getter]
    fn word_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.word_ids())
    }

    /// 0 for ids of the text, 1 for those of its pair, None for ids that were added.
    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.arranged.sequence_ids())
    }

    /// Number of texts: 2 with a pair.
    #[getter]
    fn n_sequences(&self) -> usize {
        self.arranged.sequences.len()
    }

    /// The windows after this one, if the text was truncated; they have none of their own.
    #[getter]
    fn overflowing(&self) -> Vec<Self> {
        let window = |parts: &Vec<OutputPart>| Self {
            engine: Arc::clone(&self.engine),
            arranged: Arranged { sequences: Arc::clone(&self.arranged.sequences), parts: parts.clone() },
            overflowing: Vec::new(),
            pad_token: self.pad_token.clone(),
        };
        self.overflowing.iter().map(window).collect()
    }

    /// The index of the first id that stands for a character of a sequence, or None.
    #[pyo3(signature = (char, sequence = None), text_signature = "($self, char, sequence=0)")]
    fn char_to_token(
        &self,
        char: &Bound<'_, PyAny>,
        sequence: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<usize>> {
        let (char, sequence) = (convert::place(char, "char")?, number_of(sequence)?);
        Ok(char.zip(sequence).and_then(|(char, sequence)| self.arranged.char_to_token(char, sequence)))
    }

    /// The characters that the id at an index stands for, or None for an id that was added.
    #[pyo3(signature = (token))]
    fn token_to_chars(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<(usize, usize)>> {
        Ok(convert::place(token, "token")?.and_then(|token| self.arranged.token_to_chars(token)))
    }

    /// The word of the id at an index, or None for an id that was added.
    #[pyo3(signature = (token))]
    fn token_to_word(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        Ok(convert::place(token, "token")?.and_then(|token| self.arranged.token_to_word(token)))
    }

    /// The indices of the ids of a word, `(start, end)`, or None.
    #[pyo3(signature = (word, sequence = None), text_signature = "($self, word, sequence=0)")]
    fn word_to_tokens(
        &self,
        word: &Bound<'_, PyAny>,
        sequence: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(usize, usize)>> {
        let (word, sequence) = (convert::place(word, "word")?, number_of(sequence)?);
        let word = word.and_then(|word| u32::try_from(word).ok());
        Ok(word.zip(sequence).and_then(|(word, sequence)| self.arranged.word_to_tokens(word, sequence)))
    }

    fn __len__(&self) -> usize {
        self.length()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({} ids)", self.length())
    }
}

impl<'py> Item<'py> for Encoding {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, self)?.into_any())
    }
}
