//! The normal forms.

/// A normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Nfc => "NFC",
            Self::Nfd => "NFD",
            Self::Nfkc => "NFKC",
            Self::Nfkd => "NFKD",
        }
    }

    pub(super) fn is_composed(self) -> bool {
        matches!(self, Self::Nfc | Self::Nfkc)
    }

    pub(super) fn is_compatible(self) -> bool {
        matches!(self, Self::Nfkc | Self::Nfkd)
    }

    /// The smallest first byte of a character that the form may change or that may compose with the
    /// one before it.
    pub(super) fn first_byte(self) -> u8 {
        match self {
            Self::Nfc => 0xcc,               // U+0300
            Self::Nfd => 0xc3,               // U+00C0
            Self::Nfkc | Self::Nfkd => 0xc2, // U+00A0
        }
    }
}
