//! What a description makes of a pretoken, by the textbook algorithms.
use tokenmill_reference::{Chars, ScoredPiece, ScoredPieceKind, best, encode, encode_pieces, wordpiece};

use crate::description::{
    Alphabet, BpeDescription, Description, EndOfWordForm, Merges, ModelDescription, PieceKind,
    UnigramDescription,
};
use crate::ids::TokenId;

/// A model whose tokens are all text. Symbols are places in the list of tokens.
pub(super) struct Naive {
    ids: Vec<TokenId>,
    tokens: Vec<String>,
    unk: Option<TokenId>,
    rule: Rule,
}

enum Rule {
    Listed {
        chars: Chars,
        mark: Option<usize>,
        merges: Vec<(usize, usize, usize)>,
        whole_pretokens: bool,
    },
    Scored {
        pieces: Vec<ScoredPiece>,
        is_bytes: bool,
        fuse_unk: bool,
        byte_fallback: bool,
        whole_pretokens: bool,
    },
    LongestFirst {
        prefix: String,
        max_chars: usize,
    },
    Whole,
    BestPath {
        pieces: Vec<(String, f64)>,
        unk_score: f64,
        round: fn(f64) -> f64,
    },
}

impl Naive {
    pub(super) fn new(description: &Description) -> Self {
        let list = description.model.tokens();
        let text = |(_, bytes): (TokenId, &[u8])| String::from_utf8(bytes.to_vec()).unwrap();
        let tokens: Vec<String> = list.iter().map(text).collect();
        let rule = match &description.model {
            ModelDescription::Bpe(model) => of_bpe(model, &tokens),
            ModelDescription::WordPiece(model) => {
                Rule::LongestFirst { prefix: model.continuing_prefix.clone(), max_chars: model.max_chars }
            }
            ModelDescription::WordLevel(_) => Rule::Whole,
            ModelDescription::Unigram(model) => of_unigram(model, &tokens),
        };
        Self { ids: list.ids().to_vec(), tokens, unk: description.model.unk(), rule }
    }

    fn find(&self, token: &str) -> Option<TokenId> {
        let index = self.tokens.iter().position(|other| other == token)?;
        Some(self.ids[index])
    }

    /// The ids; `None` where a character has no token and there is no unknown one.
    pub(super) fn spell(&self, text: &str) -> Option<Vec<TokenId>> {
        if text.is_empty() {
            return Some(Vec::new());
        }
        let id = |index: usize| self.ids[index];
        match &self.rule {
            Rule::Listed { whole_pretokens: true, .. } | Rule::Scored { whole_pretokens: true, .. }
                if self.find(text).is_some() =>
            {
                Some(vec![self.find(text)?])
            }
            Rule::Listed { chars, mark, merges, .. } => {
                let symbols = chars.symbols(text).ok()?.into_iter().map(|(symbol, _)| symbol).chain(*mark);
                Some(encode(&symbols.collect::<Vec<_>>(), merges).into_iter().map(id).collect())
            }
            // A byte that is no token ends all; a character that is none may still be part of one.
            Rule::Scored { pieces, is_bytes: true, .. }
                if text.chars().any(|char| pieces.iter().all(|piece| piece.text != char.to_string())) =>
            {
                None
            }
            Rule::Scored { pieces, fuse_unk, byte_fallback, .. } => {
                let mut row = Row::default();
                for (piece, text) in encode_pieces(pieces, text) {
                    let bytes: Option<Vec<TokenId>> =
                        text.bytes().map(|byte| self.find(&format!("<0x{byte:02X}>"))).collect();
                    match (piece, bytes.filter(|_| *byte_fallback)) {
                        (Some(piece), _) => row.put([id(piece)]),
                        (None, Some(bytes)) => row.put(bytes),
                        (None, None) => row.put_unknown(self.unk?, *fuse_unk),
                    }
                }
                Some(row.ids)
            }
            Rule::LongestFirst { prefix, max_chars } => {
                match wordpiece(text, &self.tokens, prefix, *max_chars) {
                    Some(parts) => Some(parts.into_iter().map(|(token, _)| id(token)).collect()),
                    None => Some(vec![self.unk?]),
                }
            }
            Rule::Whole => Some(vec![self.find(text).or(self.unk)?]),
            Rule::BestPath { pieces, unk_score, round } => {
                let mut row = Row::default();
                for (piece, _) in best(text, pieces, *unk_score, *round).parts {
                    match piece {
                        Some(piece) => row.put([id(piece)]),
                        None => row.put_unknown(self.unk?, true),
                    }
                }
                Some(row.ids)
            }
        }
    }
}

