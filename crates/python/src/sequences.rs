//! Encodes samples from Python with offsets: a text, a list of words, or a pair.
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use tokenmill_core::description::Truncation;
use tokenmill_core::engine::{Engine, Recognizer, Sequence, Special, Text, UntrustedRanges};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::postprocess::Windows;
use tokenmill_core::threads;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};

use crate::argument_place::{ArgumentPlace, Naming};
use crate::argument_values::{self, look};
use crate::buffer::Surrogates;
use crate::call::{BatchResult, Options, column_text, refuse_one_text};
use crate::columns::Columns;
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise, wrong_type};
use crate::text::PyText;
use crate::untrusted::{Length, Trust, TrustArguments};
use crate::watch::run;

/// Encodes samples with these options.
pub(crate) struct SampleEncoder<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) special: Special,
    pub(crate) surrogates: Surrogates,
    pub(crate) adds_special: bool,
    pub(crate) truncation: Option<Truncation>,
    /// Is a truncation that cuts nothing ignored, even if it is invalid?
    pub(crate) only_if_cut: bool,
}

/// A sequence as a Python object.
enum Source<'py> {
    Text(Bound<'py, PyAny>),
    Words(Vec<Bound<'py, PyAny>>),
}

/// A sample: one sequence, or two.
pub(crate) struct Sample<'py>(Vec<Source<'py>>);

/// A sample that can be read without the interpreter; empty for a null.
type Row<'a> = Vec<Read<'a>>;

/// A sequence that can be read without the interpreter.
enum Read<'a> {
    Text(PyText<'a>),
    Words(Vec<PyText<'a>>),
}

impl<'py> Source<'py> {
    fn new(object: &Bound<'py, PyAny>, place: ArgumentPlace, is_pretokenized: bool) -> PyResult<Self> {
        if !is_pretokenized {
            return Ok(Self::Text(object.clone()));
        }
        let (name, expected) = (&place.to_string(), "a sequence of words where is_pretokenized is set");
        if object.cast::<PyString>().is_ok() {
            return Err(wrong_type(name, expected, object));
        }
        Ok(Self::Words(gather(argument_values::texts(object, name, expected)?)?))
    }

    fn read(&self, surrogates: Surrogates, place: ArgumentPlace) -> PyResult<Read<'_>> {
        Ok(match self {
            Self::Text(text) => Read::Text(PyText::new(text, surrogates, place)?),
            Self::Words(words) => {
                let word = |(i, word)| PyText::new(word, surrogates, place.item(i));
                Read::Words(gather(words.iter().enumerate().map(word))?)
            }
        })
    }
}

impl<'py> Sample<'py> {
    /// The sample of a row.
    pub(crate) fn new(
        text: &Bound<'py, PyAny>,
        pair: Option<&Bound<'py, PyAny>>,
        is_pretokenized: bool,
        (naming, row): (Naming, usize),
    ) -> PyResult<Self> {
        let given = [Some(text), pair];
        let count = given.iter().flatten().count();
        let source = |(i, one)| Source::new(one, naming.place(row, i, count), is_pretokenized);
        gather(given.into_iter().flatten().enumerate().map(source)).map(Self)
    }

    fn read<'a>(&'a self, surrogates: Surrogates, (naming, row): (Naming, usize)) -> PyResult<Row<'a>> {
        let count = self.0.len();
        let read = |(i, one): (usize, &'a Source<'py>)| one.read(surrogates, naming.place(row, i, count));
        gather(self.0.iter().enumerate().map(read))
    }
}

impl Read<'_> {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.as_text().as_bytes().len(),
            Self::Words(words) => words.iter().map(|word| word.as_text().as_bytes().len() + 1).sum(),
        }
    }

    /// Encodes a sequence. Words are always trusted. Errors get their position in the arguments.
    fn encode(
        &self,
        place: ArgumentPlace,
        engine: &Engine,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<Sequence> {
        match self {
            Self::Text(text) => {
                let encoding = engine.encode_with_offsets(text.as_text(), recognizer, untrusted, watch);
                let encoding = encoding.map_err(|error| place.locate(text.locate(error)))?;
                let offsets = text.offsets(&encoding.byte_offsets, watch)?;
                Ok(Sequence { encoding, offsets })
            }
            Self::Words(words) => {
                let texts: Vec<Text<'_>> =
                    try_alloc::collect(words.iter().map(|word| Result::Ok(word.as_text())))?;
                let encoding = engine.encode_words(&texts, recognizer, watch);
                let encoding = encoding.map_err(|error| match error.field.first_index() {
                    Some(word) => place.item(word).locate(words[word].locate(error)),
                    None => error,
                })?;
                // Character offsets count within each word.
                let mut offsets = try_alloc::vec(encoding.ids.len())?;
                for of_word in encoding.words.chunk_by(|a, b| a == b) {
                    let (from, to) = (offsets.len(), offsets.len() + of_word.len());
                    let spans = &encoding.byte_offsets[from..to];
                    offsets.extend(words[of_word[0] as usize].offsets(spans, watch)?);
                }
                Ok(Sequence { encoding, offsets })
            }
        }
    }
}

