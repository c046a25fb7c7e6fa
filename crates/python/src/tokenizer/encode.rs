//! Encoding: text to ids.
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use tokenmill_core::budget::OVER_LIMIT;
use tokenmill_core::ids::{TokenId, row_for};

use super::Tokenizer;
use crate::argument_place::Naming;
use crate::argument_values::{self, Given, NOT_GIVEN};
use crate::call::{
    BatchResult, Options, in_blocks, with_characters, with_text, with_texts, with_untrusted,
    with_untrusted_texts,
};
use crate::encoded_rows::{Deferred, EncodedRows, flat};
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise};
use crate::late;
use crate::output::{self, Dtype};
use crate::sequences::{Sample, SampleEncoder};
use crate::untrusted::TrustArguments;
use crate::watch::run;

impl Tokenizer {
    fn encode_ids(
        &self,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        options: &Options,
        trust_arguments: TrustArguments<'_, '_>,
    ) -> PyResult<Vec<TokenId>> {
        let marked = (&*self.engine, trust_arguments);
        let mut ids = match with_untrusted(text, options, marked, |text, recognizer, untrusted, watch| {
            let mut ids = row_for(text.as_bytes().len())?;
            self.engine.encode_untrusted(text, recognizer, untrusted, watch, &mut ids)?;
            Ok(ids)
        })? {
            Some(ids) => ids,
            None => self.encode_trusted(text, options)?,
        };
        let added = self.engine.add_special_tokens(&mut ids, 0, add_special_tokens);
        added.map_err(|error| raise(text.py(), error))?;
        Ok(ids)
    }

    fn encode_trusted(&self, text: &Bound<'_, PyAny>, options: &Options) -> PyResult<Vec<TokenId>> {
        let blocks = in_blocks(text, options, &self.engine, |units, threads, watch| {
            self.engine.encode_units(units, threads, watch)
        });
        if let Some(ids) = blocks? {
            return Ok(ids);
        }
        let (ids, _) = with_text(text, options, |text, special, threads, watch| {
            let mut ids = row_for(text.as_bytes().len())?;
            self.engine.encode(text, special, threads, watch, &mut ids)?;
            Ok(ids)
        })?;
        Ok(ids)
    }

    fn count_trusted(&self, text: &Bound<'_, PyAny>, options: &Options) -> PyResult<usize> {
        let blocks = in_blocks(text, options, &self.engine, |units, threads, watch| {
            self.engine.count_units(units, threads, watch)
        });
        if let Some(count) = blocks? {
            return Ok(count);
        }
        let (count, _) = with_text(text, options, |text, special, threads, watch| {
            self.engine.count(text, special, threads, watch)
        })?;
        Ok(count)
    }

    fn encode_batch_with_offsets<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        dtype: Dtype,
        add_special_tokens: bool,
        options: Options,
        trust_arguments: TrustArguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = texts.py();
        let of_list = texts.cast_exact::<PyList>().ok().filter(|_| trust_arguments.is_empty());
        let never_changes = |text: &Bound<'_, PyAny>| {
            text.is_exact_instance_of::<PyString>() || text.is_exact_instance_of::<PyBytes>()
        };
        let (flat, rows, nulls) = match of_list {
            Some(list) if self.engine.hooks().is_empty() && list.iter().all(|text| never_changes(&text)) => {
                let texts = gather(list.iter().map(Ok))?;
                let flat =
                    with_characters(py, &texts, &options, |rows, characters, special, threads, watch| {
                        let adds_special = add_special_tokens;
                        self.engine.encode_batch_with_offsets(
                            rows,
                            characters,
                            special,
                            adds_special,
                            threads,
                            watch,
                        )
                    })?;
                let deferred = Deferred::new(&self.engine, add_special_tokens, options, texts);
                (flat, EncodedRows::deferred(deferred), None)
            }
            _ => {
                let encoder = SampleEncoder::of_texts(&self.engine, add_special_tokens, &options);
                let BatchResult { result: rows, nulls } =
                    encoder.encode_texts(py, texts, trust_arguments, options.threads)?;
                let flat = run(py, rows.len() * 64, |watch| flat(&rows, watch))?;
                (flat, EncodedRows::new(rows), nulls)
            }
        };
        let offsets: Vec<[i64; 2]> =
            flat.offsets.into_iter().map(|span| [span.start as i64, span.end as i64]).collect();
        late::RAGGED.get(py)?.getattr("RaggedEncodings")?.call_method1(
            "_of_encodings",
            (
                output::array(py, flat.ids, dtype)?,
                output::int64_array(py, flat.row_offsets)?,
                &self.ready_ids,
                null_rows(py, nulls)?,
                output::int64_array(py, offsets.into_flattened())?,
                Bound::new(py, rows)?,
            ),
        )
    }
}

