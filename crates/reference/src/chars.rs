//! The symbols of characters by the definition, with marks around them and tokens for bytes.

/// What a vocabulary says about characters. A token is its index.
#[derive(Debug, Clone, Default)]
pub struct Chars {
    /// The tokens as they are written.
    pub tokens: Vec<String>,
    /// Written before every character but the first.
    pub prefix: String,
    /// Written after the last character.
    pub suffix: String,
    /// The token for a character that is no token.
    pub unk: Option<usize>,
    /// Adjacent unknown characters become one.
    pub fuse_unk: bool,
    /// A character that is no token becomes the tokens `<0xNN>` of its bytes, if all of them exist.
    pub byte_fallback: bool,
}

impl Chars {
    fn find(&self, token: &str) -> Option<usize> {
        self.tokens.iter().position(|other| other == token)
    }

    /// The symbols of a pretoken, each with the number of bytes that it stands for; the error is the place of a
    /// character that no symbol stands for.
    ///
    /// # Errors
    /// The place of that character.
    pub fn symbols(&self, text: &str) -> Result<Vec<(usize, usize)>, usize> {
        let mut symbols = Vec::new();
        let mut unknown: Option<usize> = None;
        let put_unknown = |unknown: &mut Option<usize>, symbols: &mut Vec<(usize, usize)>| {
            symbols.extend(unknown.take().and_then(|width| Some((self.unk?, width))));
        };
        for (at, char) in text.char_indices() {
            let width = char.len_utf8();
            let before = if at == 0 { "" } else { &self.prefix };
            let after = if at + width == text.len() { &self.suffix } else { "" };
            let written = format!("{before}{char}{after}");
            if let Some(token) = self.find(&written) {
                put_unknown(&mut unknown, &mut symbols);
                symbols.push((token, width));
                continue;
            }
            let bytes: Option<Vec<usize>> =
                written.bytes().map(|byte| self.find(&format!("<0x{byte:02X}>"))).collect();
            if let (true, Some(bytes)) = (self.byte_fallback, bytes) {
                let own = before.len()..before.len() + width;
                symbols
                    .extend(bytes.into_iter().enumerate().map(|(i, b)| (b, usize::from(own.contains(&i)))));
                continue;
            }
            if self.unk.is_none() {
                return Err(at);
            }
            match &mut unknown {
                Some(wide) if self.fuse_unk => *wide += width,
                _ => {
                    put_unknown(&mut unknown, &mut symbols);
                    unknown = Some(width);
                }
            }
        }
        put_unknown(&mut unknown, &mut symbols);
        Ok(symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::Chars;

    #[test]
    fn marks_bytes_and_the_unknown_token() {
        let tokens = ["<unk>", "a", "##b", "##a</w>", "<0x78>"].map(String::from).to_vec();
        let chars = Chars {
            tokens,
            prefix: "##".into(),
            suffix: "</w>".into(),
            unk: Some(0),
            fuse_unk: true,
            byte_fallback: true,
        };
        assert_eq!(chars.symbols("aba"), Ok(vec![(1, 1), (2, 1), (3, 1)]));
        // A byte comes before the unknown character that waits for its neighbour.
        assert_eq!(chars.symbols("éx").map(|symbols| symbols[0]), Ok((0, 3)));
        let plain = Chars { prefix: String::new(), suffix: String::new(), ..chars };
        assert_eq!(plain.symbols("éxa"), Ok(vec![(4, 1), (0, 2), (1, 1)]));
        assert_eq!(Chars { unk: None, ..plain }.symbols("axé"), Err(2));
    }
}
