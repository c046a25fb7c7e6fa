//! `Tokenizer.load_report`: the findings of loading.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokenmill_io::Report;

/// The findings of `tokenmill.load`: the files that were read, tolerated defects, and decisions.
#[pyclass(frozen, module = "tokenmill")]
pub(crate) struct LoadReport(Report);

/// A defect that `tokenmill.load` tolerated. With `strict=True` it is a `FormatError` with the same
/// kind, file, field and reason.
#[pyclass(frozen, eq, hash, module = "tokenmill", get_all)]
#[derive(PartialEq, Hash)]
pub(crate) struct LoadFinding {
    /// The kind of defect, a stable word.
    kind: String,
    /// The name of the file.
    file: String,
    /// The field or line in the file.
    field: String,
    /// What was found, and how it was read.
    reason: String,
}

impl LoadReport {
    pub(crate) fn new(report: Report) -> Self {
        Self(report)
    }
}

#[pymethods]
impl LoadReport {
    /// The parts that each file supplied, by the name of the file; a new dict at every access.
    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (name, what) in self.0.files() {
            files.set_item(name, what)?;
        }
        Ok(files)
    }

    /// The tolerated defects, in order; a new list at every access. Of many defects of one kind in
    /// one place the first hundred are listed.
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

    /// The decisions made, with reasons; a new list at every access.
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
