//! `tekken.json` of Mistral. In: bytes. Out: a description, and back.
mod read;
mod write;

pub(crate) use read::parse;
pub(crate) use write::write;
