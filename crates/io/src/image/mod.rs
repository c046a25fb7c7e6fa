//! Images: a compiled tokenizer in a file, with its tables as they are in memory.
//!
//! In: an engine. Out: the bytes of a file; and back, with tables that are parts of the mapped file, so that all
//! processes that load it share them. An image is private to one release and one machine type. It must never be read
//! after it was changed or cut: its size and its hash show that. A crafted file can make a call fail or give wrong ids,
//! as any tokenizer file can; it cannot make a read go out of bounds.
//!
//! The parts: the report of loading, in JSON, if there was one; the description without its tables, as in a pickle; the
//! tables of the engine.
mod kept;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tokenmill_core::compile;
use tokenmill_core::description::Description;
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;
use tokenmill_core::hooks::Hooks;
use tokenmill_core::image::{Image, ImageWriter, MAGIC};
use tokenmill_core::watch::Watch;

use crate::files::{self, Source};
use crate::state::shape::{Reader, State, Writer};
pub(crate) use kept::KeptImage;

/// The release that images are of.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The image of an engine, with a report of loading, or none. The same engine always has the same image.
///
/// # Errors
/// A format error for a hook without a name.
pub(crate) fn write(engine: &Engine, report: &[u8]) -> Result<Vec<u8>> {
    engine.description().check_hooks_have_names()?;
    let mut description = Writer(Vec::new());
    engine.description().without_tables().write(&mut description);
    let mut image = ImageWriter::new(RELEASE);
    image.array(report);
    image.array(&description.0);
    engine.write_tables(&mut image);
    Ok(image.finish())
}

/// The file at a path, if it is an image. A pipe is none.
pub(crate) fn find(path: &Path) -> Option<File> {
    if !path.is_file() {
        return None;
    }
    let mut start = [0; MAGIC.len()];
    let mut file = File::open(path).ok()?;
    file.read_exact(&mut start).ok()?;
    (start == MAGIC).then_some(file)
}

/// Loads an image, and its report. `hooks` has the functions that its description names.
///
/// # Errors
/// A format error if the image was changed or cut, or is of another release or machine type; as
/// [`compile::compile_with`].
pub(crate) fn load(file: &File, hooks: &Hooks, watch: &dyn Watch) -> Result<(Engine, Vec<u8>)> {
    let image = open(file, watch)?;
    let mut reader = image.reader();
    let report = reader.array::<u8>()?.into_vec();
    let state = reader.array::<u8>()?;
    let description = Description::read(&mut Reader(&state))?;
    Ok((compile::from_image(description, reader, hooks, watch)?, report))
}

/// Maps an image, or reads it where it cannot be mapped.
fn open(file: &File, watch: &dyn Watch) -> Result<Image> {
    #[cfg(unix)]
    if let Some(image) = Image::map(file, RELEASE)? {
        return Ok(image);
    }
    let mut start = file;
    std::io::Seek::rewind(&mut start)?;
    let bytes = files::read_rest(Source::of(file, watch)?, Vec::new())?;
    Ok(Image::of_bytes(&bytes, RELEASE)?)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};
    use tokenmill_core::compile::compile;
    use tokenmill_core::description::{
        Alphabet, BpeDescription, Description, Merge, Merges, ModelDescription, PreTokenizer, Split,
        TokenList, UnigramDescription, WordPieceDescription,
    };
    use tokenmill_core::image::LAYOUT;

    use super::*;

    fn tokens(more: &[&str]) -> TokenList {
        let bytes =
            (0..=255).map(|byte: u8| vec![byte]).chain(more.iter().map(|token| token.as_bytes().to_vec()));
        TokenList::from_entries((0..).zip(bytes).collect())
    }

    /// One engine of each kind of model.
    fn engines() -> Vec<Engine> {
        let merge = |left: u8, right: u8, result| Merge { left: left.into(), right: right.into(), result };
        let merges = Merges::listed([merge(b'a', b'b', 256), merge(b'c', b'd', 257)]);
        let bpe = BpeDescription::plain(Alphabet::Bytes, tokens(&["ab", "cd"]), merges);
        let word_piece = WordPieceDescription {
            tokens: TokenList::from_entries(vec![(0, "a"), (1, "##b"), (2, "[UNK]")]).into(),
            unk: Some(2),
            continuing_prefix: "##".to_owned(),
            max_chars: 100,
        };
        let unigram = UnigramDescription {
            tokens: TokenList::from_entries(vec![(0, "a"), (1, "b"), (2, "ab")]).into(),
            scores: vec![-1.0, -2.0, -1.5],
            kinds: Vec::new(),
            unk: Some(0),
            unk_score: -20.0,
            byte_fallback: false,
            single_precision: false,
        };
        let others = [ModelDescription::WordPiece(word_piece), ModelDescription::Unigram(unigram)];
        let others = others.map(Description::of_model);
        let bpe = Description::of_bpe(&Split::Pattern(r"\p{L}+|\P{L}+".to_owned()), bpe);
        // Texts are looked up by segments, by words, and by pieces.
        let steps = [
            vec![],
            vec![PreTokenizer::WhitespaceSplit],
            vec![PreTokenizer::Digits { individual: true }, PreTokenizer::FixedLength(2)],
        ];
        let of_characters = steps.map(|pre_tokenizer| {
            let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
            let all = (0..).zip(bytes.chain(["a", "b", "ab"].map(str::to_owned)).map(String::into_bytes));
            let merges = Merges::listed([Merge { left: 256, right: 257, result: 258 }]);
            let tokens = TokenList::from_entries(all.collect());
            let model = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, merges);
            let model = ModelDescription::Bpe(BpeDescription { byte_fallback: true, ..model });
            Description { pre_tokenizer, ..Description::of_model(model) }
        });
        let others = others.into_iter().chain(of_characters);
        std::iter::once(bpe).chain(others).map(|description| compile(description).unwrap()).collect()
    }

    /// Bytes of a header, which has the release.
    const HEADER: usize = 64;

    /// If this fails, the layout of a table has changed: give `LAYOUT` the next number, and then this its new hash.
    #[cfg(all(target_endian = "little", target_pointer_width = "64"))]
    #[test]
    fn a_layout_has_its_number() {
        let mut hash = Sha256::new();
        for engine in engines() {
            let image = write(&engine, &[]).unwrap();
            hash.update(&image[HEADER..]);
        }
        let hash = crate::known_files::hex(&hash.finalize()[..8]);
        assert_eq!((LAYOUT, hash.as_str()), (2, "494c356792abf5cb"));
    }
}
