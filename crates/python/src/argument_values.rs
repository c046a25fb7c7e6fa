//! Converts arguments from Python, with our own error messages.
use std::convert::Infallible;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyIterator, PyMapping, PyString};
use tokenmill_core::description::{Additions, Role, Split};
use tokenmill_core::engine::{DecodeOptions, Special, Undefined};
use tokenmill_core::error::{Error, Kind};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::named_splits;
use tokenmill_io::Format;
use tokenmill_kernels::MadeOnce;

use crate::buffer::Surrogates;
use crate::exceptions::{gather, raise, wrong_type};

/// An argument, or `None` for its default. Errors are raised here, in our own words, not by the
/// argument conversion of pyo3.
pub(crate) struct Given<'py>(pub(crate) Option<Bound<'py, PyAny>>);

/// The default.
pub(crate) const NOT_GIVEN: Given<'static> = Given(None);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(argument: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(Some(argument.to_owned())))
    }
}

/// Items between two checks for signals.
const ITEMS_PER_CHECK: usize = 1 << 16;

/// Checks for signals every [`ITEMS_PER_CHECK`] items.
pub(crate) fn look(py: Python<'_>, item: usize) -> PyResult<()> {
    if item % ITEMS_PER_CHECK == ITEMS_PER_CHECK - 1 { py.check_signals() } else { Ok(()) }
}

/// The items of a list, a tuple or another sequence; a single text is rejected.
pub(crate) fn sequence<'py>(
    argument: &Bound<'py, PyAny>,
    name: &str,
    of: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let is_text = argument.cast::<PyString>().is_ok()
        || argument.cast::<PyBytes>().is_ok()
        || argument.cast::<PyByteArray>().is_ok();
    let is_sequence = || argument.hasattr("__getitem__").unwrap_or(false) && argument.len().is_ok();
    if is_text || argument.cast::<PyMapping>().is_ok() || !is_sequence() {
        return Err(wrong_type(name, &format!("a sequence of {of}"), argument));
    }
    let py = argument.py();
    let item = |(i, item): (usize, PyResult<Bound<'py, PyAny>>)| look(py, i).and(item);
    gather(argument.try_iter()?.enumerate().map(item))
}

/// A `str`.
pub(crate) fn string(object: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(string) => string.extract(),
        Err(_) => Err(wrong_type(&name(), "str", object)),
    }
}

