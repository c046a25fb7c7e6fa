//! Sequences that come from Python, encoded with offsets: a text, the words of one, or a pair.
use pyo3::prelude::*;
use pyo3::types::PyString;
use tokenmill_core::engine::{Encoding, Engine, Sequence, Special, Text};
use tokenmill_core::error::Result;
use tokenmill_core::watch::Watch;

use crate::buffer::Surrogates;
use crate::convert;
use crate::text::{PyText, locate_in_rows};
use crate::watch::run;

/// How sequences are encoded.
pub(crate) struct How<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) special: Special,
    pub(crate) surrogates: Surrogates,
    pub(crate) is_pretokenized: bool,
}

impl How<'_> {
    /// One sequence, or two.
    pub(crate) fn sequences(
        &self,
        first: &Bound<'_, PyAny>,
        second: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Sequence>> {
        let mut sequences = vec![self.sequence(first, "text")?];
        if let Some(second) = second {
            sequences.push(self.sequence(second, "pair")?);
        }
        Ok(sequences)
    }

    fn sequence(&self, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Sequence> {
        if self.is_pretokenized { self.words(object, name) } else { self.text(object) }
    }

    fn text(&self, object: &Bound<'_, PyAny>) -> PyResult<Sequence> {
        let py_text = PyText::new(object, self.surrogates, None)?;
        let text = py_text.as_text();
        run(object.py(), text.as_bytes().len(), |watch| {
            let encoding = self.engine.encode_with_offsets(text, &self.special, watch);
            let encoding = encoding.map_err(|error| py_text.locate(error))?;
            let offsets = py_text.offsets(&encoding.byte_offsets, watch)?;
            Ok(Sequence { encoding, offsets })
        })
    }

    fn words(&self, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Sequence> {
        let expected = "a sequence of words where is_pretokenized is set";
        if object.cast::<PyString>().is_ok() {
            return Err(convert::wrong_type(name, expected, object));
        }
        let objects = convert::items(object, name, expected)?.collect::<PyResult<Vec<_>>>()?;
        let text = |(i, word)| PyText::new(word, self.surrogates, Some(i));
        let py_texts = objects.iter().enumerate().map(text).collect::<PyResult<Vec<_>>>()?;
        let texts: Vec<Text<'_>> = py_texts.iter().map(PyText::as_text).collect();
        let size = texts.iter().map(|text| text.as_bytes().len() + 1).sum();
        run(object.py(), size, |watch| {
            let encoding = self.engine.encode_words(&texts, &self.special, watch);
            let encoding = encoding.map_err(|error| locate_in_rows(&py_texts, error))?;
            let offsets = word_offsets(&encoding, &py_texts, watch)?;
            Ok(Sequence { encoding, offsets })
        })
    }
}

/// Character offsets in each word.
fn word_offsets(encoding: &Encoding, words: &[PyText<'_>], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
    let mut offsets = Vec::with_capacity(encoding.ids.len());
    for of_word in encoding.words.chunk_by(|a, b| a == b) {
        let (from, to) = (offsets.len(), offsets.len() + of_word.len());
        offsets.extend(words[of_word[0] as usize].offsets(&encoding.byte_offsets[from..to], watch)?);
    }
    Ok(offsets)
}
