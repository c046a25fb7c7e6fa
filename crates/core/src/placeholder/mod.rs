//! Placeholder text: an n-gram model of ids, and text drawn from it.
//!
//! In: a corpus of ids; then an amount of text and a seed. Out: text in which every token follows the one or two tokens
//! before it as it does somewhere in the corpus. The same model and seed must give the same text on every machine, so
//! there are whole numbers only.
//!
//! `train` counts the n-grams of a corpus, `model` holds them in flat arrays and looks them up, `token_bytes` is its
//! decoder. `walk` draws one token after another and `generate` turns them into text: `spelling` finds the tokens of
//! the text to begin with, `sentences` finds words and ends of sentences, `closing` ends a text that was cut.
mod closing;
mod generate;
mod model;
mod sentences;
mod spelling;
#[cfg(test)]
mod tests;
mod token_bytes;
mod train;
mod walk;

pub use generate::{Amount, Request, Start};
pub use model::{NGramModel, Order, SECTIONS, Sizes};
