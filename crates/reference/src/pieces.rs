//! Byte-pair encoding by score, as SentencePiece defines it.
use std::collections::HashMap;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoredPieceKind {
    /// Text may become this piece.
    Normal,
    /// Text never becomes it.
    Reserved,
    /// It is always kept whole.
    UserDefined,
    /// It is split again if merging produces it.
    Unused,
}

/// A piece of the vocabulary.
#[derive(Debug, Clone)]
pub struct ScoredPiece {
    /// Its text.
    pub text: String,
    /// Higher scores merge first.
    pub score: f32,
    /// Its kind.
    pub kind: ScoredPieceKind,
}

/// A part of the text: the index of its piece, or `None` if it is no piece.
pub type EncodedPiece = (Option<usize>, String);

/// The parts of a text: again and again the two neighbours whose joined text is the piece with the
/// highest score, the leftmost of equal ones. Cost: quadratic in the text, times the vocabulary.
pub fn encode_pieces(pieces: &[ScoredPiece], text: &str) -> Vec<EncodedPiece> {
    let find = |text: &str| {
        pieces.iter().position(|piece| piece.text == text && piece.kind != ScoredPieceKind::Reserved)
    };
    let mut symbols = frozen_and_characters(pieces, text);
    // For each unused piece, the two parts of its last occurrence anywhere in the text.
    let mut splits: HashMap<String, (String, String)> = HashMap::new();
    let mut see = |symbols: &[(String, bool)], left: usize| {
        let [(left, false), (right, false)] = &symbols[left..left + 2] else { return };
        let joined = format!("{left}{right}");
        if find(&joined).is_some_and(|piece| pieces[piece].kind == ScoredPieceKind::Unused) {
            splits.insert(joined, (left.clone(), right.clone()));
        }
    };
    for left in 1..symbols.len() {
        see(&symbols, left - 1);
    }
    loop {
        let mut best: Option<(usize, usize)> = None;
        for left in 1..symbols.len() {
            let [(a, false), (b, false)] = &symbols[left - 1..=left] else { continue };
            let Some(piece) = find(&format!("{a}{b}")) else { continue };
            if best.is_none_or(|(_, other)| pieces[piece].score.total_cmp(&pieces[other].score).is_gt()) {
                best = Some((left - 1, piece));
            }
        }
        let Some((left, piece)) = best else { break };
        symbols.splice(left..left + 2, [(pieces[piece].text.clone(), false)]);
        if left > 0 {
            see(&symbols, left - 1);
        }
        if left + 1 < symbols.len() {
            see(&symbols, left);
        }
    }
    let mut parts = Vec::new();
    for (symbol, _) in symbols {
        split(symbol, &splits, &mut |text| {
            let piece = find(&text).filter(|&piece| pieces[piece].kind != ScoredPieceKind::Unused);
            parts.push((piece, text));
        });
    }
    parts
}

/// The longest user-defined piece at each place, or a character; is it frozen?
fn frozen_and_characters(pieces: &[ScoredPiece], mut text: &str) -> Vec<(String, bool)> {
    let mut symbols = Vec::new();
    while let Some(char) = text.chars().next() {
        let user = pieces.iter().filter(|piece| piece.kind == ScoredPieceKind::UserDefined);
        let longest = user.filter(|piece| text.starts_with(&piece.text)).max_by_key(|piece| piece.text.len());
        let symbol = longest.map_or(char.to_string(), |piece| piece.text.clone());
        text = &text[symbol.len()..];
        symbols.push((symbol, longest.is_some()));
    }
    symbols
}

fn split(symbol: String, splits: &HashMap<String, (String, String)>, emit: &mut impl FnMut(String)) {
    match splits.get(&symbol) {
        Some((left, right)) => {
            split(left.clone(), splits, emit);
            split(right.clone(), splits, emit);
        }
        None => emit(symbol),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(pieces: &[(&str, f32, ScoredPieceKind)], text: &str) -> String {
        let pieces: Vec<ScoredPiece> = pieces
            .iter()
            .map(|&(text, score, kind)| ScoredPiece { text: text.into(), score, kind })
            .collect();
        let parts = encode_pieces(&pieces, text);
        let written =
            parts.into_iter().map(|(piece, text)| if piece.is_some() { text } else { format!("?{text}") });
        written.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_sentencepiece_gives() {
        use ScoredPieceKind::{Normal, Reserved, Unused, UserDefined};
        let few = [("a", -1.0, Normal), ("b", -2.0, Normal), ("ab", -3.0, Unused), ("abc", 0.0, Normal)];
        assert_eq!(spelled(&few, "ab"), "a b");
        assert_eq!(spelled(&few, "abcx"), "abc ?x");
        let reserved = [("a", -1.0, Normal), ("b", -2.0, Reserved), ("ab", -3.0, Normal)];
        assert_eq!(spelled(&reserved, "abb"), "ab ?b");
        let user = [("c", -9.0, Normal), ("ab", -1.0, UserDefined), ("cab", 0.0, Normal)];
        assert_eq!(spelled(&user, "cab"), "c ab");
    }
}
