//! The name of a hook in a description.
use std::fmt;

/// Identifies a hook: the description holds the name, the caller supplies the function at compilation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HookName {
    /// A name that files and pickles can hold.
    Named(String),
    /// A number that is valid in this process only.
    Unnamed(u64),
}

impl HookName {
    /// The name; `None` for a number.
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
