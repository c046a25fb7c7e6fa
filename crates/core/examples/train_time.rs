//! Times training: `train_time FILE SPLIT VOCAB_SIZE THREADS [lines]`; SPLIT is a known name or
//! a pattern. Prints one line of numbers per phase. The text is in memory before the clock starts.
use std::time::Instant;

use tokenmill_core::pattern::named_splits::split_from;
use tokenmill_core::train::{BpeOptions, Target, TieBreak, TrainModel, TrainOptions, Trainer};
use tokenmill_core::watch::Unwatched;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, split, size, threads, rest @ ..] = args.as_slice() else {
        return Err("train_time FILE SPLIT VOCAB_SIZE THREADS [lines] [limit=BYTES] [tie=NAME]".into());
    };
    let mut text = std::fs::read_to_string(file)?;
    let mut options = TrainOptions::new(Target::VocabSize(size.parse()?), &split_from(split));
    options.num_threads = threads.parse()?;
    let mut model = BpeOptions::default();
    for option in rest {
        if let Some(limit) = option.strip_prefix("limit=") {
            let mut limit = limit.parse::<usize>()?.min(text.len());
            while !text.is_char_boundary(limit) {
                limit -= 1;
            }
            text.truncate(limit);
        }
        match option.as_str() {
            "tie=first-seen" => model.tie_break = TieBreak::FirstSeen,
            "tie=token-id" => model.tie_break = TieBreak::TokenId,
            "tie=huggingface" => model.tie_break = TieBreak::HuggingFace,
            _ => {}
        }
    }
    options.model = TrainModel::Bpe(model);
    let documents: Vec<&str> =
        if rest.iter().any(|word| word == "lines") { text.lines().collect() } else { vec![&text] };
    let start = Instant::now();
    let mut trainer = Trainer::new(options)?;
    trainer.feed(&documents, &Unwatched)?;
    let (description, report) = trainer.finish(&Unwatched)?;
    println!("all    {:8.3} s", start.elapsed().as_secs_f64());
    for (phase, time) in &report.phases {
        println!("{phase:6} {:8.3} s", time.as_secs_f64());
    }
    println!(
        "{} bytes, {} pretokens, {} distinct, {} merges, {} tokens, stopped early: {:?}",
        report.bytes,
        report.pretokens,
        report.distinct_pretokens,
        report.merge_counts.len(),
        description.model.tokens().len(),
        report.stopped_early,
    );
    Ok(())
}
