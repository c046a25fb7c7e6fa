//! Templates for formats that only name the tokens before and after a sequence.
use tokenmill_core::description::{PostProcessor, Template, TemplatePiece, TemplateToken};
use tokenmill_core::ids::TokenId;

/// A special token: its written form and its id.
pub(crate) type Token<'a> = (&'a str, TokenId);

/// `before A after`, and the same around each of two sequences.
pub(crate) fn around(before: Option<Token<'_>>, after: Option<Token<'_>>) -> Vec<PostProcessor> {
    let sequence =
        |second, type_id| piece_row(before, TemplatePiece::Sequence { second, type_id }, after, type_id);
    let pair = [sequence(false, 0), sequence(true, 1)].concat();
    template(sequence(false, 0), pair, [before, after])
}

/// `open A close`, and `open A close B close` for two sequences, as in BERT.
pub(crate) fn bert(open: Option<Token<'_>>, close: Option<Token<'_>>) -> Vec<PostProcessor> {
    let single = piece_row(open, TemplatePiece::Sequence { second: false, type_id: 0 }, close, 0);
    let second = piece_row(None, TemplatePiece::Sequence { second: true, type_id: 1 }, close, 1);
    template(single.clone(), [single, second].concat(), [open, close])
}

fn piece_row(
    before: Option<Token<'_>>,
    sequence: TemplatePiece,
    after: Option<Token<'_>>,
    type_id: u32,
) -> Vec<TemplatePiece> {
    let special = |token: Token<'_>| TemplatePiece::Special { name: token.0.to_owned(), type_id };
    before.map(special).into_iter().chain([sequence]).chain(after.map(special)).collect()
}

fn template(
    single: Vec<TemplatePiece>,
    pair: Vec<TemplatePiece>,
    tokens: [Option<Token<'_>>; 2],
) -> Vec<PostProcessor> {
    let mut special_tokens: Vec<TemplateToken> = Vec::new();
    for (name, id) in tokens.into_iter().flatten() {
        if !special_tokens.iter().any(|token| token.name == name) {
            let tokens = vec![name.to_owned()];
            special_tokens.push(TemplateToken { name: name.to_owned(), ids: vec![id], tokens });
        }
    }
    if special_tokens.is_empty() {
        return Vec::new();
    }
    vec![PostProcessor::Template(Template { single, pair, special_tokens })]
}
