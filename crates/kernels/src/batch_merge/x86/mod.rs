//! Merges with the candidates in vectors, sixteen positions at a time.
pub(super) mod avx2;
pub(super) mod avx512;
mod lanes;
