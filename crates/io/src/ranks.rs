//! Do the ids of byte-level tokens rank their merges? Formats of ranks hold nothing else.
use tokenmill_core::compile::compile;
use tokenmill_core::description::{BpeDescription, Description, Merges, Split, TokenList};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;

/// Does a model that merges by id, and takes a pretoken that is a token whole, give the ids of this tokenizer?
/// `tokens` are the tokens of that model: those of the tokenizer, or all but some added tokens.
///
/// A list with every way to join a token's parts differs from the shorter list that ids stand for. Both give the same
/// ids if texts use the same merges in the same order.
///
/// # Errors
/// An error of compiling the other model; a format error for another model than byte-pair encoding.
pub(crate) fn are_ids(engine: &Engine, tokens: TokenList) -> Result<bool> {
    let description = engine.description();
    let split = description.split().unwrap_or(Split::Whole);
    let model = engine.bpe()?.clone();
    let model =
        BpeDescription { merges: Merges::ById, whole_pretokens: true, tokens: tokens.into(), ..model };
    let by_id = compile(Description::of_bpe(&split, model))?;
    let (by_id_model, own) = (by_id.canonical().model, engine.canonical().model);
    if by_id_model == own {
        return Ok(true);
    }
    let takes_whole = |model: &tokenmill_core::description::ModelDescription| {
        model.as_bpe().is_some_and(|model| model.whole_pretokens)
    };
    Ok(takes_whole(&by_id_model) == takes_whole(&own)
        && by_id.merges().is_ok_and(|merges| by_id.merges_by(&merges) && engine.merges_by(&merges)))
}
