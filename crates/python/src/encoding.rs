//! `tokenmill.Encoding`.
use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use tokenmill_core::description::Padding;
use tokenmill_core::engine::{Arranged, Engine, Sequence};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::postprocess::{OutputPart, Pad, Windows};
use tokenmill_core::watch::Unwatched;
use tokenmill_io::state::encodings::{self, EncodingNames, EncodingRow};
use tokenmill_kernels::MadeOnce;

use crate::argument_values;
use crate::buffer::objects;
use crate::exceptions::raise;
use crate::late;
use crate::output::{self, Item};

/// Where the written forms of ids come from: the tokenizer, or a pickle.
#[derive(Clone)]
pub(crate) enum Names {
    Of(Arc<Engine>),
    Kept(Arc<EncodingNames>),
}

impl Names {
    fn token(&self, id: u32) -> Option<String> {
        match self {
            Self::Of(engine) => engine.vocabulary().written(id),
            Self::Kept(names) => names.token(id).map(str::to_owned),
        }
    }

    /// The written form of an id that a post-processor adds under its own name.
    fn added(&self, id: u32) -> Option<String> {
        match self {
            Self::Of(engine) => engine.post_processors().written(id).map(str::to_owned),
            Self::Kept(names) => names.added(id).map(str::to_owned),
        }
    }

    fn are(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Of(ours), Self::Of(theirs)) => Arc::ptr_eq(ours, theirs),
            (Self::Kept(ours), Self::Kept(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        }
    }

    /// The written forms of the ids of rows, for a pickle.
    pub(crate) fn of_rows(&self, rows: &[EncodingRow]) -> EncodingNames {
        EncodingNames::of(rows, |id| self.token(id), |id| self.added(id))
    }
}

/// A list of an encoding.
#[derive(Clone, Copy)]
enum List {
    Ids,
    Tokens,
    SurfaceTokens,
    Offsets,
    ByteOffsets,
    TypeIds,
    AttentionMask,
    SpecialTokensMask,
    WordIds,
    SequenceIds,
    Overflowing,
}

/// Ids that a notebook shows of an encoding.
const IDS_SHOWN: usize = 250;

/// The lists that Python code has asked for so far.
type Lists = [MadeOnce<Py<PyList>>; List::Overflowing as usize + 1];

/// Ids, each with the part of the text that it stands for.
///
/// All lists have one entry per id. `offsets` count characters of the given text, `byte_offsets`
/// bytes of its UTF-8; both are half-open, and non-decreasing in each sequence. A token that splits
/// a character has the whole character as its `offsets`. Special tokens and padding that were added
/// have `(0, 0)`, and no word and no sequence.
///
/// Each list is made when it is first asked for, and kept: `encoding.ids is encoding.ids`. It is
/// yours to read; changing it changes neither the encoding nor what its methods return, but what
/// this attribute shows from then on. Encodings can be copied and pickled: a pickle has the tokens
/// of the ids in it, so it is read without the tokenizer.
#[pyclass(frozen, eq, module = "tokenmill")]
pub(crate) struct Encoding {
    names: Names,
    arranged: Arranged,
    /// The windows after the first one, if the text was truncated.
    overflowing: Vec<Vec<OutputPart>>,
    /// The written form of padding.
    pad_token: Option<Arc<str>>,
    lists: MadeOnce<Lists>,
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.arranged, &other.arranged);
        ours.parts == theirs.parts
            && self.overflowing == other.overflowing
            && ours.sequences == theirs.sequences
            && (self.names.are(&other.names) || self.tokens_of(true).eq(other.tokens_of(true)))
    }
}

impl Encoding {
    /// The encoding of sequences, with the layout of each window.
    pub(crate) fn new(engine: Arc<Engine>, sequences: Vec<Sequence>, windows: Windows) -> Self {
        let row = EncodingRow { sequences: sequences.into(), windows, pad_token: None };
        Self::of_row(Names::Of(engine), row)
    }

    /// The encoding of a row.
    pub(crate) fn of_row(names: Names, row: EncodingRow) -> Self {
        let mut windows = row.windows.into_iter();
        let arranged = Arranged { sequences: row.sequences, parts: windows.next().unwrap_or_default() };
        Self {
            names,
            arranged,
            overflowing: windows.collect(),
            pad_token: row.pad_token,
            lists: MadeOnce::new(),
        }
    }

    /// The same as plain data; sequences are shared.
    pub(crate) fn row(&self) -> EncodingRow {
        let windows = self.windows().cloned().collect();
        let sequences = Arc::clone(&self.arranged.sequences);
        EncodingRow { sequences, windows, pad_token: self.pad_token.clone() }
    }

    /// The parts of its first window, and those of the overflowing windows.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Vec<OutputPart>> {
        std::iter::once(&self.arranged.parts).chain(&self.overflowing)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn arranged(&self) -> &Arranged {
        &self.arranged
    }

