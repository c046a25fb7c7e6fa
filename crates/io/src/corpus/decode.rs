//! UTF-8 decoding of documents that arrive in blocks.
/// How documents with invalid UTF-8 are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// The first one is an error.
    Strict,
    /// U+FFFD replaces the invalid bytes.
    Replace,
    /// The document is left out.
    Skip,
}

/// Decodes a document block by block; the end of a block may cut a character.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The start of a character at the end of the last block; at most three bytes.
    cut: Vec<u8>,
    /// Bytes decoded before `cut`.
    taken: u64,
    /// Was U+FFFD written?
    pub(super) replaced: bool,
}

/// Position of the first invalid byte, from the start of the document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invalid(pub(super) u64);

impl Decoder {
    /// Appends a block to `text`. Under [`Errors::Replace`] invalid UTF-8 becomes U+FFFD, one for
    /// each maximal part of a character, as in `String::from_utf8_lossy`.
    ///
    /// # Errors
    /// The first invalid byte, under the other policies.
    pub(super) fn push(&mut self, block: &[u8], errors: Errors, text: &mut String) -> Result<(), Invalid> {
        let mut rest = block;
        // Byte by byte until the cut character is complete or known to be invalid.
        while !self.cut.is_empty() {
            let [byte, tail @ ..] = rest else { return Ok(()) };
            self.cut.push(*byte);
            rest = tail;
            let joined = std::mem::take(&mut self.cut);
            self.run(&joined, errors, text)?;
        }
        self.run(rest, errors, text)
    }

    /// Ends the document.
    pub(super) fn finish(&mut self, errors: Errors, text: &mut String) -> Result<(), Invalid> {
        if self.cut.is_empty() { Ok(()) } else { self.replace(self.cut.len(), errors, text) }
    }

    fn run(&mut self, mut bytes: &[u8], errors: Errors, text: &mut String) -> Result<(), Invalid> {
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            self.taken += chunk.valid().len() as u64;
            bytes = &bytes[chunk.valid().len()..];
            let invalid = chunk.invalid().len();
            if invalid == 0 {
                break;
            }
            let unfinished = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
            if invalid == bytes.len() && unfinished {
                self.cut.extend_from_slice(bytes);
                break;
            }
            self.replace(invalid, errors, text)?;
            bytes = &bytes[invalid..];
        }
        Ok(())
    }

    fn replace(&mut self, bytes: usize, errors: Errors, text: &mut String) -> Result<(), Invalid> {
        if errors != Errors::Replace {
            return Err(Invalid(self.taken));
        }
        text.push(char::REPLACEMENT_CHARACTER);
        self.replaced = true;
        self.taken += bytes as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_decode_like_the_whole(
            parts in prop::collection::vec(prop_oneof![
                Just(vec![b'a']), Just("é".into()), Just("€".into()), Just("🦊".into()),
                prop::collection::vec(prop::sample::select(vec![0x80, 0xc3, 0xe2, 0x82, 0xf0, 0x9f, 0xff, 0xed, 0xa0]), 1..4),
            ], 0..12),
            size in 1usize..6,
        ) {
            let bytes = parts.concat();
            let (mut decoder, mut text) = (Decoder::default(), String::new());
            for block in bytes.chunks(size) {
                decoder.push(block, Errors::Replace, &mut text).unwrap();
            }
            decoder.finish(Errors::Replace, &mut text).unwrap();
            prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
            prop_assert_eq!(decoder.replaced, std::str::from_utf8(&bytes).is_err());

            let (mut decoder, mut text) = (Decoder::default(), String::new());
            let strict = bytes.chunks(size).try_for_each(|block| decoder.push(block, Errors::Strict, &mut text))
                .and_then(|()| decoder.finish(Errors::Strict, &mut text));
            let want = std::str::from_utf8(&bytes).map(drop).map_err(|error| Invalid(error.valid_up_to() as u64));
            prop_assert_eq!(strict, want);
        }
    }
}
