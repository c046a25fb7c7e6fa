//! Chat templates: the tokenizer's own, and tokenizers with others.
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::Tokenizer;
use crate::exceptions::{raise, wrong_type};
use crate::late;

/// The error for a template that is no text. A path is not read: a text without `{` would be a name or a path.
fn not_a_source(source: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    if !source.hasattr("__fspath__")? {
        return Ok(wrong_type("source", "str or None", source));
    }
    let reason =
        "source is the text of a template, not the path of a file: pass path.read_text(encoding=\"utf-8\")";
    Ok(PyTypeError::new_err(reason))
}

#[pymethods]
impl Tokenizer {
    /// The chat templates by name, as they are written; a new dict at every access. The one for calls that
    /// name none is `default`.
    ///
    /// They belong to the tokenizer: a folder keeps them, `==`, `hash` and pickles include them. They change no
    /// id of a text, so that `fingerprint` does not; `digests["chat"]` is theirs.
    ///
    /// >>> tok = tokenmill.Tokenizer.from_tokens([b"a"]).with_chat_template("{{ messages[0].content }}")
    /// >>> tok.chat_templates
    /// {'default': '{{ messages[0].content }}'}
    #[getter]
    fn chat_templates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let templates = PyDict::new(py);
        for (name, source) in self.engine.description().chat_templates.iter() {
            templates.set_item(name, source)?;
        }
        Ok(templates)
    }

    /// The same tokenizer with a chat template under a name, in place of the one that has it; with `None`
    /// without that one. Nothing else changes: both share their tables and caches.
    ///
    /// `source` is a Jinja template, or the name of one that comes with tokenmill: `"chatml"`, `"gemma"`,
    /// `"llama2"`, `"llama3"`, `"mistral"`. A text without `{` is taken for a name; no file is read. The template
    /// is not parsed here.
    ///
    /// Raises `ValueError` for a name that is not known, and `FormatError` for a template of more than 1 MiB, a
    /// name of more than 255 bytes, and more than 100 templates.
    ///
    /// >>> tok = tokenmill.Tokenizer.from_tokens([b"a"]).with_chat_template("chatml")
    /// >>> "<|im_start|>" in tok.chat_templates["default"]
    /// True
    /// >>> tok.with_chat_template(None).chat_templates
    /// {}
    #[pyo3(signature = (source, name = "default"))]
    fn with_chat_template(&self, py: Python<'_>, source: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let mut templates = self.engine.description().chat_templates.clone();
        if source.is_none() {
            templates.remove(name);
        } else {
            let Ok(source) = source.cast::<PyString>() else {
                return Err(not_a_source(source)?);
            };
            let mut source: String = source.extract()?;
            if !source.contains('{') {
                source = late::BUILTIN_TEMPLATES.get(py)?.call_method1("source_of", (source,))?.extract()?;
            }
            templates.set(name, &source).map_err(|error| raise(py, error.at("chat_templates")))?;
        }
        Ok(self.with_engine(py, self.engine.with_chat_templates(templates)))
    }
}
