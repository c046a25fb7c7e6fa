//! Typed access to the fields of a component; an error names the missing or wrong field.
use serde_json::{Map, Value};
use tokenmill_core::error::{Defect, Error, Result};

/// The object of a component.
pub(super) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(super) fn new(value: &'a Value) -> Result<Self> {
        value.as_object().map(Self).ok_or_else(|| wrong("an object", value))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn value(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| Error::format(Defect::Missing, "is missing").at(name))
    }

    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        self.get(name).map(|value| read(value).ok_or_else(|| wrong(expected, value).at(name))).transpose()
    }

    pub(super) fn optional_bool(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(super) fn bool(&self, name: &str) -> Result<bool> {
        required(name, self.optional_bool(name)?)
    }

    pub(super) fn optional_string(&self, name: &str) -> Result<Option<&'a str>> {
        self.read(name, "a string", Value::as_str)
    }

    pub(super) fn string(&self, name: &str) -> Result<&'a str> {
        required(name, self.optional_string(name)?)
    }

    pub(super) fn optional_char(&self, name: &str) -> Result<Option<char>> {
        let single = |value: &Value| {
            let mut chars = value.as_str()?.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        self.read(name, "one character", single)
    }

    pub(super) fn char(&self, name: &str) -> Result<char> {
        required(name, self.optional_char(name)?)
    }

    pub(super) fn optional_size(&self, name: &str) -> Result<Option<usize>> {
        self.read(name, "a number that is not negative", |value| usize::try_from(value.as_u64()?).ok())
    }

    pub(super) fn size(&self, name: &str) -> Result<usize> {
        required(name, self.optional_size(name)?)
    }

    pub(super) fn number(&self, name: &str) -> Result<u32> {
        let read = self.read(name, "a number below 2^32", |value| u32::try_from(value.as_u64()?).ok())?;
        required(name, read)
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a Vec<Value>> {
        required(name, self.read(name, "a list", Value::as_array)?)
    }

    pub(super) fn object(&self, name: &str) -> Result<&'a Map<String, Value>> {
        required(name, self.read(name, "an object", Value::as_object)?)
    }

    /// Reads every item of a list with `read`.
    pub(super) fn each<T>(&self, name: &str, read: impl Fn(&'a Value) -> Result<T>) -> Result<Vec<T>> {
        let items = self.list(name)?.iter().enumerate();
        items.map(|(i, item)| read(item).map_err(|e| e.at_index(i).at(name))).collect()
    }

    /// The name and value of the only field: serde's notation for an enum.
    pub(super) fn choice(&self) -> Result<(&'a str, &'a Value)> {
        match self.0.iter().next() {
            Some((name, value)) if self.0.len() == 1 => Ok((name, value)),
            _ => Err(Error::format(Defect::Type, "expected an object with one key")),
        }
    }
}

fn required<T>(name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::format(Defect::Missing, "is missing").at(name))
}

/// The error for a value of an unexpected type.
pub(super) fn wrong(expected: &str, found: &Value) -> Error {
    let text = found.to_string();
    let shown: String = text.chars().take(60).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    Error::format(Defect::Type, format!("expected {expected}, found {shown}{more}"))
}

/// The error for a setting that is not supported.
pub(super) fn unsupported(what: impl Into<String>) -> Error {
    Error::format(
        Defect::Unsupported,
        format!("{} is not supported by this version of tokenmill", what.into()),
    )
}

/// The error for what the format cannot express.
pub(super) fn cannot(reason: impl Into<String>) -> Error {
    Error::format(Defect::CannotHold, reason)
}
