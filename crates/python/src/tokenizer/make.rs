//! Constructors: tokenizers from tables, and from other tokenizers.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tokenmill_core::description::{Additions, CallLimits, Description, HookName, Normalizer, PreTokenizer};
use tokenmill_core::error::Error;
use tokenmill_io::Annotations;

use super::Tokenizer;
use crate::argument_values::{self, Given, NOT_GIVEN, NamedSplit};
use crate::constructors;
use crate::exceptions::raise;
use crate::hooks::PyHooks;
use crate::limits::side;
use crate::watch::run_long;

#[pymethods]
impl Tokenizer {
    /// A tokenizer from an ordered list of tokens: ids are indices, and any two neighbours whose
    /// joined bytes are a token merge, lowest id first, leftmost first.
    ///
    /// Special tokens take the ids after the list. A table says nothing about how text is split, so
    /// that it is not, unless `split` says how. Raises `FormatError` for an invalid vocabulary (empty
    /// or repeated tokens).
    ///
    /// >>> tok = tokenmill.Tokenizer.from_tokens([b"a", b"b", b"ab"])
    /// >>> tok.encode("abb")
    /// [2, 1]
    #[staticmethod]
    #[pyo3(signature = (tokens, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(tokens, *, split='none', special_tokens=None)")]
    fn from_tokens(
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let NamedSplit { split, name } = argument_values::given_split(py, &split)?;
        let description = constructors::from_tokens(tokens, split)?;
        Self::build(
            py,
            description,
            &argument_values::special_alone(special_tokens)?,
            &PyHooks::default(),
            name,
        )
    }

    /// A tokenizer from ranks, as in tiktoken: a rank is the id of its token, and any two
    /// neighbours whose joined bytes are a token merge, lowest rank first, leftmost first. Ranks
    /// may have gaps.
    ///
    /// `unmatched` is the policy for text that the split does not match: `"keep"`, or `"drop"` as
    /// in tiktoken. With `whole_pretokens` a pretoken that is a token becomes that token, even if
    /// merging gives another result. Raises `FormatError` for invalid ranks (empty tokens, repeated
    /// ranks).
    ///
    /// >>> tok = tokenmill.Tokenizer.from_ranks({b"a": 0, b"b": 1, b"ab": 5})
    /// >>> tok.encode("abb")
    /// [5, 1]
    #[staticmethod]
    #[pyo3(signature = (ranks, *, split = NOT_GIVEN, unmatched = "keep", whole_pretokens = true, special_tokens = None), text_signature = "(ranks, *, split='none', unmatched='keep', whole_pretokens=True, special_tokens=None)")]
    fn from_ranks(
        py: Python<'_>,
        ranks: &Bound<'_, PyAny>,
        split: Given<'_>,
        unmatched: &str,
        whole_pretokens: bool,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let NamedSplit { split, name } = argument_values::given_split(py, &split)?;
        let description = constructors::from_ranks(ranks, split, unmatched, whole_pretokens)?;
        Self::build(
            py,
            description,
            &argument_values::special_alone(special_tokens)?,
            &PyHooks::default(),
            name,
        )
    }

    /// A tokenizer from ids by token and merges in rank order, over bytes.
    ///
    /// Tokens are `bytes`, or `str` in the byte alphabet (`Ġworld`). Raises `FormatError` that
    /// names the merge with a missing part or result, or the wrong entry.
    ///
    /// >>> tok = tokenmill.Tokenizer.from_merges({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    /// >>> tok.encode("abb")
    /// [2, 1]
    #[staticmethod]
    #[pyo3(signature = (vocab, merges, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(vocab, merges, *, split='none', special_tokens=None)")]
    fn from_merges(
        py: Python<'_>,
        vocab: &Bound<'_, PyAny>,
        merges: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let NamedSplit { split, name } = argument_values::given_split(py, &split)?;
        let description = constructors::from_merges(py, vocab, merges, split)?;
        Self::build(
            py,
            description,
            &argument_values::special_alone(special_tokens)?,
            &PyHooks::default(),
            name,
        )
    }