impl<'a> SampleEncoder<'a> {
    /// Encodes texts without cutting them.
    pub(crate) fn of_texts(engine: &'a Arc<Engine>, adds_special: bool, options: &Options) -> Self {
        let (special, surrogates) = (options.special.clone(), options.surrogates);
        Self { engine, special, surrogates, adds_special, truncation: None, only_if_cut: false }
    }

    /// Encodes one sample, of which parts may be untrusted if it is one text.
    pub(crate) fn encode_one(
        &self,
        py: Python<'_>,
        sample: &Sample<'_>,
        trust_arguments: TrustArguments<'_, '_>,
    ) -> PyResult<Encoding> {
        let naming = Naming::One;
        let read = sample.read(self.surrogates, (naming, 0))?;
        let trust = match (read.as_slice(), sample.0.as_slice()) {
            _ if trust_arguments.is_empty() => None,
            ([Read::Text(text)], [Source::Text(object)]) => {
                trust_arguments.for_text(self.engine, text.length(object)?)?
            }
            _ if trust_arguments.has_untrusted() => {
                return Err(PyValueError::new_err(
                    "untrusted marks one text, not a pair or words; encode each of them by itself",
                ));
            }
            _ => trust_arguments.for_text(self.engine, Length::Bytes(0))?,
        };
        let encodings = self.encode_rows(py, &[read], trust.as_ref(), naming, 1)?;
        let one = encodings.into_iter().next();
        one.ok_or_else(|| raise(py, Error::internal("a sample without an encoding")))
    }

    /// Encodes samples and truncates them, without padding.
    pub(crate) fn encode(
        &self,
        py: Python<'_>,
        samples: &[Sample<'_>],
        naming: Naming,
        threads: usize,
    ) -> PyResult<Vec<Encoding>> {
        let read = |(row, sample): (usize, _)| Sample::read(sample, self.surrogates, (naming, row));
        let rows = gather(samples.iter().enumerate().map(read))?;
        self.encode_rows(py, &rows, None, naming, threads)
    }

    /// Encodes the texts of a batch, each as in [`Self::encode_one`]; a null has no ids.
    pub(crate) fn encode_texts<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        trust_arguments: TrustArguments<'_, 'py>,
        threads: usize,
    ) -> PyResult<BatchResult<Vec<Encoding>>> {
        let naming = Naming::Texts;
        let place = |row| naming.place(row, 0, 1);
        refuse_one_text(texts)?;
        if let Some(columns) = Columns::of(texts)? {
            let read = |bytes: Option<_>| {
                let text = bytes.map(|bytes| match std::str::from_utf8(bytes) {
                    // Untrusted ranges are counted in characters, which bytes do not have.
                    Ok(text) if trust_arguments.has_untrusted() => {
                        Read::Text(PyText::Str { text: text.into(), pairs: Vec::new() })
                    }
                    _ => Read::Text(PyText::Bytes(bytes.into())),
                });
                text.into_iter().collect()
            };
            let encode = || {
                let rows: Vec<Row<'_>> = columns.rows(py, read)?;
                let nulls = gather(rows.iter().map(|row| Ok(row.is_empty())))?;
                let length = |row: usize| {
                    let text = column_text(&columns, row).map_err(PyValueError::new_err)?;
                    Ok(Length::Characters(text.chars().count()))
                };
                let trust = trust_arguments.for_rows(py, self.engine, rows.len(), length)?;
                let result = self.encode_rows(py, &rows, trust.as_ref(), naming, threads)?;
                Ok(BatchResult { result, nulls: Some(nulls) })
            };
            let encoded = encode();
            // See `with_texts`.
            py.detach(|| drop(columns));
            return encoded;
        }
        let objects = gather(argument_values::texts(texts, "texts", "an iterable of texts")?)?;
        let read = |(row, object)| {
            look(py, row)?;
            Ok(vec![Read::Text(PyText::new(object, self.surrogates, place(row))?)])
        };
        let rows = gather(objects.iter().enumerate().map(read))?;
        let length = |row: usize| match rows[row].as_slice() {
            [Read::Text(text)] => text.length(&objects[row]),
            _ => Ok(Length::Bytes(0)),
        };
        let trust = trust_arguments.for_rows(py, self.engine, rows.len(), length)?;
        let result = self.encode_rows(py, &rows, trust.as_ref(), naming, threads)?;
        Ok(BatchResult { result, nulls: None })
    }

