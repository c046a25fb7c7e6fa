//! `Tokenizer.training_report`: the report of a training run.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokenmill_core::description::{Description, Merges};
use tokenmill_core::train::{self, StopReason};

use crate::buffer::objects;

/// The report of a training run.
#[pyclass(frozen, module = "tokenmill")]
pub(crate) struct TrainingReport {
    report: train::TrainingReport,
    merges: Vec<(Vec<u8>, Vec<u8>)>,
}

#[pymethods]
impl TrainingReport {
    /// Documents counted.
    #[getter]
    fn documents(&self) -> u64 {
        self.report.documents
    }

    /// Documents left out because they are not UTF-8 (`errors="skip"`).
    #[getter]
    fn skipped(&self) -> u64 {
        self.report.skipped_documents
    }

    /// Documents in which U+FFFD replaces invalid UTF-8 (`errors="replace"`).
    #[getter]
    fn replaced(&self) -> u64 {
        self.report.replaced_documents
    }

    /// Bytes of the documents counted.
    #[getter]
    fn bytes(&self) -> u64 {
        self.report.bytes
    }

    /// Pretokens counted.
    #[getter]
    fn pretokens(&self) -> u64 {
        self.report.pretokens
    }

    /// Distinct pretokens.
    #[getter]
    fn distinct_pretokens(&self) -> u64 {
        self.report.distinct_pretokens
    }

    /// Each merge as (left, right, count when it was chosen), in order; of WordPiece as the parts are written.
    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let merge = |((left, right), &count): (&(Vec<u8>, Vec<u8>), &u64)| {
            let count = objects::int(py, count as usize)?;
            let (left, right) = (objects::bytes(py, left)?.into_any(), objects::bytes(py, right)?.into_any());
            Ok(objects::tuple(py, [left, right, count])?.into_any())
        };
        let merges = self.merges.iter().zip(&self.report.merge_counts);
        objects::list(py, merges.len(), merges.map(merge))
    }

    /// Why there are fewer merges than requested (`"no-pair-left"`, `"min-frequency"`,
    /// `"max-token-length"`), or None.
    #[getter]
    fn stopped_early(&self) -> Option<&'static str> {
        self.report.stopped_early.map(StopReason::as_str)
    }

    /// Wall seconds by phase, in order.
    #[getter]
    fn phases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let phases = PyDict::new(py);
        for (name, duration) in &self.report.phases {
            phases.set_item(name, duration.as_secs_f64())?;
        }
        Ok(phases)
    }

    fn __repr__(&self) -> String {
        format!(
            "TrainingReport(documents={}, bytes={}, distinct_pretokens={}, merges={}, stopped_early={})",
            self.report.documents,
            self.report.bytes,
            self.report.distinct_pretokens,
            self.merges.len(),
            self.report.stopped_early.map_or("None".to_owned(), |reason| format!("{:?}", reason.as_str()))
        )
    }
}

impl TrainingReport {
    pub(crate) fn new(report: train::TrainingReport, description: &Description) -> Self {
        let tokens = description.model.tokens();
        let bytes = |id| tokens.index_of(id).map_or(Vec::new(), |index| tokens.bytes(index).to_vec());
        let merges = match description.model.as_bpe().map(|model| &model.merges) {
            Some(Merges::Listed(merges)) => {
                merges.iter().map(|merge| (bytes(merge.left), bytes(merge.right))).collect()
            }
            _ => report.wordpiece_merges.iter().map(|(l, r)| (l.clone().into(), r.clone().into())).collect(),
        };
        Self { report, merges }
    }
}