/// Ids, the last of which may be the unknown one.
#[derive(Default)]
struct Row {
    ids: Vec<TokenId>,
    ends_unknown: bool,
}

impl Row {
    fn put(&mut self, ids: impl IntoIterator<Item = TokenId>) {
        self.ids.extend(ids);
        self.ends_unknown = false;
    }

    /// Neighbours that are unknown may be one token.
    fn put_unknown(&mut self, unk: TokenId, fuse: bool) {
        if !(fuse && self.ends_unknown) {
            self.ids.push(unk);
        }
        self.ends_unknown = true;
    }
}

fn of_bpe(model: &BpeDescription, tokens: &[String]) -> Rule {
    let (fuse_unk, byte_fallback, whole_pretokens) =
        (model.fuse_unk, model.byte_fallback, model.whole_pretokens);
    let scored = |piece: &dyn Fn(usize) -> (f32, PieceKind)| {
        let kind = |kind| match kind {
            PieceKind::Normal => ScoredPieceKind::Normal,
            PieceKind::UserDefined => ScoredPieceKind::UserDefined,
            PieceKind::Unused => ScoredPieceKind::Unused,
            PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => ScoredPieceKind::Reserved,
        };
        let piece = |(index, text): (usize, &String)| {
            let (score, of) = piece(index);
            ScoredPiece { text: text.clone(), score, kind: kind(of) }
        };
        let pieces = tokens.iter().enumerate().map(piece).collect();
        let is_bytes = model.alphabet == Alphabet::Bytes;
        Rule::Scored { pieces, is_bytes, fuse_unk, byte_fallback, whole_pretokens }
    };
    let merges = match &model.merges {
        // The lowest id is the highest score.
        Merges::ById => return scored(&|index| (-f32::from(index as u16), PieceKind::Normal)),
        Merges::ByScore { scores, kinds } => return scored(&|index| (scores[index], kinds[index])),
        Merges::Listed(merges) => merges,
    };
    let at = |id: TokenId| model.tokens.index_of(id).unwrap();
    let end_of_word = match &model.alphabet {
        Alphabet::Chars { end_of_word } => end_of_word.as_ref(),
        Alphabet::Bytes => None,
    };
    let symbol = |form| end_of_word.filter(|mark| mark.form == form).map(|mark| mark.symbol.as_str());
    let chars = Chars {
        tokens: tokens.to_vec(),
        prefix: model.continuing_prefix.clone().unwrap_or_default(),
        suffix: symbol(EndOfWordForm::Suffix).unwrap_or_default().to_owned(),
        unk: model.unk.map(at),
        fuse_unk,
        byte_fallback,
    };
    let mark = symbol(EndOfWordForm::Separate).map(|symbol| model.tokens.find(symbol.as_bytes()).unwrap());
    let merges = merges.iter().map(|merge| (at(merge.left), at(merge.right), at(merge.result))).collect();
    Rule::Listed { chars, mark, merges, whole_pretokens }
}

fn of_unigram(model: &UnigramDescription, tokens: &[String]) -> Rule {
    // Of pieces that are listed again the last one counts; no text has an empty one.
    let counts = |index, text: &str| model.tokens.find(text.as_bytes()) == Some(index);
    let text =
        |(index, text): (usize, &String)| if counts(index, text) { text.clone() } else { String::new() };
    let pieces = tokens.iter().enumerate().map(text).zip(model.scores.iter().copied()).collect();
    #[allow(clippy::cast_possible_truncation)] // rounded to single precision
    let round: fn(f64) -> f64 = if model.single_precision { |sum| f64::from(sum as f32) } else { |sum| sum };
    Rule::BestPath { pieces, unk_score: model.unk_score, round }
}