    /// A copy that has none of the lists that Python code may have changed.
    pub(crate) fn fresh(&self) -> Self {
        Self::of_row(self.names.clone(), self.row())
    }

    /// The one sequence of an encoding by this engine that is whole, and whether special tokens stand around it.
    ///
    /// # Errors
    /// A budget error for any other encoding.
    pub(crate) fn whole_of(&self, engine: &Arc<Engine>) -> Result<(&Sequence, bool)> {
        let refuse = |reason: &str| {
            let reason = format!("the encoding {reason}; encode the text with encode_with_offsets");
            Err(Error::budget(None, None, reason))
        };
        if !self.names.are(&Names::Of(Arc::clone(engine))) {
            return refuse("is of another tokenizer, or was pickled");
        }
        let [sequence] = &*self.arranged.sequences else { return refuse("has a pair") };
        let lengths = [sequence.encoding.ids.len()];
        let is_whole = |adds_special: bool| {
            let windows = engine.arrange(&lengths, adds_special, None, &Unwatched);
            windows.is_ok_and(|windows| windows == [self.arranged.parts.clone()])
        };
        let adds_special = [false, true].into_iter().find(|&adds_special| is_whole(adds_special));
        match adds_special {
            Some(adds_special) if self.overflowing.is_empty() => Ok((sequence, adds_special)),
            _ => refuse("was truncated or padded"),
        }
    }

    /// How many ids stand before those of the text.
    pub(crate) fn ids_before_text(&self) -> usize {
        let before = self.arranged.parts.iter().take_while(|part| !matches!(part, OutputPart::Tokens { .. }));
        before.map(OutputPart::len).sum()
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

    /// All tokens. With `surfaces`, a token that differs from its text is shown as that text.
    fn tokens_of(&self, surfaces: bool) -> impl Iterator<Item = String> {
        let token = move |part, place| self.token(part, place, surfaces);
        self.arranged.parts.iter().flat_map(move |part| (0..part.len()).map(move |place| token(part, place)))
    }

    /// The token at an index of a part.
    fn token(&self, part: &OutputPart, place: usize, surfaces: bool) -> String {
        let ordinary = |id| self.names.token(id).unwrap_or_default();
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
            OutputPart::Special { id, .. } => self.names.added(id).unwrap_or_else(|| ordinary(id)),
            OutputPart::Padding { id, .. } => {
                self.pad_token.as_deref().map_or_else(|| ordinary(id), str::to_owned)
            }
        }
    }

    /// A list with one item per id, made once.
    fn list<'a, 'py, T: Item<'py>, I: Iterator<Item = T> + 'a>(
        &'a self,
        py: Python<'py>,
        list: List,
        items: impl FnOnce() -> I,
    ) -> PyResult<Bound<'py, PyList>> {
        self.kept(py, list, || output::list_of(py, self.length(), items()))
    }

    fn kept<'py>(
        &self,
        py: Python<'py>,
        list: List,
        make: impl FnOnce() -> PyResult<Bound<'py, PyList>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let place = &self.lists.get_or_make(Lists::default)[list as usize];
        let kept = if let Some(kept) = place.get() {
            kept
        } else {
            // While the items are made, other code may run and make the same list: the first one is kept.
            let made = make()?.unbind();
            place.get_or_make(|| made)
        };
        Ok(kept.bind(py).clone())
    }
}

/// The index of a sequence; 0 by default, `None` for a number that cannot be an index.
fn number_of(sequence: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    sequence.map_or(Ok(Some(0)), |sequence| argument_values::place(sequence, "sequence"))
}

