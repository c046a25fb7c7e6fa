//! `tokenmill._core`: converts types and errors between Rust and Python, without logic.
#![allow(clippy::doc_link_with_quotes)] // examples in docstrings are Python
// Arguments are passed from Python by value.
#![allow(clippy::needless_pass_by_value)]

mod appender;
mod argument_place;
mod argument_values;
mod arrays;
mod buffer;
mod call;
mod chunk_stream;
mod columns;
mod constructors;
mod cpu;
mod difference;
mod encoded_rows;
mod encoding;
mod exceptions;
mod growing;
mod hooks;
mod ids;
mod inputs;
mod intervals;
mod late;
mod limits;
mod load;
mod load_report;
mod manifest;
mod model_inputs;
mod ngram_model;
mod not_text;
mod output;
mod prepender;
mod pretoken_counts;
mod ready_ids;
mod sequences;
mod signature;
mod sources;
mod stream;
mod text;
mod tokenizer;
mod train;
mod train_options;
mod training_report;
mod untrusted;
mod watch;

/// The compiled part of tokenmill.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::appender::Appender;
    #[pymodule_export]
    use super::arrays::{best_fit_windows, flat_rows, mask_rows, pad_rows, position_rows};
    #[pymodule_export]
    use super::columns::{ArrowBatch, ArrowStream};
    #[pymodule_export]
    use super::cpu::force_cpu;
    #[pymodule_export]
    use super::difference::{compare_tokenizers, written_stages};
    #[pymodule_export]
    use super::encoded_rows::{EncodedRows, encoded_rows_from_state};
    #[pymodule_export]
    use super::encoding::{Encoding, encoding_from_state};
    #[pymodule_export]
    use super::growing::Snapshot;
    #[pymodule_export]
    use super::hooks::register_hook;
    #[pymodule_export]
    use super::inputs::encode_inputs;
    #[pymodule_export]
    use super::intervals::IntervalCounter;
    #[pymodule_export]
    use super::load::{from_state, from_tokenizer_json, load_file};
    #[pymodule_export]
    use super::load_report::{LoadFinding, LoadReport};
    #[pymodule_export]
    use super::manifest::{manifest_of_folder, verify_folder};
    #[pymodule_export]
    use super::ngram_model::NGramModel;
    #[pymodule_export]
    use super::not_text::not_text;
    #[pymodule_export]
    use super::prepender::Prepender;
    #[pymodule_export]
    use super::pretoken_counts::{
        PretokenTable, count_files, count_texts, known_split, special_literals, train_counts,
    };
    #[pymodule_export]
    use super::ready_ids::ReadyIds;
    #[pymodule_export]
    use super::sources::json_lines;
    #[pymodule_export]
    use super::stream::DecodeStream;
    #[pymodule_export]
    use super::tokenizer::Tokenizer;
    #[pymodule_export]
    use super::train::{train_files, train_texts};
    #[pymodule_export]
    use super::training_report::TrainingReport;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::buffer::document(&module.py().get_type::<Tokenizer>(), "__call__", super::tokenizer::CALL)?;
        super::late::make_early(module)
    }
}
