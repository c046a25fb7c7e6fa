//! `Tokenizer.load_report`: what loading found out.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokenmill_io::Report;

/// What `tokenmill.load` found out: which file gave what, what was tolerated, what was decided.
#[pyclass(frozen, module = "tokenmill")]
pub(crate) struct LoadReport(Report);

/// Something that `tokenmill.load` tolerated. With `strict=True` it is a `FormatError` of the same
/// kind, file, field and reason.
#[pyclass(frozen, eq, hash, module = "tokenmill", get_all)]
#[derive(PartialEq, Hash)]
pub(crate) struct LoadFinding {
    /// The sort of defect, a stable word.
    kind: String,
    /// The name of the file it is in.
    file: String,
    /// The place in that file.
    field: String,
    /// What was found, and what was made of it.
    reason: String,
}

impl LoadReport {
    pub(crate) fn new(report: Report) -> Self {
        Self(report)
    }
}

#[pymethods]
impl LoadReport {
    /// What each file gave, by the name of the file; a new dict at every access.
    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (name, what) in self.0.files() {
            files.set_item(name, what)?;
        }
        Ok(files)
    }

    /// What was tolerated, in the order in which it was found; a new list at every access. Of very
    /// many of one kind in one place the first hundred are listed.
    #[getter]
    fn tolerated<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let findings = self.0.tolerated().iter().map(|finding| LoadFinding {
            kind: finding.defect.as_str().to_owned(),
            file: finding.file.clone(),
            field: finding.field.clone(),
            reason: finding.reason.clone(),
        });
        PyList::new(py, findings.map(|finding| Bound::new(py, finding)).collect::<PyResult<Vec<_>>>()?)
    }

    /// What was decided, and why; a new list at every access.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    fn __repr__(&self) -> String {
        let mut lines = vec!["LoadReport".to_owned()];
        for (name, what) in self.0.files() {
            let what = if what.is_empty() { "nothing".to_owned() } else { what.join(", ") };
            lines.push(format!("  {name}: {what}"));
        }
        for finding in self.0.tolerated() {
            let (kind, file, field) = (finding.defect.as_str(), &finding.file, &finding.field);
            lines.push(format!("  tolerated ({kind}) in {file}, {field}: {}", finding.reason));
        }
        for note in self.0.notes() {
            lines.push(format!("  note: {note}"));
        }
        lines.join("\n")
    }
}

#[pymethods]
impl LoadFinding {
    fn __repr__(&self) -> String {
        let Self { kind, file, field, reason } = self;
        format!("LoadFinding(kind={kind:?}, file={file:?}, field={field:?}, reason={reason:?})")
    }
}
