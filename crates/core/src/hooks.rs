//! Functions of the caller's own that serve as normalizer or splitter: what they take and give, and
//! the table in which a compiler finds them by the name that a description has for them.
//!
//! A hook gets the text as the stages before left it, without added tokens. Places in what it gives
//! back are characters of that text. What it gives is checked where it is used; whatever it gives,
//! nothing panics.
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::aligned::{AlignedText, Origins};
use crate::description::{Description, HookName};
use crate::error::{Defect, Error, Kind, Place, Result};
use crate::span::Span;

/// What a normalizer made of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalized {
    /// A text; what its characters stand for is found by comparing it with the old one.
    Text(String),
    /// Pieces of the new text, each with the characters of the old one that it stands for. Neither
    /// starts nor ends go back; a piece may be empty, and so may what it stands for.
    Pieces(Vec<(String, usize, usize)>),
}

/// Where a splitter cuts a text. What lies between pieces is left out; empty ones are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cuts {
    /// Half-open intervals of characters, ascending, without overlap.
    Spans(Vec<(usize, usize)>),
    /// Pieces that stand in the text in this order.
    Pieces(Vec<String>),
}

/// A function that serves as normalizer. Called from any thread.
pub type NormalizeHook = Hook<dyn Fn(&str) -> Result<Normalized> + Send + Sync>;

/// A function that serves as splitter. Called from any thread.
pub type SplitHook = Hook<dyn Fn(&str) -> Result<Cuts> + Send + Sync>;

/// A function and what it goes by.
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
    /// What it makes of a piece.
    ///
    /// # Errors
    /// What the function gives as an error; what it says is wrong without saying where is wrong at
    /// the start of the piece.
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
    /// What it goes by.
    pub(crate) fn name(&self) -> &HookName {
        &self.name
    }

    /// The error of a wrong result at a byte of the piece that it was given.
    pub(crate) fn fault(&self, piece: AlignedText<'_>, at: usize, reason: impl Into<String>) -> Error {
        fault(&self.name, place(piece, at), reason)
    }
}

/// The error of a hook that gave something wrong; the place is known where a piece of the caller's
/// text is.
pub fn fault(name: &HookName, position: Option<Place>, reason: impl Into<String>) -> Error {
    Kind::Hook { name: name.name().map(str::to_owned), position, reason: reason.into() }.into()
}

/// Where a byte of a piece stands in the caller's text.
fn place(piece: AlignedText<'_>, at: usize) -> Option<Place> {
    match piece.origins {
        Origins::Untracked => None,
        origins => Some(Place::Byte(origins.span(Span::new(at, at)).start)),
    }
}

/// Functions by name.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    normalizers: HashMap<HookName, NormalizeHook>,
    splitters: HashMap<HookName, SplitHook>,
}

impl Hooks {
    /// Adds a normalizer, in place of one of the same name.
    pub fn add_normalizer(
        &mut self,
        name: HookName,
        function: impl Fn(&str) -> Result<Normalized> + Send + Sync + 'static,
    ) {
        self.normalizers.insert(name.clone(), Hook { name, function: Arc::new(function) });
    }

    /// Adds a splitter, in place of one of the same name.
    pub fn add_splitter(
        &mut self,
        name: HookName,
        function: impl Fn(&str) -> Result<Cuts> + Send + Sync + 'static,
    ) {
        self.splitters.insert(name.clone(), Hook { name, function: Arc::new(function) });
    }

    /// The normalizer of this name.
    ///
    /// # Errors
    /// A format error that says what to bring.
    pub fn normalizer(&self, name: &HookName) -> Result<NormalizeHook> {
        self.normalizers.get(name).cloned().ok_or_else(|| missing(name))
    }

    /// The splitter of this name.
    ///
    /// # Errors
    /// As [`Self::normalizer`].
    pub fn splitter(&self, name: &HookName) -> Result<SplitHook> {
        self.splitters.get(name).cloned().ok_or_else(|| missing(name))
    }

    /// Those that a description names.
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

/// Characters of a text to bytes, for places that ascend: all of them together cost one walk.
pub(crate) struct Places<'t> {
    text: &'t str,
    character: usize,
    byte: usize,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, character: 0, byte: 0 }
    }

    /// The byte at which a character starts, that is not before the last one asked for; or the
    /// number of characters, where the text has not so many.
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