    /// A tokenizer from pairs of ids: ids 0 to 255 are the bytes, and the pairs become 256, 257, ...
    /// in order, which is also the order of the merges.
    ///
    /// Raises `VocabularyError` that names a pair of ids that do not exist yet.
    ///
    /// >>> tok = tokenmill.Tokenizer.from_pairs([(97, 98), (256, 98)])
    /// >>> tok.encode("abb")
    /// [257]
    #[staticmethod]
    #[pyo3(signature = (pairs, *, split = NOT_GIVEN, special_tokens = None), text_signature = "(pairs, *, split='none', special_tokens=None)")]
    fn from_pairs(
        py: Python<'_>,
        pairs: &Bound<'_, PyAny>,
        split: Given<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let NamedSplit { split, name } = argument_values::given_split(py, &split)?;
        let description = constructors::from_pairs(py, pairs, split)?;
        Self::build(
            py,
            description,
            &argument_values::special_alone(special_tokens)?,
            &PyHooks::default(),
            name,
        )
    }

    /// The same tokenizer with more special tokens, and with roles of tokens.
    ///
    /// `special_tokens` is a list (they take the next free ids) or a dict of ids. A role (`bos_token`,
    /// `eos_token`, ...) is given by the literal of its token; one that is not a token yet becomes a
    /// special token. `add_bos_token` and `add_eos_token` say whether `add_special_tokens=True` puts
    /// these tokens before and after each text. None leaves a thing as it is. A folder keeps all of it;
    /// a tokenizer.json alone cannot hold roles.
    ///
    /// Raises `SpecialTokenError` for an empty or repeated literal and for an id that is taken, and
    /// `ValueError` for a token around texts whose role no token has.
    ///
    /// >>> import tokenmill
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok = tok.with_special_tokens(["<pad>"], bos_token="<s>", pad_token="<pad>", add_bos_token=True)
    /// >>> tok.special_tokens, tok.pad_token_id
    /// ({'<pad>': 258, '<s>': 259}, 258)
    /// >>> tok.encode("low", add_special_tokens=True)
    /// [259, 257]
    #[pyo3(signature = (special_tokens = None, *, bos_token = None, eos_token = None, unk_token = None, sep_token = None, pad_token = None, cls_token = None, mask_token = None, add_bos_token = None, add_eos_token = None))]
    #[allow(clippy::too_many_arguments)]
    fn with_special_tokens(
        &self,
        py: Python<'_>,
        special_tokens: Option<&Bound<'_, PyAny>>,
        bos_token: Option<&Bound<'_, PyAny>>,
        eos_token: Option<&Bound<'_, PyAny>>,
        unk_token: Option<&Bound<'_, PyAny>>,
        sep_token: Option<&Bound<'_, PyAny>>,
        pad_token: Option<&Bound<'_, PyAny>>,
        cls_token: Option<&Bound<'_, PyAny>>,
        mask_token: Option<&Bound<'_, PyAny>>,
        add_bos_token: Option<bool>,
        add_eos_token: Option<bool>,
    ) -> PyResult<Self> {
        let roles = [bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token];
        let additions = Additions {
            special_tokens: argument_values::special_tokens(special_tokens)?,
            roles: argument_values::roles(|role| Ok(roles[role as usize].cloned()))?,
            adds_bos: add_bos_token,
            adds_eos: add_eos_token,
        };
        let description = run_long(py, None, |_| self.engine.with_additions(&additions))?;
        Ok(Self::build(py, description, &Additions::default(), &self.hooks, self.split_name)?
            .with_annotations(Annotations::clone(&self.annotations)))
    }

