//! Functions of the caller that serve as normalizer or splitter, and the table in which `compile`
//! finds them by name.
//!
//! In: the text as the previous stages left it, without added tokens. Out: a new text or cuts;
//! positions are in characters of the input text. Results are checked where they are used; no
//! result of a hook may cause a panic.
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::aligned::{AlignedText, Origins};
use crate::description::{Description, HookName};
use crate::error::{Defect, Error, Kind, Place, Result};
use crate::span::Span;

/// The result of a normalizer hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalized {
    /// A new text; it is aligned with the old text by comparison.
    Text(String),
    /// Pieces of the new text, each with the range of characters of the old text that it stands
    /// for. Neither starts nor ends decrease; a piece and its range may be empty.
    Pieces(Vec<(String, usize, usize)>),
}

/// The result of a splitter hook. Text between pieces is dropped; empty pieces are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cuts {
    /// Half-open ranges of characters, ascending and disjoint.
    Spans(Vec<(usize, usize)>),
    /// Pieces that occur in the text in this order.
    Pieces(Vec<String>),
}

/// A normalizer function. Called from any thread.
pub type NormalizeHook = Hook<dyn Fn(&str) -> Result<Normalized> + Send + Sync>;

/// A splitter function. Called from any thread.
pub type SplitHook = Hook<dyn Fn(&str) -> Result<Cuts> + Send + Sync>;

/// A function and its name.
pub struct Hook<F: ?Sized> {
    name: HookName,
    function: Arc<F>,
}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), function: Arc::clone(&self.function) }
    }
}

impl<F: ?Sized> fmt::Debug for Hook<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hook").field(&self.name).finish()
    }
}

impl<T> Hook<dyn Fn(&str) -> Result<T> + Send + Sync> {
    /// Calls the function for a piece.
    ///
    /// # Errors
    /// The function's error. A hook error without a position gets the start of the piece.
    pub(crate) fn call(&self, piece: AlignedText<'_>) -> Result<T> {
        (self.function)(piece.text).map_err(|mut error| {
            if let Kind::Hook { position: position @ None, .. } = &mut error.kind {
                *position = place(piece, 0);
            }
            error
        })
    }
}

impl<F: ?Sized> Hook<F> {
    /// The name of the hook.
    pub(crate) fn name(&self) -> &HookName {
        &self.name
    }

    /// The error for an invalid result, at a byte of the input piece.
    pub(crate) fn fault(&self, piece: AlignedText<'_>, at: usize, reason: impl Into<String>) -> Error {
        fault(&self.name, place(piece, at), reason)
    }
}

/// The error for an invalid result of a hook. `position` is known if the piece has origins.
pub fn fault(name: &HookName, position: Option<Place>, reason: impl Into<String>) -> Error {
    Kind::Hook { name: name.name().map(str::to_owned), position, reason: reason.into() }.into()
}

/// The position of a byte of a piece in the caller's text; `None` if origins are not tracked.
fn place(piece: AlignedText<'_>, at: usize) -> Option<Place> {
    match piece.origins {
        Origins::Untracked => None,
        origins => Some(Place::Byte(origins.span(Span::new(at, at)).start)),
    }
}

/// Hooks by name.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    normalizers: HashMap<HookName, NormalizeHook>,
    splitters: HashMap<HookName, SplitHook>,
}

impl Hooks {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.normalizers.is_empty() && self.splitters.is_empty()
    }

    /// Adds a normalizer; replaces one of the same name.
    pub fn add_normalizer(
        &mut self,
        name: HookName,
        function: impl Fn(&str) -> Result<Normalized> + Send + Sync + 'static,
    ) {
        self.normalizers.insert(name.clone(), Hook { name, function: Arc::new(function) });
    }

    /// Adds a splitter; replaces one of the same name.
    pub fn add_splitter(
        &mut self,
        name: HookName,
        function: impl Fn(&str) -> Result<Cuts> + Send + Sync + 'static,
    ) {
        self.splitters.insert(name.clone(), Hook { name, function: Arc::new(function) });
    }

    /// The normalizer with this name.
    ///
    /// # Errors
    /// A format error that says how to supply a missing hook.
    pub fn normalizer(&self, name: &HookName) -> Result<NormalizeHook> {
        self.normalizers.get(name).cloned().ok_or_else(|| missing(name))
    }

    /// The splitter with this name.
    ///
    /// # Errors
    /// As [`Self::normalizer`].
    pub fn splitter(&self, name: &HookName) -> Result<SplitHook> {
        self.splitters.get(name).cloned().ok_or_else(|| missing(name))
    }

    /// The hooks that a description names.
    #[must_use]
    pub fn named_by(&self, description: &Description) -> Self {
        let mut kept = Self::default();
        for (_, name) in description.normalizer_hooks() {
            kept.normalizers
                .extend(self.normalizers.get_key_value(name).map(|(k, v)| (k.clone(), v.clone())));
        }
        for (_, name) in description.splitter_hooks() {
            kept.splitters.extend(self.splitters.get_key_value(name).map(|(k, v)| (k.clone(), v.clone())));
        }
        kept
    }
}

fn missing(name: &HookName) -> Error {
    let reason = match name.name() {
        Some(name) => format!(
            "the hook {name:?} is a function that no file holds; bring it: hooks={{{name:?}: function}} when \
             loading, or tokenmill.register_hook({name:?}, function) before"
        ),
        None => "a hook without a name cannot be found again".to_owned(),
    };
    Error::format(Defect::Missing, reason).at("name")
}

/// Converts ascending character positions of a text to bytes, in one pass over the text in all.
pub(crate) struct Places<'t> {
    text: &'t str,
    character: usize,
    byte: usize,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, character: 0, byte: 0 }
    }

    /// The byte at which a character starts; the error is the number of characters in the text, if
    /// that is smaller. Positions must not decrease from call to call.
    pub(crate) fn byte(&mut self, character: usize) -> std::result::Result<usize, usize> {
        let rest = &self.text[self.byte..];
        let wanted = character.saturating_sub(self.character);
        if let Some((at, _)) = rest.char_indices().nth(wanted) {
            self.byte += at;
            self.character += wanted;
            return Ok(self.byte);
        }
        self.character += rest.chars().count();
        self.byte = self.text.len();
        if self.character == character { Ok(self.byte) } else { Err(self.character) }
    }
}
