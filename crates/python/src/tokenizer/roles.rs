//! The roles of tokens, and the defaults of a call.
use pyo3::prelude::*;
use tokenmill_core::description::Side;
use tokenmill_core::ids::TokenId;

use super::Tokenizer;

impl Tokenizer {
    fn written(&self, id: Option<TokenId>) -> Option<String> {
        self.engine.vocabulary().written(id?)
    }
}

#[pymethods]
impl Tokenizer {
    /// The id that begins a sequence, or None where the file names none.
    #[getter]
    fn bos_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.bos
    }

    /// The id that ends a sequence, or None where the file names none.
    #[getter]
    fn eos_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.eos
    }

    /// The id of padding, or None where the file names none. If it names no roles at all, a special
    /// token that is written like padding (`[PAD]`, `<pad>`) is it.
    #[getter]
    fn pad_token_id(&self) -> Option<TokenId> {
        self.engine.description().pad()
    }

    /// The id for text that the vocabulary cannot spell, or None.
    #[getter]
    fn unk_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.unk.or(self.engine.description().model.unk())
    }

    /// The id that separates two sequences, or None where the file names none.
    #[getter]
    fn sep_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.sep
    }

    /// The id that represents a whole text, or None where the file names none.
    #[getter]
    fn cls_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.cls
    }

    /// The id of a token to be predicted, or None where the file names none.
    #[getter]
    fn mask_token_id(&self) -> Option<TokenId> {
        self.engine.description().roles.mask
    }

    /// The token that begins a sequence, in its written form, or None: that of `bos_token_id`.
    #[getter]
    fn bos_token(&self) -> Option<String> {
        self.written(self.bos_token_id())
    }

    /// The token that ends a sequence, in its written form, or None: that of `eos_token_id`.
    #[getter]
    fn eos_token(&self) -> Option<String> {
        self.written(self.eos_token_id())
    }

    /// The token that is padding, in its written form, or None: that of `pad_token_id`.
    #[getter]
    fn pad_token(&self) -> Option<String> {
        self.written(self.pad_token_id())
    }

    /// The token for text that the vocabulary cannot spell, in its written form, or None: that of
    /// `unk_token_id`.
    #[getter]
    fn unk_token(&self) -> Option<String> {
        self.written(self.unk_token_id())
    }

    /// The token that separates two sequences, in its written form, or None: that of `sep_token_id`.
    #[getter]
    fn sep_token(&self) -> Option<String> {
        self.written(self.sep_token_id())
    }

    /// The token that represents a whole text, in its written form, or None: that of `cls_token_id`.
    #[getter]
    fn cls_token(&self) -> Option<String> {
        self.written(self.cls_token_id())
    }

    /// The token that is to be predicted, in its written form, or None: that of `mask_token_id`.
    #[getter]
    fn mask_token(&self) -> Option<String> {
        self.written(self.mask_token_id())
    }

    /// The side on which `tok(...)` pads: `"right"` or `"left"`, as the file says.
    #[getter]
    fn padding_side(&self) -> &'static str {
        side(self.engine.description().padding_side())
    }

    /// The side on which `tok(...)` cuts: `"right"` or `"left"`, as the file says.
    #[getter]
    fn truncation_side(&self) -> &'static str {
        side(self.engine.description().truncation_side())
    }

    /// The number of ids that the model takes at most, which `tok(...)` cuts and pads to where a call
    /// gives no `max_length`; None where the file names none. Only a folder's settings do.
    #[getter]
    fn model_max_length(&self) -> Option<usize> {
        self.engine.description().defaults.limits?.max_length
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Left => "left",
        Side::Right => "right",
    }
}
