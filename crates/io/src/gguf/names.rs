//! Properties of tokens that llama.cpp derives from their names.

/// Tokens that end a turn or frame code infilling: always control tokens, even if the file says otherwise.
const CONTROL: [&str; 34] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
    "<|eom_id|>",
    "<|return|>",
    "<|call|>",
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|fim_pad|>",
    "<|fim_repo|>",
    "<|file_sep|>",
];

/// Is this a control token by its name?
pub(super) fn is_control(token: &str) -> bool {
    CONTROL.contains(&token)
}

/// Which tokens include the white space after them.
pub(super) struct TakesSpace(bool);

impl TakesSpace {
    /// The tokens of a model with this lower-case name: only Phi-3 has such tokens.
    pub(super) fn of(model_name: &str) -> Self {
        Self(model_name.contains("phi-3") || model_name.contains("phi3"))
    }

    /// Does this token include the white space after it?
    pub(super) fn after(&self, token: &str) -> bool {
        self.0 && !["<unk>", "<s>", "<|endoftext|>"].contains(&token)
    }
}
