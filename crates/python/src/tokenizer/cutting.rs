//! Cutting texts under a budget of ids.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use tokenmill_core::budget::{Border, ChunkOptions, Oversize};
use tokenmill_core::description::Side;
use tokenmill_core::error::{Error, Result};

use super::Tokenizer;
use crate::argument_place::{ArgumentPlace, Naming};
use crate::argument_values::{self, Given, NOT_GIVEN};
use crate::call::{Options, refuse_one_text};
use crate::chunk_stream::{ChunkStream, chunk_arrays, text_of};
use crate::exceptions::{gather, raise, wrong_type};
use crate::late;
use crate::text::PyText;
use crate::watch::run;

/// The value of an argument that is one of some names.
fn named<T: Copy>(known: &[(T, &str)], name: &str, argument: &str) -> Result<T> {
    known.iter().find(|(_, known)| *known == name).map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(_, name)| format!("{name:?}")).collect();
        Error::argument(format!("{argument}={name:?} is none of {}", names.join(", ")))
    })
}

/// Reads the options of chunks.
fn chunk_options(
    (limit, overlap): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
    at: &str,
    oversize: &str,
    adds_special: bool,
) -> PyResult<ChunkOptions> {
    let raised = |error| raise(limit.py(), error);
    let known = [(Oversize::Split, "split"), (Oversize::Error, "error"), (Oversize::Keep, "keep")];
    Ok(ChunkOptions {
        limit: argument_values::length(Some(limit), "n")?.unwrap_or_default(),
        overlap: argument_values::length(overlap, "overlap")?.unwrap_or_default(),
        border: named(&Border::ALL, at, "at").map_err(raised)?,
        oversize: named(&known, oversize, "oversize").map_err(raised)?,
        adds_special,
    })
}