    /// The same tokenizer with other defaults for `tok(...)`, as a folder's settings have them.
    ///
    /// `padding_side` and `truncation_side` are `"right"` or `"left"`. `model_max_length` is the number of
    /// ids that calls cut and pad to where they give no `max_length`. None keeps the current value. Strategy,
    /// stride and fixed lengths from a tokenizer.json no longer count. A folder keeps all of it; a
    /// tokenizer.json alone cannot.
    ///
    /// Raises `ValueError` for another side and for a length below 1.
    ///
    /// >>> import tokenmill
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2, pad_token="<pad>")
    /// >>> tok = tok.with_call_defaults(padding_side="left", model_max_length=4)
    /// >>> [encoding.tokens for encoding in tok(["low", "lower low"], truncation=True, padding=True)]
    /// [['<pad>', '<pad>', '<pad>', 'low'], ['low', 'e', 'r', 'Ġ']]
    #[pyo3(signature = (*, padding_side = None, truncation_side = None, model_max_length = None))]
    fn with_call_defaults(
        &self,
        py: Python<'_>,
        padding_side: Option<&str>,
        truncation_side: Option<&str>,
        model_max_length: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut description = self.engine.description().clone();
        let now = description.call_limits();
        let max_length = argument_values::length(model_max_length, "model_max_length")?;
        if max_length == Some(0) {
            return Err(PyValueError::new_err("model_max_length is 0; a text has at least one id"));
        }
        description.set_call_limits(CallLimits {
            padding_side: side(padding_side, "padding_side")?.unwrap_or(now.padding_side),
            truncation_side: side(truncation_side, "truncation_side")?.unwrap_or(now.truncation_side),
            max_length: max_length.or(now.max_length),
        });
        Ok(Self::build(py, description, &Additions::default(), &self.hooks, self.split_name)?
            .with_annotations(Annotations::clone(&self.annotations)))
    }

    /// The same tokenizer with only its first merges, so that `vocab_size` ids remain: the result
    /// of training to that size. Remaining ids are unchanged.
    ///
    /// Raises `VocabularyError` for a size below that without merges, or above that with all merges.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.with_vocab_size(257).merges
    /// [(b'l', b'o')]
    #[pyo3(signature = (vocab_size))]
    fn with_vocab_size(&self, py: Python<'_>, vocab_size: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = argument_values::number(vocab_size, || "vocab_size".to_owned())?;
        let vocab_size = usize::try_from(number).map_err(|_| {
            raise(
                py,
                Error::vocabulary(None, format!("vocab_size={vocab_size} is no size of this vocabulary")),
            )
        })?;
        let description = self.engine.with_vocab_size(vocab_size).map_err(|error| raise(py, error))?;
        let made = Self::build(py, description, &Additions::default(), &self.hooks, self.split_name)?;
        // What the training read and was asked for stays true of its first merges; an id may be gone.
        let annotations = self.annotations.with_ids(|id| made.engine.vocabulary().contains(id));
        Ok(made.with_annotations(annotations))
    }

    /// The same tokenizer with a function of yours in place of its normalizer; `None` removes the normalizer.
    ///
    /// `function` gets the text between added tokens (`str`) and returns the new text: as a `str`,
    /// which is aligned with the given text by comparison, or as a sequence of pieces `(text,
    /// start, end)`, each with the characters of the given text that it stands for, in order. It is
    /// called from the threads that encode. An invalid result is a `HookError`; what the function
    /// raises reaches the caller of `encode`. `name` identifies the function in saved files and
    /// pickles, and `tokenmill.load(path, hooks={name: function})` finds it by name; without one
    /// the tokenizer cannot be saved. Added tokens with `normalized` set go through the function at
    /// once.
    #[pyo3(signature = (function, *, name = None))]
    fn with_normalizer(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.with_hook(py, function, name, |description, hook| {
            description.normalizer = hook.map(Normalizer::Hook).into_iter().collect();
        })
    }

    /// The same tokenizer with a function of yours in place of its pre-tokenizer; with `None` the
    /// text between added tokens is one pretoken.
    ///
    /// `function` gets the normalized text between added tokens (`str`) and returns the pretokens
    /// in order: as `(start, end)` in characters of that text, or as `str` pieces of it. Text
    /// between them is dropped. Threads, errors and `name` are as for `with_normalizer`.
    #[pyo3(signature = (function, *, name = None))]
    fn with_splitter(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.with_hook(py, function, name, |description, hook| {
            description.pre_tokenizer = hook.map(PreTokenizer::Hook).into_iter().collect();
        })
    }
}

impl Tokenizer {
    /// The same tokenizer with a function of the caller, which `put` puts into the description.
    fn with_hook(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        name: Option<&Bound<'_, PyAny>>,
        put: impl FnOnce(&mut Description, Option<HookName>),
    ) -> PyResult<Self> {
        let mut description = self.engine.description().clone();
        let mut known = self.hooks.named_by(py, &description);
        put(&mut description, known.add_given(function, name)?);
        // No training makes a tokenizer with a function.
        let annotations = self.annotations.without_training();
        Ok(Self::build(py, description, &Additions::default(), &known, self.split_name)?
            .with_annotations(annotations))
    }
}
