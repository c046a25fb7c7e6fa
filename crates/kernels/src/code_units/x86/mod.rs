//! Code units to UTF-8 and back in vectors of 512 bits.
mod decode;
mod encode;

pub(super) use decode::{fill, measure};
pub(super) use encode::encode;
