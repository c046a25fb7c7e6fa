//! Code units to UTF-8 in vectors of 256 and 512 bits, and back in vectors of 512 bits.
mod decode;
mod encode;
mod encode_avx2;

pub(super) use decode::{fill, measure};
pub(super) use encode::encode;
pub(super) use encode_avx2::encode as encode_avx2;
