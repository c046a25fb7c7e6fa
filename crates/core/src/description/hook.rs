//! The hooks that a description names, and their positions.
use super::hook_name::HookName;
use super::{Description, Normalizer, PreTokenizer};
use crate::error::{Defect, Error, Result};

impl Description {
    /// The hooks of the normalizer, each with the index of its step.
    pub fn normalizer_hooks(&self) -> impl Iterator<Item = (usize, &HookName)> {
        self.normalizer.iter().enumerate().filter_map(|(i, step)| match step {
            Normalizer::Hook(name) => Some((i, name)),
            _ => None,
        })
    }

    /// The hooks of the pre-tokenizer, each with the index of its step.
    pub fn splitter_hooks(&self) -> impl Iterator<Item = (usize, &HookName)> {
        self.pre_tokenizer.iter().enumerate().filter_map(|(i, step)| match step {
            PreTokenizer::Hook(name) => Some((i, name)),
            _ => None,
        })
    }

    /// The names of all hooks, those of the normalizer first.
    pub fn hooks(&self) -> impl Iterator<Item = &HookName> {
        self.normalizer_hooks().chain(self.splitter_hooks()).map(|(_, name)| name)
    }

    /// Checks that every hook has a name. A saved or pickled tokenizer finds its hooks by name.
    ///
    /// # Errors
    /// A format error at the first hook without a name.
    pub fn check_hooks_have_names(&self) -> Result<()> {
        let nameless = |(_, name): &(usize, &HookName)| name.name().is_none();
        let refuse = |method: &str, stage: &str, at: usize| {
            let reason = format!(
                "a hook without a name cannot be kept, as nothing could find it again; give it one: \
                 {method}(function, name=...)"
            );
            Err(Error::format(Defect::CannotHold, reason).at_index(at).at(stage))
        };
        if let Some((at, _)) = self.normalizer_hooks().find(nameless) {
            return refuse("with_normalizer", "normalizer", at);
        }
        match self.splitter_hooks().find(nameless) {
            Some((at, _)) => refuse("with_splitter", "pre_tokenizer", at),
            None => Ok(()),
        }
    }

    /// Checks that no name is empty, and that no name is both a normalizer and a splitter.
    pub(super) fn validate_hooks(&self) -> Result<()> {
        let empty = |(_, name): &(usize, &HookName)| name.name() == Some("");
        let defect = |at: usize, stage: &str, defect, reason: String| {
            Err(Error::format(defect, reason).at("name").at_index(at).at(stage))
        };
        let reason = || "the name of a hook is empty".to_owned();
        if let Some((at, _)) = self.normalizer_hooks().find(empty) {
            return defect(at, "normalizer", Defect::Empty, reason());
        }
        if let Some((at, _)) = self.splitter_hooks().find(empty) {
            return defect(at, "pre_tokenizer", Defect::Empty, reason());
        }
        for (at, name) in self.splitter_hooks() {
            if self.normalizer_hooks().any(|(_, other)| other.name().is_some() && other == name) {
                let reason = format!(
                    "{name} is a normalizer already; a function cannot be both, so give it another name"
                );
                return defect(at, "pre_tokenizer", Defect::Duplicate, reason);
            }
        }
        Ok(())
    }
}
