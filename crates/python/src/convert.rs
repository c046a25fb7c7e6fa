//! Arguments from Python.
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMapping, PyMemoryView, PyString};
use tokenmill_core::description::Split;
use tokenmill_core::engine::{DecodeOptions, Special, Undefined};
use tokenmill_core::error::{Error, Kind};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::known;
use tokenmill_io::Format;

use crate::buffer::Surrogates;
use crate::errors::raise;

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
    let literals = argument
        .try_iter()
        .and_then(|items| items.map(|item| item?.extract::<String>()).collect::<PyResult<Vec<_>>>());
    match literals {
        Ok(literals) => Ok(Special::Only(literals)),
        Err(_) => Err(PyTypeError::new_err("special= takes \"text\", \"parse\", \"raise\" or a set of str")),
    }
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

/// A whole number of any size that Rust can look at; what is larger is cut to its bounds.
pub(crate) fn number(object: &Bound<'_, PyAny>, name: &str) -> PyResult<i128> {
    let Ok(number) = object.call_method0("__index__") else {
        let found = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{name} must be a whole number, not {found}")));
    };
    bounded(&number)
}

fn bounded(number: &Bound<'_, PyAny>) -> PyResult<i128> {
    match number.extract::<i128>() {
        Ok(number) => Ok(number),
        Err(_) if number.lt(0)? => Ok(i128::MIN),
        Err(_) => Ok(i128::MAX),
    }
}

/// `num_threads=`: `None` is all cores that this process may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(count: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if count.is_none() {
            return Ok(Self(std::thread::available_parallelism().map_or(1, usize::from)));
        }
        let count = &*count;
        match usize::try_from(number(count, "num_threads")?) {
            Ok(threads @ 1..=65_536) => Ok(Self(threads)),
            _ => Err(PyValueError::new_err(format!("num_threads={count} is not between 1 and 65,536"))),
        }
    }
}

/// `format=` of `save`.
pub(crate) fn format(name: Option<&str>) -> PyResult<Option<Format>> {
    let Some(name) = name else { return Ok(None) };
    Format::by_name(name).map(Some).ok_or_else(|| {
        let reason = format!("format={name:?} is none of \"tokenizer.json\", \"tiktoken\", \"vocab+merges\"");
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

/// `split=`: a known name, or a regular expression. What looks like a name and is none is a
/// mistake, not a pattern.
pub(crate) fn split(py: Python<'_>, text: &str) -> PyResult<Split> {
    let like_a_name =
        text.len() > 1 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if like_a_name && known::split_named(text).is_none() {
        let meant = known::NAMES.iter().find(|name| text.starts_with(**name));
        let meant = meant.map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        let reason = format!(
            "no split goes by this name{meant}; known are {}; a regular expression that matches just this text is \
             written (?:{text})",
            known::NAMES.join(", ")
        );
        let kind = Kind::Pattern { pattern: text.to_owned(), position: None, searched_from: None, reason };
        return Err(raise(py, kind.into()));
    }
    Ok(known::split_from(text))
}

/// `special_tokens=`: a sequence of literals, or a mapping from literals to ids.
pub(crate) fn special_tokens(
    argument: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, Option<TokenId>)>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(Vec::new()) };
    if argument.cast::<PyString>().is_ok() {
        return Err(PyTypeError::new_err("special_tokens takes a list of str or a dict of ids, not one str"));
    }
    if let Ok(mapping) = argument.cast::<PyMapping>() {
        let mut tokens = Vec::new();
        for item in mapping.items()?.iter() {
            let (content, id): (String, Bound<'_, PyAny>) = item.extract()?;
            tokens.push((content, Some(token_id(&id, None)?)));
        }
        return Ok(tokens);
    }
    argument.try_iter()?.map(|item| Ok((item?.extract()?, None))).collect()
}

/// One id; what is a number but no id is a vocabulary error.
pub(crate) fn token_id(object: &Bound<'_, PyAny>, position: Option<usize>) -> PyResult<TokenId> {
    if let Ok(id) = object.extract::<TokenId>() {
        return Ok(id);
    }
    let Ok(number) = object.call_method0("__index__") else {
        let found = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("ids must be integers, not {found}")));
    };
    let id = bounded(&number)?;
    TokenId::try_from(id).map_err(|_| no_id(object.py(), id, position))
}

fn no_id(py: Python<'_>, id: i128, position: Option<usize>) -> PyErr {
    let reason = "is not an id: ids are between 0 and 2^32 - 2".to_owned();
    raise(py, Error::from(Kind::Vocabulary { id: Some(id), position, reason }))
}

/// A sequence of ids: a list, an array, anything that yields integers.
pub(crate) fn ids(object: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().enumerate().map(|(i, id)| token_id(&id, Some(i))).collect();
    }
    let is_text = object.cast::<PyString>().is_ok()
        || object.cast::<PyBytes>().is_ok()
        || object.cast::<PyByteArray>().is_ok()
        || (object.cast::<PyMemoryView>().is_ok() && PyBuffer::<u8>::get(object).is_ok());
    if is_text {
        return Err(PyTypeError::new_err("ids must be a sequence of integers, not text or bytes"));
    }
    if let Some(ids) = from_buffer::<u32>(object)
        .or_else(|| from_buffer::<i64>(object))
        .or_else(|| from_buffer::<i32>(object))
        .or_else(|| from_buffer::<u16>(object))
        .or_else(|| from_buffer::<u64>(object))
    {
        return ids;
    }
    if let Ok(id) = object.extract::<TokenId>() {
        return Err(PyTypeError::new_err(format!(
            "ids must be a sequence of integers; for one id write [{id}]"
        )));
    }
    object.try_iter()?.enumerate().map(|(i, id)| token_id(&id?, Some(i))).collect()
}

fn from_buffer<T>(object: &Bound<'_, PyAny>) -> Option<PyResult<Vec<TokenId>>>
where
    T: Element + Copy + Into<i128>,
{
    let buffer = PyBuffer::<T>::get(object).ok()?;
    // The types above do not tell byte orders apart; what is foreign is read item by item.
    let foreign = if cfg!(target_endian = "little") { [b'>', b'!'] } else { [b'<', b'<'] };
    if buffer.dimensions() != 1
        || buffer.format().to_bytes().first().is_some_and(|first| foreign.contains(first))
    {
        return None;
    }
    let values = match buffer.to_vec(object.py()) {
        Ok(values) => values,
        Err(error) => return Some(Err(error)),
    };
    let id = |(i, value): (usize, T)| {
        let value: i128 = value.into();
        TokenId::try_from(value).map_err(|_| no_id(object.py(), value, Some(i)))
    };
    Some(values.into_iter().enumerate().map(id).collect())
}