/// `special=`: a policy, or the set of literals to recognise.
pub(crate) fn special(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Special> {
    let Some(argument) = argument else { return Ok(Special::Text) };
    if let Ok(policy) = argument.cast::<PyString>() {
        return match policy.to_str()? {
            "text" => Ok(Special::Text),
            "parse" => Ok(Special::Parse),
            "raise" => Ok(Special::Raise),
            other => Err(PyValueError::new_err(format!(
                "special={other:?} is none of \"text\", \"parse\", \"raise\" or a set of literals"
            ))),
        };
    }
    let expected = "\"text\", \"parse\", \"raise\" or a set of str";
    let literals = items(argument, "special", expected)?
        .map(|item| string(&item?, || "each literal of special".to_owned()));
    Ok(Special::Only(gather(literals)?))
}

pub(crate) fn surrogates(policy: &str) -> PyResult<Surrogates> {
    match policy {
        "replace" => Ok(Surrogates::Replace),
        "error" => Ok(Surrogates::Refuse),
        other => {
            Err(PyValueError::new_err(format!("surrogates={other:?} is neither \"replace\" nor \"error\"")))
        }
    }
}

/// A whole number of any size; values outside of `i128` are clamped.
pub(crate) fn number(object: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<i128> {
    whole(object).unwrap_or_else(|| Err(wrong_type(&name(), "an integer", object)))
}

/// The value of an integer object, as in [`number`]; `None` for another object.
fn whole(object: &Bound<'_, PyAny>) -> Option<PyResult<i128>> {
    static INDEX: MadeOnce<Py<PyString>> = MadeOnce::new();
    // Nearly all are plain `int`s; the general way takes ten times as long.
    if let Ok(plain) = object.cast_exact::<PyInt>()
        && let Ok(number) = plain.extract::<i64>()
    {
        return Some(Ok(number.into()));
    }
    let py = object.py();
    let index = INDEX.get_or_make(|| PyString::intern(py, "__index__").unbind());
    let number = object.call_method0(index.bind(py)).ok()?;
    let bound = |_| Ok(if number.lt(0)? { i128::MIN } else { i128::MAX });
    Some(number.extract::<i128>().or_else(bound))
}

/// A length: a non-negative whole number.
pub(crate) fn length(argument: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<usize>> {
    let Some(argument) = argument else { return Ok(None) };
    let number = number(argument, || name.to_owned())?;
    let refused = |_| PyValueError::new_err(format!("{name}={number} is no length"));
    usize::try_from(number).map(Some).map_err(refused)
}

/// An index in a list; `None` for a negative or too large number.
pub(crate) fn place(argument: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<usize>> {
    Ok(usize::try_from(number(argument, || name.to_owned())?).ok())
}

/// `num_threads=`: 1 by default; `None` means all cores that this process may use. `refuse` makes
/// the error for an invalid number.
pub(crate) fn threads(argument: &Given<'_>, refuse: impl FnOnce(String) -> Error) -> PyResult<usize> {
    let Some(count) = &argument.0 else { return Ok(1) };
    if count.is_none() {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    }
    let Some(number) = whole(count) else {
        return Err(wrong_type("num_threads", "an integer or None", count));
    };
    if let Ok(threads @ 1..=65_536) = usize::try_from(number?) {
        return Ok(threads);
    }
    let reason = format!("num_threads={count} is not between 1 and 65,536; None takes every core");
    Err(raise(count.py(), refuse(reason)))
}

/// A value of Python as JSON.
pub(crate) fn json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    py.import("json")?.getattr("dumps")?.call((value,), Some(&options))?.extract()
}

/// `format=` of `save`.
pub(crate) fn format(name: Option<&str>) -> PyResult<Option<Format>> {
    let Some(name) = name else { return Ok(None) };
    Format::by_name(name).map(Some).ok_or_else(|| {
        let reason = format!(
            "format={name:?} is none of \"tokenizer.json\", \"tiktoken\", \"vocab+merges\", \"sentencepiece\", \"vocab.txt\", \"gguf\", \"tekken\""
        );
        PyValueError::new_err(reason)
    })
}

pub(crate) fn decode_options(skip_special: bool, undefined: &str) -> PyResult<DecodeOptions> {
    let undefined = match undefined {
        "error" => Undefined::Error,
        "skip" => Undefined::Skip,
        "replace" => Undefined::Replace,
        other => {
            let reason = format!("undefined={other:?} is none of \"error\", \"skip\", \"replace\"");
            return Err(PyValueError::new_err(reason));
        }
    };
    Ok(DecodeOptions { skip_special, undefined })
}

/// A split, and the name that it was asked for by: two names may have one pattern.
pub(crate) struct NamedSplit {
    pub(crate) split: Split,
    /// `None` for a regular expression.
    pub(crate) name: Option<&'static str>,
}

/// `split=` of a constructor; by default nothing is split.
pub(crate) fn given_split(py: Python<'_>, argument: &Given<'_>) -> PyResult<NamedSplit> {
    match &argument.0 {
        None => Ok(NamedSplit { split: Split::Whole, name: None }),
        Some(text) => split(py, &string(text, || "split".to_owned())?),
    }
}

/// `split=`: a known name or a regular expression. An unknown name is an error, not a pattern.
pub(crate) fn split(py: Python<'_>, text: &str) -> PyResult<NamedSplit> {
    let like_a_name =
        text.len() > 1 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if like_a_name && named_splits::split_named(text).is_none() {
        let meant = named_splits::NAMES.iter().find(|name| text.starts_with(**name));
        let meant = meant.map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        let reason = format!(
            "no split goes by this name{meant}; known are {}; a regular expression that matches just this text is \
             written (?:{text})",
            named_splits::NAMES.join(", ")
        );
        let kind = Kind::Pattern { pattern: text.to_owned(), position: None, searched_from: None, reason };
        return Err(raise(py, kind.into()));
    }
    Ok(NamedSplit { split: named_splits::split_from(text), name: named_splits::name_given(text) })
}

/// `special_tokens=`: a sequence of literals, or a mapping from literals to ids.
pub(crate) fn special_tokens(
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, Option<TokenId>)>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(Vec::new()) };
    if let Ok(mapping) = argument.cast::<PyMapping>() {
        let mut tokens = Vec::new();
        for (i, item) in mapping.items()?.iter().enumerate() {
            look(mapping.py(), i)?;
            let (content, id): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let content = string(&content, || format!("key {i} of special_tokens"))?;
            let id = token_id(&id, || format!("special_tokens[{content:?}]"))?;
            tokens.push((content, Some(id)));
        }
        return Ok(tokens);
    }
    let is_iterable = argument.cast::<PyString>().is_err() && argument.hasattr("__iter__")?;
    if !is_iterable {
        return Err(wrong_type("special_tokens", "a list of str or a dict of ids", argument));
    }
    let literal = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        look(argument.py(), i)?;
        Ok((string(&item?, || format!("special_tokens[{i}]"))?, None))
    };
    gather(argument.try_iter()?.enumerate().map(literal))
}

