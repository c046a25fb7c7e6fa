//! The model's view of a text beyond its ids: other ways to spell it, and its probability.
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::description::ModelDescription;
use tokenmill_core::engine::{Draw, Dropout};
use tokenmill_core::error::Error;

use super::Tokenizer;
use crate::argument_values::{self, NOT_GIVEN};
use crate::call::{Options, with_text};
use crate::exceptions::raise;
use crate::output;

#[pymethods]
impl Tokenizer {
    /// The `n` best ways to spell a text (at most 1024), as ids and score, best first; fewer if
    /// there are no more.
    ///
    /// A score is the logarithm of a probability. Only Unigram models have them: for others a
    /// `FormatError`. The first result is that of `encode`. Cost: `n` times that of encoding.
    #[pyo3(signature = (text, n, *, special = None, surrogates = "replace"), text_signature = "($self, text, n, *, special='text', surrogates='replace')")]
    fn encode_nbest<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        // A number that does not fit becomes 0, which is out of range too.
        let n = usize::try_from(argument_values::number(n, || "n".to_owned())?).unwrap_or(0);
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        let (ways, _) =
            with_text(text, &options, |text, special, _, watch| self.engine.n_best(text, n, special, watch))?;
        output::list(
            py,
            ways.into_iter().map(|(ids, score)| Ok((self.ready_ids.get().list(py, &ids)?, score))),
        )
    }

    /// The logarithm of the probability of a text: the sum over all ways to spell it, not only the best.
    ///
    /// Added tokens are certain and do not count. For models other than Unigram a `FormatError`.
    #[pyo3(signature = (text, *, special = None, surrogates = "replace"), text_signature = "($self, text, *, special='text', surrogates='replace')")]
    fn log_probability(
        &self,
        text: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
    ) -> PyResult<f64> {
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        let (sum, _) = with_text(text, &options, |text, special, _, watch| {
            self.engine.log_probability(text, special, watch)
        })?;
        Ok(sum)
    }

    /// The ids of a text, spelled in a randomly drawn way (subword regularization).
    ///
    /// Unigram: ways are drawn with a probability proportional to exp(alpha × score), among all of
    /// them (`nbest_size=-1`), among this number of the best, or always the best (0 or 1).
    /// Byte-pair encoding: each merge is skipped with the probability `dropout`, by default that of
    /// the file; as in tokenizers, and for models by score as in SentencePiece. An argument that
    /// the model does not support is a `FormatError`. The same seed gives the same ids on every
    /// machine.
    #[pyo3(signature = (text, *, seed, alpha = None, dropout = None, nbest_size = None, special = None, surrogates = "replace"), text_signature = "($self, text, *, seed, alpha=None, dropout=None, nbest_size=-1, special='text', surrogates='replace')")]
    #[allow(clippy::too_many_arguments)]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        seed: &Bound<'py, PyAny>,
        alpha: Option<f64>,
        dropout: Option<f64>,
        nbest_size: Option<&Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let refuse = |reason: &str| raise(py, Error::argument(reason));
        let seed = u64::try_from(argument_values::number(seed, || "seed".to_owned())?)
            .map_err(|_| refuse("seed must be from 0 to 2**64 - 1"))?;
        let model = &self.engine.description().model;
        let (is_bpe, is_unigram) = (model.as_bpe().is_some(), matches!(model, ModelDescription::Unigram(_)));
        if dropout.is_some() && (alpha.is_some() || nbest_size.is_some()) {
            return Err(refuse("alpha and nbest_size are for Unigram, dropout is for byte-pair encoding"));
        }
        let options = Options::new(special, surrogates, &NOT_GIVEN)?;
        if dropout.is_some() || (is_bpe && alpha.is_none() && nbest_size.is_none()) {
            let how = Dropout { probability: dropout, seed };
            let (ids, _) = with_text(text, &options, |text, special, _, watch| {
                self.engine.encode_with_dropout(text, how, special, watch)
            })?;
            return self.ready_ids.get().list(py, &ids);
        }
        let n_best = match nbest_size {
            Some(size) => argument_values::number(size, || "nbest_size".to_owned())?,
            None => -1,
        };
        let n_best = (n_best >= 0).then(|| usize::try_from(n_best).unwrap_or(usize::MAX));
        let alpha = match alpha {
            Some(alpha) => alpha,
            // Always the best needs no alpha, and another model raises its own error.
            None if is_unigram && !matches!(n_best, Some(0 | 1)) => {
                return Err(refuse("alpha is missing: how much the score counts, 0 for nothing"));
            }
            None => 1.0,
        };
        let (ids, _) = with_text(text, &options, |text, special, _, watch| {
            self.engine.draw(text, Draw { alpha, n_best, seed }, special, watch)
        })?;
        self.ready_ids.get().list(py, &ids)
    }
}
