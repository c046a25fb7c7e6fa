//! Training from documents to descriptions.
mod counts;
mod errors;
mod golden;
mod layout;
mod threads;
mod whole;

use super::{BpeOptions, Target, TrainModel, TrainOptions, Trainer, TrainingReport};
use crate::description::{Description, Merges, Split};
use crate::error::Result;
use crate::watch::Unwatched;

fn options(merges: usize) -> TrainOptions {
    TrainOptions::new(Target::NumMerges(merges), &Split::Whole)
}

/// The options of byte-pair encoding, without a split.
fn bpe(merges: usize, model: BpeOptions) -> TrainOptions {
    TrainOptions { model: TrainModel::Bpe(model), ..options(merges) }
}

fn train(options: TrainOptions, documents: &[&str]) -> Result<(Description, TrainingReport)> {
    let mut trainer = Trainer::new(options)?;
    trainer.feed(documents, &Unwatched)?;
    trainer.finish(&Unwatched)
}

fn train_counts(options: TrainOptions, pretokens: &[(&str, u64)]) -> (Description, TrainingReport) {
    let mut trainer = Trainer::new(options).unwrap();
    for &(pretoken, count) in pretokens {
        trainer.counter.add(pretoken, count).unwrap();
    }
    trainer.finish(&Unwatched).unwrap()
}

/// The merges as they are written in the golden table: `left+right count`.
fn merges((description, report): &(Description, TrainingReport)) -> Vec<String> {
    let Merges::Listed(merges) = &description.model.as_bpe().unwrap().merges else {
        panic!("training lists its merges")
    };
    assert_eq!(merges.len(), report.merge_counts.len());
    let tokens = description.model.tokens();
    let text = |id| String::from_utf8_lossy(tokens.bytes(tokens.index_of(id).unwrap())).into_owned();
    let counted = merges.iter().zip(&report.merge_counts);
    counted.map(|(merge, count)| format!("{}+{} {count}", text(merge.left), text(merge.right))).collect()
}