/// Special tokens, and nothing else to add.
pub(crate) fn special_alone(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Additions> {
    special_tokens(argument).map(Additions::of_special_tokens)
}

/// The literals of roles that `find` returns.
pub(crate) fn roles<'py>(
    find: impl Fn(Role) -> PyResult<Option<Bound<'py, PyAny>>>,
) -> PyResult<Vec<(Role, String)>> {
    let mut roles = Vec::new();
    for role in Role::ALL {
        if let Some(literal) = find(role)?.filter(|literal| !literal.is_none()) {
            let Ok(literal) = literal.cast::<PyString>() else {
                return Err(wrong_type(&format!("{}_token", role.name()), "str or None", &literal));
            };
            roles.push((role, string(literal, || format!("{}_token", role.name()))?));
        }
    }
    Ok(roles)
}

/// The additions in a dict of keyword arguments: `special_tokens`, `bos_token`, ..., `add_bos_token`, `add_eos_token`.
pub(crate) fn additions(arguments: &Bound<'_, PyDict>) -> PyResult<Additions> {
    let flag = |name: &str| match arguments.get_item(name)?.filter(|flag| !flag.is_none()) {
        None => Ok(None),
        Some(flag) => match flag.cast::<PyBool>() {
            Ok(flag) => Ok(Some(flag.is_true())),
            Err(_) => Err(wrong_type(name, "a bool or None", &flag)),
        },
    };
    Ok(Additions {
        special_tokens: special_tokens(arguments.get_item("special_tokens")?.as_ref())?,
        roles: roles(|role| arguments.get_item(format!("{}_token", role.name())))?,
        adds_bos: flag("add_bos_token")?,
        adds_eos: flag("add_eos_token")?,
    })
}

/// What labels hold in place of an id that is not trained.
const NOT_TRAINED: i128 = -100;

/// One id; a number that is not an id is a vocabulary error.
pub(crate) fn token_id(object: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<TokenId> {
    let number = number(object, name)?;
    TokenId::try_from(number).map_err(|_| no_id(object.py(), number, None, None))
}

/// An id in a pair of `from_pairs`.
pub(crate) fn pair_id(object: &Bound<'_, PyAny>, pair: usize, side: usize) -> PyResult<TokenId> {
    let number = number(object, || format!("pairs[{pair}][{side}]"))?;
    TokenId::try_from(number).map_err(|_| no_id(object.py(), number, Some(pair), None))
}

/// The error of a number that is no id; `row` is its row in a batch.
pub(crate) fn no_id(py: Python<'_>, id: i128, position: Option<usize>, row: Option<usize>) -> PyErr {
    let mut reason = "is not an id: ids are between 0 and 2^32 - 2".to_owned();
    if id == NOT_TRAINED && position.is_some() {
        reason.push_str("; labels hold -100 where nothing is trained: leave these positions out");
    }
    let error = Error::from(Kind::Vocabulary { id: Some(id), position, reason });
    raise(
        py,
        match row {
            Some(row) => error.at_index(row).at("batch"),
            None => error,
        },
    )
}

/// Iterates over texts. A dict is refused, as only its keys would be taken.
pub(crate) fn texts<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<Bound<'py, PyIterator>> {
    if object.cast::<PyDict>().is_ok() {
        let reason =
            format!("{name} must be {expected}, not dict, whose keys would be taken; pass one of its values");
        return Err(PyTypeError::new_err(reason));
    }
    items(object, name, expected)
}

/// Iterates over any iterable.
pub(crate) fn items<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<Bound<'py, PyIterator>> {
    object.try_iter().map_err(|error| {
        let py = object.py();
        let is_iterable = object.hasattr("__iter__").unwrap_or(true);
        if error.is_instance_of::<PyTypeError>(py) && !is_iterable {
            wrong_type(name, expected, object)
        } else {
            error
        }
    })
}