/// For each row whether it is null; `None` if none is.
fn null_rows(py: Python<'_>, nulls: Option<Vec<bool>>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let nulls = nulls.filter(|nulls| nulls.contains(&true));
    nulls.map(|nulls| output::bool_array(py, nulls)).transpose()
}

#[pymethods]
impl Tokenizer {
    /// The ids of a text.
    ///
    /// `special` is the meaning of a special token's literal in the text: `"text"` plain text,
    /// `"parse"` the token, `"raise"` a `SpecialTokenError`, or a set of the literals to recognise.
    /// `add_special_tokens` adds the special tokens that the file puts around a text. `surrogates`
    /// is `"replace"` (lone ones become U+FFFD, pairs are joined) or `"error"`. A long text is cut
    /// for several threads where that cannot change the ids (`num_threads=None`: all cores). Raises
    /// `UnknownTokenError` for text that the vocabulary cannot spell. Cost: at most n log n, for
    /// any text.
    ///
    /// `untrusted` names the parts of the text that others wrote, as pairs (start, stop) in
    /// characters (for bytes in bytes), in any order, or as an integer array of shape (n, 2). A
    /// literal that holds an untrusted character, even if only one, is plain text if its token is
    /// special or in `protected`, which holds added tokens by literal or id. A shorter literal may
    /// match in its place, or one inside it; all else is encoded as in the whole text. A pair that
    /// is not in the text is a `ValueError`, an unknown token in `protected` a `SpecialTokenError`
    /// or, for an id, a `VocabularyError`. Such a text is encoded on one thread.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, special_tokens=["<|end|>"])
    /// >>> tok.encode("low<|end|>", special="parse")
    /// [258, 0]
    /// >>> tok.encode("low<|end|>low<|end|>", special="parse", untrusted=[(10, 20)])
    /// [258, 0, 258, 61, 125, 102, 111, 101, 125, 63]
    #[pyo3(signature = (text, *, add_special_tokens = false, special = None, untrusted = None, protected = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, add_special_tokens=False, special='text', untrusted=None, protected=None, surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = Options::new(special, surrogates, &num_threads)?;
        let ids =
            self.encode_ids(text, add_special_tokens, &options, TrustArguments::new(untrusted, protected))?;
        self.ready_ids.get().list(py, &ids)
    }

    /// As `encode`, into a numpy array.
    ///
    /// `dtype` is uint16, uint32, int32, int64 or uint64; one that cannot hold the largest id is a
    /// `ValueError`. With `out=`, an array of one of these types, the ids fill it from the front
    /// and the filled view is returned; if it is too small, a `ValueError` names the required size.
    /// A `dtype` given with `out` must be that of the array.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.encode_to_numpy("low low", dtype="uint16")
    /// array([257,  32, 257], dtype=uint16)
    #[pyo3(signature = (text, *, dtype = None, out = None, add_special_tokens = false, special = None, untrusted = None, protected = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, dtype='uint32', out=None, add_special_tokens=False, special='text', untrusted=None, protected=None, surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn encode_to_numpy<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let max_id = self.engine.vocabulary().max_id();
        let given = dtype.is_some();
        let dtype = Dtype::new(dtype, max_id)?;
        if let Some(out) = out {
            output::check_out(out, given.then_some(dtype), max_id)?;
        }
        let options = Options::new(special, surrogates, &num_threads)?;
        let ids =
            self.encode_ids(text, add_special_tokens, &options, TrustArguments::new(untrusted, protected))?;
        match out {
            Some(out) => output::fill(out, &ids, max_id),
            None => output::array(py, ids, dtype),
        }
    }

    /// The ids of many texts, as a `Ragged`: flat ids and the offset of each row.
    ///
    /// Rows are the same as from `encode`, for every `num_threads`. `texts` is an iterable of
    /// texts, or an Arrow array or stream of strings or bytes (`encode_arrow` says of which types),
    /// which is read without making Python strings: a null gives an empty row, and stays null in
    /// `Ragged.to_arrow()`. With `offsets`, the result is a `RaggedEncodings`, which also has the
    /// part of its text that each id stands for, in characters and in bytes, as from
    /// `encode_with_offsets`. `untrusted` has for each text what `encode` takes, or None;
    /// `protected` is one collection for all texts, or one for each. Raises what `encode` raises; the
    /// message names the text, as `texts[3]`.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> batch = tok.encode_batch(["low", "", "lower"])
    /// >>> batch.ids, batch.row_offsets
    /// (array([257, 257, 101, 114], dtype=uint32), array([0, 1, 1, 4]))
    #[pyo3(signature = (texts, *, dtype = None, offsets = false, add_special_tokens = false, special = None, untrusted = None, protected = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, texts, *, dtype='uint32', offsets=False, add_special_tokens=False, special='text', untrusted=None, protected=None, surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        offsets: bool,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = Dtype::new(dtype, self.engine.vocabulary().max_id())?;
        let options = Options::new(special, surrogates, &num_threads)?;
        let trust_arguments = TrustArguments::new(untrusted, protected);
        if offsets {
            return self.encode_batch_with_offsets(
                texts,
                dtype,
                add_special_tokens,
                options,
                trust_arguments,
            );
        }
        let BatchResult { result, nulls } = if trust_arguments.is_empty() {
            with_texts(texts, &options, |texts, special, threads, watch| {
                self.engine.encode_batch(texts, special, add_special_tokens, threads, watch)
            })?
        } else {
            let marked = (&*self.engine, trust_arguments);
            with_untrusted_texts(texts, &options, marked, |texts, untrusted, recognizers, threads, watch| {
                self.engine.encode_batch_untrusted(
                    texts,
                    untrusted,
                    recognizers,
                    add_special_tokens,
                    threads,
                    watch,
                )
            })?
        };
        let (ids, row_offsets) = result;
        let (ids, row_offsets) = (output::array(py, ids, dtype)?, output::int64_array(py, row_offsets)?);
        let nulls = null_rows(py, nulls)?;
        late::RAGGED
            .get(py)?
            .getattr("Ragged")?
            .call_method1("_of", (ids, row_offsets, &self.ready_ids, nulls))
    }

    /// The ids of a text, each with the part of the text that it stands for, as an `Encoding`.
    ///
    /// With `pair`, of two texts. With `is_pretokenized`, a text is a sequence of words: each word
    /// is encoded as a text of its own, offsets count within the word, and `word_ids` are the
    /// indices of the words. `untrusted` and `protected` are as for `encode`, for one text that is
    /// no list of words. Raises what `encode` raises.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.encode_with_offsets("lower").offsets
    /// [(0, 3), (3, 4), (4, 5)]
    #[pyo3(signature = (text, pair = None, *, add_special_tokens = false, is_pretokenized = false, special = None, untrusted = None, protected = None, surrogates = "replace"), text_signature = "($self, text, pair=None, *, add_special_tokens=False, is_pretokenized=False, special='text', untrusted=None, protected=None, surrogates='replace')")]
    #[allow(clippy::too_many_arguments)]
    fn encode_with_offsets(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        is_pretokenized: bool,
        special: Option<&Bound<'_, PyAny>>,
        untrusted: Option<&Bound<'_, PyAny>>,
        protected: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Encoding> {
        let encoder = SampleEncoder {
            engine: &self.engine,
            special: argument_values::special(special)?,
            surrogates: argument_values::surrogates(surrogates)?,
            adds_special: add_special_tokens,
            truncation: None,
            only_if_cut: false,
        };
        let sample = Sample::new(text, pair, is_pretokenized, (Naming::One, 0))?;
        encoder.encode_one(py, &sample, TrustArguments::new(untrusted, protected))
    }

    /// The number of ids that `encode` returns; none are stored. Arguments are as for `encode`. Raises
    /// what `encode` raises.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.count("lower")
    /// 3
    #[pyo3(signature = (text, *, add_special_tokens = false, special = None, untrusted = None, protected = None, surrogates = "replace", num_threads = NOT_GIVEN), text_signature = "($self, text, *, add_special_tokens=False, special='text', untrusted=None, protected=None, surrogates='replace', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn count<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<usize> {
        let options = Options::new(special, surrogates, &num_threads)?;
        let marked = (&*self.engine, TrustArguments::new(untrusted, protected));
        let count = with_untrusted(text, &options, marked, |text, recognizer, untrusted, watch| {
            self.engine.count_untrusted(text, recognizer, untrusted, watch)
        });
        let count = match count? {
            Some(count) => count,
            None => self.count_trusted(text, &options)?,
        };
        Ok(self.engine.count_with_special_tokens(count, add_special_tokens))
    }

    /// The number of ids of each text, as an int64 array. For a null of an Arrow array it is 0.
    /// Arguments are as for `encode_batch`. Raises what `encode` raises.
    ///
    /// With `limit`, a text of more ids has -1, and is read no further than `count_till_limit` would.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.count_batch(["low", "lower"])
    /// array([1, 3])
    /// >>> tok.count_batch(["low", "lower"], limit=2)
    /// array([ 1, -1])
    #[pyo3(signature = (texts, *, add_special_tokens = false, special = None, untrusted = None, protected = None, surrogates = "replace", num_threads = NOT_GIVEN, limit = None), text_signature = "($self, texts, *, add_special_tokens=False, special='text', untrusted=None, protected=None, surrogates='replace', num_threads=1, limit=None)")]
    #[allow(clippy::too_many_arguments)]
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        add_special_tokens: bool,
        special: Option<&Bound<'py, PyAny>>,
        untrusted: Option<&Bound<'py, PyAny>>,
        protected: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(special, surrogates, &num_threads)?;
        let trust_arguments = TrustArguments::new(untrusted, protected);
        let limit = argument_values::length(limit, "limit")?;
        let mut counts = if trust_arguments.is_empty() {
            with_texts(texts, &options, |texts, special, threads, watch| match limit {
                Some(limit) => self.engine.count_batch_till_limit(
                    texts,
                    special,
                    add_special_tokens,
                    limit,
                    threads,
                    watch,
                ),
                None => self.engine.count_batch(texts, special, add_special_tokens, threads, watch),
            })?
        } else {
            let marked = (&*self.engine, trust_arguments);
            with_untrusted_texts(texts, &options, marked, |texts, untrusted, recognizers, threads, watch| {
                self.engine.count_batch_untrusted(
                    texts,
                    untrusted,
                    recognizers,
                    add_special_tokens,
                    threads,
                    watch,
                )
            })?
        };
        if let Some(limit) = limit {
            let is_over = |count: &&mut i64| usize::try_from(**count).is_ok_and(|count| count > limit);
            counts.result.iter_mut().filter(is_over).for_each(|count| *count = OVER_LIMIT);
        }
        output::int64_array(py, counts.result)
    }
}
