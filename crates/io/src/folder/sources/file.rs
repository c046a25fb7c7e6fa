//! A tokenizer.json with a model only.
use crate::tokenizer_json::{File, Kind, Model, VocabEntries};

pub(super) fn model(kind: Kind, vocab: VocabEntries<'static>) -> Model<'static> {
    Model { name: Some(kind.name().to_owned()), vocab: Some(vocab), ..Model::default() }
}

pub(super) fn of_model(model: Model<'static>) -> File<'static> {
    File { model, ..File::default() }
}
