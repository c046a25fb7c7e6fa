//! What a function of the caller's own goes by in a description.
use std::fmt;

/// What a hook goes by: a description names it, and whoever compiles it brings the function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HookName {
    /// A name, which files and pickles can hold.
    Named(String),
    /// A number, which means something in this process alone.
    Unnamed(u64),
}

impl HookName {
    /// The name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Unnamed(_) => None,
        }
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "hook {name:?}"),
            Self::Unnamed(_) => f.write_str("unnamed hook"),
        }
    }
}
