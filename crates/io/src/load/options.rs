//! The options of loading.
use std::path::PathBuf;

use tokenmill_core::description::{Additions, Split};
use tokenmill_core::hooks::Hooks;

/// Options of loading, and information that the file may lack.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The split, for formats that do not store one.
    pub split: Option<Split>,
    /// Special tokens, roles, and bos and eos around texts.
    pub additions: Additions,
    /// Are these all special tokens? A published file then gets none of those that its library adds.
    pub names_all_special: bool,
    /// Turns everything that would be tolerated and reported into an error.
    pub strict: bool,
    /// The hooks that files may name.
    pub hooks: Hooks,
    /// A folder in which images are kept, and found by a later load of the same files with the same options.
    pub image_dir: Option<PathBuf>,
}