#[pymethods]
impl Encoding {
    /// The ids.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::Ids, || self.arranged.ids())
    }

    /// The tokens in the written form of their format (`Ġworld`).
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::Tokens, || self.tokens_of(false))
    }

    /// The tokens as the tokenizers library has them: added tokens, and text unknown to a Unigram
    /// model, appear as in the normalized text.
    #[getter]
    fn surface_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::SurfaceTokens, || self.tokens_of(true))
    }

    /// `(start, end)` in characters.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::Offsets, || self.arranged.offsets())
    }

    /// `(start, end)` in bytes.
    #[getter]
    fn byte_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::ByteOffsets, || self.arranged.byte_offsets().map(|span| (span.start, span.end)))
    }

    /// The type of each id, as set by the file's post-processor; without one, 1 for ids of the
    /// second sequence.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::TypeIds, || self.arranged.type_ids())
    }

    /// 0 for padding, 1 for everything else.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::AttentionMask, || self.arranged.attention_mask())
    }

    /// 1 for everything that was added to the text, including padding, 0 for everything else.
    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::SpecialTokensMask, || self.arranged.special_tokens_mask())
    }

    /// The index of the pretoken in its sequence (an added token in the text counts as one), or of
    /// the given word; None for ids that were added.
    #[getter]
    fn word_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::WordIds, || self.arranged.word_ids())
    }

    /// 0 for ids of the text, 1 for those of its pair, None for ids that were added.
    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, List::SequenceIds, || self.arranged.sequence_ids())
    }

    /// Number of texts: 2 with a pair.
    #[getter]
    fn n_sequences(&self) -> usize {
        self.arranged.sequences.len()
    }

    /// The windows after this one, if the text was truncated; they have none of their own.
    #[getter]
    fn overflowing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let window = |parts: &Vec<OutputPart>| {
            let sequences = Arc::clone(&self.arranged.sequences);
            let row =
                EncodingRow { sequences, windows: vec![parts.clone()], pad_token: self.pad_token.clone() };
            Self::of_row(self.names.clone(), row)
        };
        let windows = self.overflowing.iter();
        self.kept(py, List::Overflowing, || output::list_of(py, windows.len(), windows.map(window)))
    }

    /// The index of the first id that stands for a character of a sequence, or None.
    #[pyo3(signature = (char, sequence = None), text_signature = "($self, char, sequence=0)")]
    fn char_to_token(
        &self,
        char: &Bound<'_, PyAny>,
        sequence: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<usize>> {
        let (char, sequence) = (argument_values::place(char, "char")?, number_of(sequence)?);
        Ok(char.zip(sequence).and_then(|(char, sequence)| self.arranged.char_to_token(char, sequence)))
    }

    /// The characters that the id at an index stands for, or None for an id that was added.
    #[pyo3(signature = (token))]
    fn token_to_chars(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<(usize, usize)>> {
        Ok(argument_values::place(token, "token")?.and_then(|token| self.arranged.token_to_chars(token)))
    }

    /// The word of the id at an index, or None for an id that was added.
    #[pyo3(signature = (token))]
    fn token_to_word(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        Ok(argument_values::place(token, "token")?.and_then(|token| self.arranged.token_to_word(token)))
    }

    /// The indices of the ids of a word, `(start, end)`, or None.
    #[pyo3(signature = (word, sequence = None), text_signature = "($self, word, sequence=0)")]
    fn word_to_tokens(
        &self,
        word: &Bound<'_, PyAny>,
        sequence: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(usize, usize)>> {
        let (word, sequence) = (argument_values::place(word, "word")?, number_of(sequence)?);
        let word = word.and_then(|word| u32::try_from(word).ok());
        Ok(word.zip(sequence).and_then(|(word, sequence)| self.arranged.word_to_tokens(word, sequence)))
    }

    fn __len__(&self) -> usize {
        self.length()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({} ids)", self.length())
    }

    /// What a notebook shows. The lists of the attributes are not made for it: they are kept, and may be long.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let of = &self.arranged;
        let spans = of.offsets().zip(of.byte_offsets().map(|span| (span.start, span.end)));
        let masks = of.type_ids().zip(of.attention_mask()).zip(of.special_tokens_mask());
        let places = of.word_ids().zip(of.sequence_ids());
        let rows = of.ids().zip(self.tokens_of(false)).zip(spans).zip(masks).zip(places);
        let row = |((((id, token), (chars, bytes)), ((kind, attention), special)), (word, sequence))| {
            Ok((id, token, chars, bytes, kind, attention, special, word, sequence))
        };
        let rows: Vec<_> = rows.take(IDS_SHOWN).map(row).collect();
        let rows = output::list(py, rows)?;
        let html = late::NOTEBOOK.get(py)?.getattr("html_of_encoding")?;
        html.call1((rows, self.length(), self.n_sequences(), self.overflowing.len()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rows = [self.row()];
        let state = py.detach(|| encodings::write(&self.names.of_rows(&rows), &rows));
        let restore = py.import("tokenmill._core")?.getattr("encoding_from_state")?;
        let state = PyTuple::new(py, [objects::bytes(py, &state)?])?;
        PyTuple::new(py, [restore, state.into_any()])
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// With lists of its own: those of this one may have been changed.
    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> Self {
        let _ = memo;
        self.fresh()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let made = self.lists.get().into_iter().flatten().filter_map(MadeOnce::get);
        made.into_iter().try_for_each(|list| visit.call(list))
    }
}

/// Restores an encoding from the bytes of a pickle.
#[pyfunction]
#[pyo3(signature = (state, /))]
pub(crate) fn encoding_from_state(py: Python<'_>, state: &[u8]) -> PyResult<Encoding> {
    let (names, mut rows) = py.detach(|| encodings::read(state)).map_err(|error| raise(py, error))?;
    match (rows.pop(), rows.is_empty()) {
        (Some(row), true) => Ok(Encoding::of_row(Names::Kept(Arc::new(names)), row)),
        _ => Err(raise(py, Error::format(Defect::Range, "the state is not of one encoding"))),
    }
}

impl<'py> Item<'py> for Encoding {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, self)?.into_any())
    }
}
