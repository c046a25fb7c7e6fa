//! SentencePiece models (`.model`): a protobuf message with pieces, scores and normalization rules.
//! The file completely determines the tokenizer.
mod contents;
mod map_writer;
mod message;
mod named_map;
mod read;
#[cfg(test)]
mod tests;
mod wire;
mod write;

pub(crate) use contents::{Contents, read_contents};
pub use named_map::NamedMap;
pub(crate) use read::parse;
pub(crate) use write::write;

/// Do these bytes look like a model, that is a message whose first field is one of a model's fields?
///
/// Text may start with the same bytes, so the content of the field is checked too.
pub(crate) fn is_like(bytes: &[u8]) -> bool {
    let Some(Ok(first)) = wire::Message::of_file(bytes).fields().next() else {
        // The file may be truncated inside its first field.
        return matches!(bytes, [0x0a, piece, 0x0a, text, ..] if text.checked_add(2).is_some_and(|end| end <= *piece));
    };
    let Some(inner) = first.value.bytes() else { return false };
    match first.number {
        1 => {
            let starts_as_piece = matches!(inner.bytes.first(), Some(0x0a | 0x15 | 0x18));
            starts_as_piece && inner.fields().all(|field| field.is_ok())
        }
        2..=5 => inner.fields().next().is_none_or(|field| field.is_ok_and(|field| field.number < 64)),
        _ => false,
    }
}