    /// Encodes rows, each a sample; a row without a sequence has no ids.
    fn encode_rows(
        &self,
        py: Python<'_>,
        rows: &[Row<'_>],
        trust: Option<&Trust>,
        naming: Naming,
        threads: usize,
    ) -> PyResult<Vec<Encoding>> {
        let size = rows.iter().map(|row| row.iter().map(Read::size).sum::<usize>() + 1).sum();
        let encoded = run(py, size, |watch| self.encode_read(rows, trust, naming, threads, watch))?;
        let of = |(sequences, windows)| Encoding::new(Arc::clone(self.engine), sequences, windows);
        gather(encoded.into_iter().map(|one| Ok(of(one))))
    }

    /// As [`Self::encode_rows`], without the interpreter.
    fn encode_read(
        &self,
        rows: &[Row<'_>],
        trust: Option<&Trust>,
        naming: Naming,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<(Vec<Sequence>, Windows)>> {
        let size = rows.iter().map(|row| row.iter().map(Read::size).sum::<usize>() + 1).sum();
        let untrusted_of = |trust: &Trust, row: usize| match rows[row].as_slice() {
            [Read::Text(text)] => text.untrusted(trust.pairs(row), watch),
            _ => Ok(UntrustedRanges::default()),
        };
        let untrusted = match trust {
            Some(trust) => try_alloc::collect((0..rows.len()).map(|row| untrusted_of(trust, row)))?,
            None => Vec::new(),
        };
        let encode = |recognizers: &[&Recognizer<'_>]| {
            let threads = threads::threads_for(size, threads);
            let unit = rows.len().div_ceil(threads * 4).max(1);
            let units: Vec<&[Row<'_>]> = rows.chunks(unit).collect();
            let parts = threads::run(units.len(), threads, watch, |i, watch| {
                let mut ticker = Ticker::new(watch);
                let one = |(k, row): (usize, &Row<'_>)| {
                    // A constant is added, so that very short rows use up a slice too.
                    ticker.spend(row.iter().map(Read::size).sum::<usize>() + 16)?;
                    let number = i * unit + k;
                    let recognizer = recognizers.get(number).unwrap_or(&recognizers[0]);
                    let untrusted = untrusted.get(number).unwrap_or(UntrustedRanges::none());
                    self.sample(row, (naming, number), recognizer, untrusted, watch)
                };
                try_alloc::collect(units[i].iter().enumerate().map(one))
            })?;
            try_alloc::collect(parts.into_iter().flatten().map(Ok))
        };
        match trust {
            Some(trust) => trust.with_recognizers(self.engine, &self.special, encode),
            None => encode(&[&self.engine.recognizer(&self.special)?]),
        }
    }

    fn sample(
        &self,
        row: &[Read<'_>],
        (naming, number): (Naming, usize),
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<(Vec<Sequence>, Windows)> {
        if row.is_empty() {
            return Ok((Vec::new(), vec![Vec::new()]));
        }
        let place = |i| naming.place(number, i, row.len());
        let encode =
            |(i, read): (usize, &Read<'_>)| read.encode(place(i), self.engine, recognizer, untrusted, watch);
        let sequences = try_alloc::collect(row.iter().enumerate().map(encode))?;
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.offsets.len()).collect();
        let cuts =
            |by: &&Truncation| !self.only_if_cut || self.engine.is_cut(&lengths, self.adds_special, by);
        let truncation = self.truncation.as_ref().filter(cuts);
        let windows = self.engine.arrange(&lengths, self.adds_special, truncation, watch);
        let windows = windows.map_err(|error| naming.locate_sequence(error, number, row.len()))?;
        Ok((sequences, windows))
    }
}
