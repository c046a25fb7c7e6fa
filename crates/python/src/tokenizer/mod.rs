//! `tokenmill.Tokenizer`, by purpose: construction, lookup, encoding and decoding.
mod arrow;
mod budget;
mod call;
mod chat;
mod conversations;
mod cutting;
mod decode;
mod encode;
mod explain;
mod find_added;
mod make;
mod paths;
mod roles;
mod surgery;
mod tables;
mod usage;

pub(crate) use call::CALL;

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tokenmill_core::compile::compile_with_additions;
use tokenmill_core::description::{Additions, Description, HookName, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::pattern::named_splits;
use tokenmill_io::fingerprint::Digests;
use tokenmill_io::{Annotations, SaveOptions};
use tokenmill_kernels::MadeOnce;

use crate::argument_values;
use crate::exceptions::raise;
use crate::hooks::PyHooks;
use crate::late;
use crate::load_report::LoadReport;
use crate::ready_ids::ReadyIds;
use crate::signature::CallSignature;
use crate::training_report::TrainingReport;
use crate::watch::run_long;

/// A tokenizer: text to ids and back.
///
/// It never changes; methods that modify return a new one. It may be shared between threads, forked
/// and pickled. Make one with `tokenmill.train`, `tokenmill.load` or the constructors
/// `from_tokens`, `from_merges` and `from_pairs`. Called with a text or a list of texts, it returns
/// input of a model: special tokens, truncation and padding (`help(Tokenizer.__call__)`).
#[pyclass(frozen, module = "tokenmill")]
pub(crate) struct Tokenizer {
    engine: Arc<Engine>,
    /// The ids as Python objects. They hold no references, so they are never part of a cycle.
    ready_ids: Py<ReadyIds>,
    report: Option<Py<TrainingReport>>,
    load_report: Option<Py<LoadReport>>,
    /// The functions that the engine calls.
    hooks: PyHooks,
    /// The name that the split was asked for by. The pattern alone does not tell llama3 from cl100k.
    split_name: Option<&'static str>,
    /// What is known of it without effect on what it does: for manifests.
    annotations: Arc<Annotations>,
    /// The folder of images that it was loaded with. Unpickled copies use it, too.
    image_dir: Option<PathBuf>,
    /// The binary form of the tokenizer's behaviour, made at the first comparison. Two threads may
    /// both make it; neither waits for the other.
    identity: MadeOnce<Vec<u8>>,
    /// The hashes of the tokenizer's behaviour, made when they are first asked for, as `identity` is.
    digests: MadeOnce<Digests>,
    /// Tables that `tokenmill.chat` makes for this tokenizer. They do not refer to it, so they are never part of a
    /// cycle.
    chat_tables: MadeOnce<Py<PyDict>>,
}

impl Tokenizer {
    pub(crate) fn new(py: Python<'_>, engine: Engine, report: Option<Py<TrainingReport>>) -> PyResult<Self> {
        Ok(Self {
            ready_ids: ReadyIds::new(py, engine.vocabulary())?,
            engine: Arc::new(engine),
            report,
            load_report: None,
            hooks: PyHooks::default(),
            split_name: None,
            annotations: Arc::default(),
            image_dir: None,
            identity: MadeOnce::new(),
            digests: MadeOnce::new(),
            chat_tables: MadeOnce::new(),
        })
    }

    pub(crate) fn with_hooks(self, hooks: PyHooks) -> Self {
        Self { hooks, ..self }
    }

    pub(crate) fn with_split_name(self, split_name: Option<&'static str>) -> Self {
        Self { split_name, ..self }
    }

    pub(crate) fn with_load_report(self, report: Py<LoadReport>) -> Self {
        Self { load_report: Some(report), ..self }
    }

    pub(crate) fn with_annotations(self, annotations: Annotations) -> Self {
        Self { annotations: Arc::new(annotations), ..self }
    }

    pub(crate) fn with_image_dir(self, image_dir: Option<PathBuf>) -> Self {
        Self { image_dir, ..self }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    fn identity(&self, py: Python<'_>) -> &[u8] {
        self.identity.get_or_make(|| py.detach(|| tokenmill_io::state::write(&self.engine.canonical())))
    }

    /// This tokenizer with another engine that has the same vocabulary and hooks.
    fn with_engine(&self, py: Python<'_>, engine: Engine) -> Self {
        Self {
            ready_ids: self.ready_ids.clone_ref(py),
            hooks: self.hooks.named_by(py, engine.description()),
            engine: Arc::new(engine),
            report: None,
            load_report: None,
            split_name: self.split_name,
            annotations: self.annotations.clone(),
            image_dir: self.image_dir.clone(),
            identity: MadeOnce::new(),
            digests: MadeOnce::new(),
            chat_tables: MadeOnce::new(),
        }
    }

    /// The annotations with those that a caller gives.
    fn annotated(&self, py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Annotations> {
        let Some(given) = given else { return Ok(Annotations::clone(&self.annotations)) };
        self.annotations.with_given(&argument_values::json(given)?).map_err(|error| raise(py, error))
    }

    fn build(
        py: Python<'_>,
        description: Description,
        additions: &Additions,
        hooks: &PyHooks,
        split_name: Option<&'static str>,
    ) -> PyResult<Self> {
        let table = hooks.table(py)?;
        let engine =
            run_long(py, None, |watch| compile_with_additions(description, additions, &table, watch))?;
        let hooks = hooks.named_by(py, engine.description());
        Ok(Self::new(py, engine, None)?.with_hooks(hooks).with_split_name(split_name))
    }
}

#[pymethods]
impl Tokenizer {
    /// What `inspect.signature(tok)` reads.
    #[classattr]
    #[pyo3(name = "__signature__")]
    fn signature() -> CallSignature {
        CallSignature
    }

    /// Saves the tokenizer atomically, with the same bytes every time.
    ///
    /// A folder (a name without an ending, or with one that holds a digit, as in `qwen2.5`) gets a
    /// tokenizer.json and a manifest, with tokenizer_config.json and files of chat templates where there are
    /// special tokens, roles, settings and templates; else the name decides: `*.json` is
    /// tokenizer.json, `*.tiktoken` ranks, `*.gguf` a GGUF file without tensors, `tekken.json` that of Mistral,
    /// `vocab.json` the pair vocab.json and merges.txt, `*.tokenmill` an image; `format` overrides the name. What a
    /// format cannot hold is a `FormatError`, unless `lossy=True`.
    ///
    /// An image has the tables of the tokenizer as they are in memory, so that loading it maps the file: some
    /// milliseconds for any vocabulary, and all processes share the memory. It holds everything but `manifest`, and
    /// is for this release of tokenmill on this type of machine; `load` refuses another one.
    ///
    /// `manifest` is what the manifest of the folder says that no tokenizer knows: `think_end_id`,
    /// `padding_side_train`, `padding_side_generate`, and `corpus` (any JSON). Loading the folder keeps it; None
    /// as a value takes it back. Another key, and a value that cannot be, is a `ManifestError`.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.save("low.json")
    /// >>> tokenmill.load("low.json") == tok
    /// True
    #[pyo3(signature = (path, *, format = None, lossy = false, manifest = None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        lossy: bool,
        manifest: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let annotations = self.annotated(py, manifest)?;
        let options = SaveOptions {
            format: argument_values::format(format)?,
            lossy,
            annotations: Some(&annotations),
            needs_manifest: manifest.is_some(),
            split_name: self.split_name,
        };
        run_long(py, None, |watch| tokenmill_io::save(&self.engine, &path, options, watch))
    }

    /// The manifest, as JSON, that saving into a new folder writes; `manifest` is as in `save`.
    #[pyo3(signature = (manifest = None))]
    fn _manifest(&self, py: Python<'_>, manifest: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let annotations = self.annotated(py, manifest)?;
        let options = SaveOptions {
            annotations: Some(&annotations),
            split_name: self.split_name,
            ..SaveOptions::default()
        };
        run_long(py, None, |watch| tokenmill_io::manifest_of(&self.engine, options, watch))
    }

    fn __len__(&self) -> usize {
        self.engine.vocabulary().len()
    }

    fn __repr__(&self) -> String {
        let special = self.engine.vocabulary().added().iter().filter(|token| token.is_special).count();
        let hooks: Vec<String> = self.engine.description().hooks().map(|hook| format!(", {hook}")).collect();
        format!(
            "Tokenizer(vocab_size={}, split={}, special_tokens={special}{})",
            self.vocab_size(),
            self.split().map_or("None".to_owned(), |split| format!("{split:?}")),
            hooks.concat()
        )
    }

    /// What a notebook shows.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        late::NOTEBOOK.get(slf.py())?.getattr("html_of_tokenizer")?.call1((slf,))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> bool {
        // Another type is never equal, even if its own `__eq__` says so.
        other.cast::<Self>().is_ok_and(|other| self.identity(py) == other.get().identity(py))
    }

    #[allow(clippy::disallowed_methods)] // it is short
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyBytes::new(py, self.identity(py)).hash()
    }

    /// The functions of Python that it calls: their names, None for one without.
    #[getter]
    fn _hook_names(&self) -> Vec<Option<String>> {
        let name = |hook: &HookName| match hook {
            HookName::Named(name) => Some(name.clone()),
            HookName::Unnamed(_) => None,
        };
        self.engine.description().hooks().map(name).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.engine.description().check_hooks_have_names().map_err(|error| raise(py, error))?;
        let state = py.detach(|| tokenmill_io::state::write(self.engine.description()));
        let from_state = py.import("tokenmill._core")?.getattr("from_state")?;
        let state = crate::buffer::objects::bytes(py, &state)?;
        // Annotations are left out: equal tokenizers have equal pickles, by which other libraries key their caches.
        // So is a name of the split that it has without being asked.
        let split = Split::of_stages(&self.engine.description().pre_tokenizer);
        let own = split.as_ref().and_then(named_splits::name_of);
        let split_name = self.split_name.filter(|&name| own != Some(name));
        let arguments = match &self.image_dir {
            None => (state, split_name).into_pyobject(py)?.into_any(),
            Some(folder) => (state, split_name, folder).into_pyobject(py)?.into_any(),
        };
        PyTuple::new(py, [from_state, arguments])
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.hooks.traverse(&visit)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}