#[pymethods]
impl Tokenizer {
    /// The longest prefix of a text that ends at a border and has at most `n` ids when encoded by itself, as a `Chunk`.
    ///
    /// With `side="left"` it is the longest suffix that begins at a border. It may be empty. `at` is a border:
    /// `"character"`, `"grapheme"`, `"word"`, `"sentence"` (these three by UAX 29) or `"line"` (after `\n`, `\r\n`
    /// and `\r`). With `add_special_tokens` the tokens around the text count.
    ///
    /// Raises what `encode` raises, and `BudgetError` if the special tokens alone are more than `n`.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> tok.truncate("low lower lowest", 3).text, tok.truncate("low lower lowest", 5, at="word").text
    /// ('low lowe', 'low lower ')
    /// >>> tok.truncate("low lower lowest", 3, side="left").text
    /// 'est'
    #[pyo3(signature = (text, n, *, side = "right", at = "character", add_special_tokens = false, special = None, surrogates = "replace"), text_signature = "($self, text, n, *, side='right', at='character', add_special_tokens=False, special='text', surrogates='replace')")]
    #[allow(clippy::too_many_arguments)]
    fn truncate<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        side: &str,
        at: &str,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let limit = argument_values::length(Some(n), "n")?.unwrap_or_default();
        let raised = |error| raise(py, error);
        let side = named(&[(Side::Right, "right"), (Side::Left, "left")], side, "side").map_err(raised)?;
        let border = named(&Border::ALL, at, "at").map_err(raised)?;
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        if text.cast::<PyString>().is_err() {
            return Err(wrong_type("text", "str", text));
        }
        let read = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        let source = text_of(&read)?;
        let (chunk, characters) = run(py, source.len(), |watch| {
            let rules = (&options.special, add_special_tokens);
            let chunk = self.engine.truncate(source, (limit, side), border, rules, watch);
            let chunk = chunk.map_err(|error| read.locate(error))?;
            let characters = read.offsets(&[chunk.span], watch)?;
            Ok((chunk, characters[0]))
        })?;
        let ids = self.ready_ids.get().list(py, &chunk.ids)?;
        let (start, end) = characters;
        let made = (text, ids, start, end, chunk.span.start, chunk.span.end);
        late::CHUNKS.get(py)?.getattr("chunk_of")?.call1(made)
    }

    /// A text in chunks of at most `n` ids each: `Chunks`.
    ///
    /// Each is the longest prefix of what is left that ends at a border (`at`, as in `truncate`) and has at most `n`
    /// ids when it is encoded by itself; joined they are the text. With `overlap`, a chunk begins at the earliest
    /// border from which on the one before it has at most that many ids. What has more than `n` ids between two
    /// borders is cut at finer ones (`oversize="split"`: line, sentence, word, grapheme, character), is a
    /// `BudgetError` (`"error"`), or a chunk of its own (`"keep"`).
    ///
    /// With `add_special_tokens` the tokens around each chunk count. Threads encode what is in front of a chunk, where
    /// ids stand for bytes of the text (byte-level BPE without a normalizer); the chunks are the same. Raises what `encode` raises, and `BudgetError`
    /// for an `overlap` that is not less than `n`, and for a character of more than `n` ids.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> [chunk.text for chunk in tok.chunk("low lower lowest", 4, at="word")]
    /// ['low lower', ' lowest']
    /// >>> tok.chunk("low lower lowest", 4).counts
    /// array([4, 4])
    #[pyo3(signature = (text, n, *, overlap = None, at = "character", oversize = "split", add_special_tokens = false, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, n, *, overlap=0, at='character', oversize='split', add_special_tokens=False, special='text', surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn chunk<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        overlap: Option<&Bound<'py, PyAny>>,
        at: &str,
        oversize: &str,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let options = Options::new(special, surrogates, &num_threads)?;
        let chunk_options = chunk_options((n, overlap), at, oversize, add_special_tokens)?;
        if text.cast::<PyString>().is_err() {
            return Err(wrong_type("text", "str", text));
        }
        let read = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
        let source = text_of(&read)?;
        let (chunks, characters) = run(py, source.len(), |watch| {
            let Options { special, threads, .. } = &options;
            let chunks = self.engine.chunk(source, &chunk_options, special, *threads, watch);
            let chunks = chunks.map_err(|error| read.locate(error))?;
            let characters = read.offsets(&chunks.spans, watch)?;
            Ok((chunks, characters))
        })?;
        let arrays = chunk_arrays(py, chunks, &characters, (0, 0))?;
        late::CHUNKS.get(py)?.getattr("Chunks")?.call_method1("_of", (text, &self.ready_ids, arrays))
    }

    /// Each of many texts in chunks, as `chunk` has them: a list of `Chunks`.
    ///
    /// Threads share the texts. Errors name the text by its index.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=3)
    /// >>> [len(chunks) for chunks in tok.chunk_batch(["low lower", "lowest", ""], 2)]
    /// [2, 2, 0]
    #[pyo3(signature = (texts, n, *, overlap = None, at = "character", oversize = "split", add_special_tokens = false, special = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, texts, n, *, overlap=0, at='character', oversize='split', add_special_tokens=False, special='text', surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn chunk_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        overlap: Option<&Bound<'py, PyAny>>,
        at: &str,
        oversize: &str,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = texts.py();
        let options = Options::new(special, surrogates, &num_threads)?;
        let chunk_options = chunk_options((n, overlap), at, oversize, add_special_tokens)?;
        refuse_one_text(texts)?;
        let objects = gather(argument_values::texts(texts, "texts", "an iterable of texts")?)?;
        let place = |row: usize| Naming::Texts.place(row, 0, 1);
        let read = gather(objects.iter().enumerate().map(|(row, object)| {
            if object.cast::<PyString>().is_err() {
                return Err(wrong_type(&place(row).to_string(), "str", object));
            }
            PyText::new(object, options.surrogates, place(row))
        }))?;
        let sources = gather(read.iter().map(|read| Ok(Some(text_of(read)?))))?;
        let size = sources.iter().flatten().map(|text| text.len()).sum();
        let all = run(py, size, |watch| {
            let done =
                self.engine.chunk_batch(&sources, &chunk_options, &options.special, options.threads, watch);
            let all = done.map_err(|error| match error.field.first_index() {
                Some(row) if row < read.len() => place(row).locate(read[row].locate(error)),
                _ => error,
            })?;
            let characters: Result<Vec<_>> =
                all.iter().zip(&read).map(|(chunks, read)| read.offsets(&chunks.spans, watch)).collect();
            Ok(all.into_iter().zip(characters?).collect::<Vec<_>>())
        })?;
        let class = late::CHUNKS.get(py)?.getattr("Chunks")?;
        let made = PyList::empty(py);
        for (object, (chunks, characters)) in objects.iter().zip(all) {
            let arrays = chunk_arrays(py, chunks, &characters, (0, 0))?;
            made.append(class.call_method1("_of", (object, &self.ready_ids, arrays))?)?;
        }
        Ok(made)
    }

    /// The text of a file in chunks, as `chunk` has them: an iterator of `Chunk`, in the order of the text.
    ///
    /// The file is UTF-8, of any size: it is read in parts of `block_size` bytes, and what is kept of it is the part
    /// between two borders, and a chunk. `start` and `end` of a chunk count from the beginning of the file. A byte
    /// order mark is a character of the text. Threads work as in `chunk`, on each part.
    ///
    /// Raises what `chunk` raises, when it comes to the place; `OSError` for what cannot be read, and `ValueError`
    /// for what is not UTF-8.
    #[pyo3(signature = (path, n, *, overlap = None, at = "character", oversize = "split", add_special_tokens = false, special = None, block_size = 1 << 20, num_threads = NOT_GIVEN), text_signature = "($self, path, n, *, overlap=0, at='character', oversize='split', add_special_tokens=False, special='text', block_size=1048576, num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn chunk_file<'py>(
        &self,
        path: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        overlap: Option<&Bound<'py, PyAny>>,
        at: &str,
        oversize: &str,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        block_size: usize,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = path.py();
        let special = argument_values::special(special)?;
        let options = chunk_options((n, overlap), at, oversize, add_special_tokens)?;
        let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
        let stream = ChunkStream::new(py, &self.engine, options, (special, threads))?;
        let kwargs = PyDict::new(py);
        kwargs.set_item("ready_ids", &self.ready_ids)?;
        kwargs.set_item("block_size", block_size)?;
        late::CHUNKS.get(py)?.getattr("chunks_of_file")?.call((path, stream), Some(&kwargs))
    }
}
