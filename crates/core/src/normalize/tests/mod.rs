//! The result of each step, and the characters that it stands for. The expected texts are those of
//! tokenizers 0.23.3 and sentencepiece 0.2.3, and so are the offsets, except for the differences
//! listed in docs/differences.md.
pub(crate) mod charsmap;
mod forms;
mod hook;
mod sentencepiece;
mod steps;

use super::*;
use crate::engine::{Text, char_offsets};

fn compiled(steps: &[Normalizer]) -> Result<Normalizers> {
    Normalizers::compile(steps, &Hooks::default())
}

/// The normalized text, and the characters of `text` that each of its characters stands for.
fn normalized(steps: &[Normalizer], text: &str) -> (String, Vec<(usize, usize)>) {
    through(&compiled(steps).unwrap(), text).unwrap()
}

fn through(normalizers: &Normalizers, text: &str) -> Result<(String, Vec<(usize, usize)>)> {
    let mut buffers = Default::default();
    let piece = AlignedText::original(text, 0);
    let piece = normalizers.apply(piece, &mut buffers, &mut Ticker::new(&Unwatched))?;
    let spans: Vec<Span> = piece
        .text
        .char_indices()
        .map(|(at, c)| piece.origins.span(Span::new(at, at + c.len_utf8())))
        .collect();
    assert_eq!(normalizers.apply_to(text)?, piece.text);
    Ok((piece.text.to_owned(), char_offsets(Text::Str(text), &spans, &Unwatched)?))
}

#[track_caller]
fn check(steps: &[Normalizer], text: &str, want: &str, offsets: &[(usize, usize)]) {
    assert_eq!(normalized(steps, text), (want.to_owned(), offsets.to_vec()), "{text:?}");
}
