//! How each stage is implemented, and why.
use super::{Engine, Raw, Special};
use crate::description::{Alphabet, Merges, ModelDescription};
use crate::model::Model;
use crate::pattern::Plan;

/// One stage on the way from text to ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the stage does.
    pub stage: &'static str,
    /// How it does that in this tokenizer.
    pub path: String,
    /// What about this tokenizer decides that.
    pub reason: String,
}

fn step(stage: &'static str, path: impl Into<String>, reason: impl Into<String>) -> Step {
    Step { stage, path: path.into(), reason: reason.into() }
}

impl Engine {
    /// The stages in the order in which a text meets them; then how a text that grows is encoded.
    pub fn plan(&self) -> Vec<Step> {
        let mut steps = vec![self.plan_of_added_tokens()];
        let names: Vec<&str> = self.stages.normalizers.names().collect();
        steps.push(if names.is_empty() {
            step("normalization", "none", "the tokenizer has no normalizer")
        } else {
            let reason = "text that they leave as it is, is not copied";
            step("normalization", names.join(", "), reason)
        });
        steps.push(self.plan_of_split());
        let usage = self.memory_usage();
        let (parts, reason) = match &self.stages.raw {
            None => ("", ""),
            Some(Raw::Segments(_)) => (
                "segments before normalization: ",
                "nothing merges across them, and spaces are all that is changed before the model; ",
            ),
            Some(Raw::Pieces(_)) => (
                "pieces before the last steps of pre-tokenization: ",
                "a scanner runs the first steps, and the others look at one piece at a time; ",
            ),
            Some(Raw::Words(_)) => {
                ("words before normalization: ", "white space separates them, and no stage looks across it; ")
            }
        };
        let (tables, limit) = if usage.cache_bytes == 0 {
            ("static table alone", "cache_bytes is 0".to_owned())
        } else {
            let limit = format!("workers may hold {} bytes together (cache_bytes)", usage.cache_bytes);
            ("cache, then static table", limit)
        };
        let except = if self.stages.added_in_normalized.is_empty() || reason.is_empty() {
            ""
        } else {
            "not where added tokens are looked for in normalized text; "
        };
        let (path, reason) = (format!("{parts}{tables}"), format!("{reason}{except}{limit}"));
        steps.push(step("lookup of pretokens", path, reason));
        steps.push(self.plan_of_model());
        steps.push(match &self.stages.chain {
            None => step("decoding", "copied bytes", "each id stands for its own bytes"),
            Some(_) => step("decoding", "step by step", "the decoder changes what tokens say"),
        });
        steps.push(self.plan_of_growing());
        steps
    }

    fn plan_of_added_tokens(&self) -> Step {
        let (path, reason) =
            match (self.stages.added_in_raw.is_empty(), self.stages.added_in_normalized.is_empty()) {
                (true, true) => ("none", "there are none"),
                (false, true) => ("one search", "all of them are looked for in the text as it comes"),
                (true, false) => ("one search", "all of them are looked for in normalized text"),
                (false, false) => {
                    ("two searches", "some are looked for in the text as it comes, some in normalized text")
                }
            };
        step("added tokens", path, reason)
    }

    fn plan_of_split(&self) -> Step {
        let Some(splitter) = &self.stages.splitter else {
            let reason = "a step of pre-tokenization does more than split";
            return step("pre-tokenization", "step by step", reason);
        };
        let (passes, steps) = (splitter.passes(), self.description.pre_tokenizer.len());
        if passes > 1 {
            let reason = "each pass splits what the one before leaves; a scanner joins steps of simple classes with \
                          the step after them";
            return step("pre-tokenization", format!("{passes} passes, {}", splitter.plan()), reason);
        }
        let reason = match splitter.plan() {
            Plan::Scanner if steps > 1 => "one scanner finds what all splits leave of a text",
            Plan::Whole => "there is no pattern",
            Plan::Scanner => "each alternative of the pattern has a form that a scanner knows",
            Plan::Automaton { .. } => "an alternative of the pattern has a form that no scanner knows",
            Plan::Linear => "no scanner or automaton takes the pattern: it is too large, or has a rare form",
            Plan::Backtracking => {
                "no scanner or automaton takes the pattern, and it has look-around, references or possessive quantifiers"
            }
        };
        step("pre-tokenization", splitter.plan().to_string(), reason)
    }

    fn plan_of_growing(&self) -> Step {
        let (path, reason) = if self.grows(&Special::Text) {
            (
                "pretoken by pretoken",
                "no stage looks at more than a pretoken, and a scanner can wait for text",
            )
        } else if self.has_text_cuts() {
            ("word by word", "any text may be cut at some places, such as a space between two letters")
        } else if self.splitter().is_some_and(|splitter| !splitter.grows()) {
            ("the whole text again", "no scanner splits the text, and only a scanner can wait for more of it")
        } else {
            ("the whole text again", "a stage looks at more than a pretoken")
        };
        step("appending", path, reason)
    }

    fn plan_of_model(&self) -> Step {
        let (path, reason) = match (&self.stages.model, &self.description.model) {
            (Model::Bpe(compiled), ModelDescription::Bpe(bpe)) => match (&bpe.merges, &bpe.alphabet) {
                (Merges::ByScore { .. }, _) => {
                    ("BPE by score", "any two neighbours that are a piece together merge")
                }
                (_, Alphabet::Bytes) if compiled.canonical().is_some() => {
                    ("BPE over bytes, side by side", "every token is made by one merge")
                }
                (_, Alphabet::Bytes) if !compiled.is_byte_complete() => {
                    ("BPE over bytes, one by one", "a byte has no token")
                }
                (_, Alphabet::Bytes) => (
                    "BPE over bytes, one by one",
                    "tokens share an id or their parts, or one ranks below a part of it and no order says when it is made",
                ),
                (_, Alphabet::Chars { .. }) => {
                    ("BPE over characters", "the vocabulary has its tokens as characters")
                }
            },
            (Model::WordPiece(_), _) => ("longest match first", "the model is WordPiece"),
            (Model::WordLevel(_), _) => ("whole pretokens", "the model is WordLevel"),
            _ => ("best path", "the model is Unigram"),
        };
        step("model", path, reason)
    }
}
