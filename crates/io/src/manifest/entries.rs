//! Files of a folder as a manifest lists them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::known_files::sha256;

/// A file as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl FileEntry {
    /// The entry of a file with these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, sha256: sha256(bytes) }
    }

    /// The entry of a file with this size and hash.
    pub(crate) fn new(bytes: u64, sha256: String) -> Self {
        Self { bytes, sha256 }
    }
}

/// Files by name.
pub(crate) type Entries = BTreeMap<String, FileEntry>;
