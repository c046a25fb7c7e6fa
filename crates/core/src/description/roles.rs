//! The roles of tokens, such as padding.
use crate::ids::TokenId;

/// A role that a token can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Begin of sequence.
    Bos,
    /// End of sequence.
    Eos,
    /// The unknown token.
    Unk,
    /// Separator between two sequences, and after the last.
    Sep,
    /// Padding.
    Pad,
    /// Represents a whole text.
    Cls,
    /// Represents a token to be predicted.
    Mask,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 7] = [Self::Bos, Self::Eos, Self::Unk, Self::Sep, Self::Pad, Self::Cls, Self::Mask];

    /// The name of the role.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bos => "bos",
            Self::Eos => "eos",
            Self::Unk => "unk",
            Self::Sep => "sep",
            Self::Pad => "pad",
            Self::Cls => "cls",
            Self::Mask => "mask",
        }
    }
}

/// The ids with a role; `None` if no token has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Begin of sequence.
    pub bos: Option<TokenId>,
    /// End of sequence.
    pub eos: Option<TokenId>,
    /// The unknown token, which may differ from the model's.
    pub unk: Option<TokenId>,
    /// Separator between two sequences, and after the last.
    pub sep: Option<TokenId>,
    /// Padding.
    pub pad: Option<TokenId>,
    /// Represents a whole text.
    pub cls: Option<TokenId>,
    /// Represents a token to be predicted.
    pub mask: Option<TokenId>,
}

impl Roles {
    /// Every role with its name.
    pub fn named(&self) -> [(&'static str, Option<TokenId>); 7] {
        Role::ALL.map(|role| (role.name(), self.of(role)))
    }

    /// The id with a role.
    pub fn of(&self, role: Role) -> Option<TokenId> {
        match role {
            Role::Bos => self.bos,
            Role::Eos => self.eos,
            Role::Unk => self.unk,
            Role::Sep => self.sep,
            Role::Pad => self.pad,
            Role::Cls => self.cls,
            Role::Mask => self.mask,
        }
    }

    /// Gives a role to an id.
    pub fn set(&mut self, role: Role, id: TokenId) {
        let place = match role {
            Role::Bos => &mut self.bos,
            Role::Eos => &mut self.eos,
            Role::Unk => &mut self.unk,
            Role::Sep => &mut self.sep,
            Role::Pad => &mut self.pad,
            Role::Cls => &mut self.cls,
            Role::Mask => &mut self.mask,
        };
        *place = Some(id);
    }
}
