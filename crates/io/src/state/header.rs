//! The header of a state: its kind, its version, and a hash of the rest.
use sha2::{Digest, Sha256};
use tokenmill_core::error::{Defect, Error, Result};

/// The header of a kind of state: magic, version, and the first bytes of a sha256.
pub(super) struct Header {
    pub(super) magic: &'static [u8],
    pub(super) version: u8,
    /// Bytes of the hash.
    pub(super) digest: usize,
    /// What the state describes, for messages.
    pub(super) what: &'static str,
}

impl Header {
    fn length(&self) -> usize {
        self.magic.len() + 1 + self.digest
    }

    /// Zeros in the place of the header, for the body to follow.
    pub(super) fn space(&self) -> Vec<u8> {
        vec![0; self.length()]
    }

    /// Fills in the header of bytes that begin with [`Self::space`].
    pub(super) fn seal(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let digest = Sha256::digest(&bytes[self.length()..]);
        bytes[..self.magic.len()].copy_from_slice(self.magic);
        bytes[self.magic.len()] = self.version;
        bytes[self.magic.len() + 1..self.length()].copy_from_slice(&digest[..self.digest]);
        bytes
    }

    /// The body of sealed bytes.
    ///
    /// # Errors
    /// A format error for other data, another version, and bytes that were changed or cut.
    pub(super) fn open<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let Some((header, body)) =
            bytes.split_at_checked(self.length()).filter(|(header, _)| header.starts_with(self.magic))
        else {
            return Err(Error::format(Defect::WrongKind, format!("these bytes are not a {}", self.what)));
        };
        let version = header[self.magic.len()];
        if version != self.version {
            let reason =
                format!("version {version} of the state is not known; this tokenmill reads {}", self.version);
            return Err(Error::format(Defect::Version, reason));
        }
        if Sha256::digest(body)[..self.digest] != header[self.magic.len() + 1..] {
            let reason = "the checksum does not fit: the bytes were changed or cut";
            return Err(Error::format(Defect::Inconsistent, reason));
        }
        Ok(body)
    }
}
