//! Models of placeholder text as files.
//!
//! In: a path, or a model. Out: a model, whose arrays stay in the file, which is mapped; or a file. All is made of
//! little-endian numbers of 32 bits:
//!
//! ```text
//! bytes 0..8      "tmngram\0"
//!       8..16     version, order
//!       16..56    tokens of the corpus, different tokens, bytes of these, contexts, n-grams: 64 bits each
//!       56..64    zeros
//!       64..96    sha256 of all bytes from 128 on
//!       96..128   sha256 of bytes 0..96
//!       128..     the arrays, one after the other, in the order and with the lengths that core says
//! ```
//!
//! Loading checks the header and the size of the file, however large that is; [`verify`] reads and checks all of it.
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use tokenmill_core::U32Array;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::placeholder::{NGramModel, Order, Sizes};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use crate::files::{self, FolderWriter, Source, Target};

const MAGIC: &[u8; 8] = b"tmngram\0";
const VERSION: u32 = 1;

/// Numbers in the header, and the first of those that are hashes.
const HEADER: usize = 32;
const HASH_OF_ARRAYS: usize = 16;
const HASH_OF_HEADER: usize = 24;

/// Numbers that are hashed between two polls of the watch.
const BLOCK: usize = 1 << 14;

type Hash = [u8; 32];

/// A model from a file, with the hash of its arrays that its header has.
#[derive(Debug)]
pub struct LoadedModel {
    /// The model.
    pub model: NGramModel,
    hash: Hash,
}

/// Loads a model. A file stays mapped as long as the model lives; what is no file, as a pipe, is read.
///
/// # Errors
/// A format error for what is no model, for another version, and where the header or the size is damaged; errors of
/// the operating system.
pub fn load(path: &Path, watch: &dyn Watch) -> Result<LoadedModel> {
    let words = words_of(path, watch).map_err(|error| error.in_file(path))?;
    read(&words).map_err(|error| error.in_file(path))
}

fn words_of(path: &Path, watch: &dyn Watch) -> Result<U32Array> {
    let metadata = fs::metadata(path)?;
    if metadata.is_file() {
        if !metadata.len().is_multiple_of(4) {
            return Err(cut_off("its size is no multiple of 4"));
        }
        #[cfg(unix)]
        if let Some(words) = U32Array::map(fs::File::open(path)?) {
            return Ok(words);
        }
    }
    let bytes = files::read_rest(Source::open(path, watch)?, Vec::new())?;
    if !bytes.len().is_multiple_of(4) {
        return Err(cut_off("its size is no multiple of 4"));
    }
    Ok(U32Array::from_bytes(&bytes)?)
}

/// A model from the numbers of its file.
fn read(words: &U32Array) -> Result<LoadedModel> {
    let number = |place: usize| words.get(place).unwrap_or_default();
    let long = |place: usize| u64::from(number(place)) | u64::from(number(place + 1)) << 32;
    let magic = [number(0).to_le_bytes(), number(1).to_le_bytes()].concat();
    if magic != MAGIC {
        let reason = "this is no model of placeholder text; NGramModel.save writes one";
        return Err(Error::format(Defect::WrongKind, reason));
    }
    if words.len() < HEADER {
        return Err(cut_off("the header has 128 bytes"));
    }
    let hash = |place: usize| {
        let mut hash = Hash::default();
        let (parts, _) = hash.as_chunks_mut::<4>();
        parts.iter_mut().zip(place..).for_each(|(part, place)| *part = number(place).to_le_bytes());
        hash
    };
    let mut hasher = Sha256::new();
    (0..HASH_OF_HEADER).for_each(|place| hasher.update(number(place).to_le_bytes()));
    let is_intact = hasher.finalize()[..] == hash(HASH_OF_HEADER);
    // A later version may have another header.
    if number(2) != VERSION && (is_intact || number(2) < 1 << 16) {
        let reason = format!("version {} is not known; this tokenmill reads version {VERSION}", number(2));
        return Err(Error::format(Defect::Version, reason).at("version"));
    }
    let damaged = |reason: &str| {
        Error::format(
            Defect::Inconsistent,
            format!("{reason}; the file is damaged, so train or copy it again"),
        )
        .at("header")
    };
    if !is_intact {
        return Err(damaged("the checksum of the header does not fit"));
    }
    let Some(order) = Order::of(number(3).into()) else {
        return Err(damaged("its order is neither 2 nor 3"));
    };
    let [tokens, symbols, bytes, contexts, ngrams] = [4, 6, 8, 10, 12].map(long);
    let sizes = Sizes { order, tokens, symbols, bytes, contexts, ngrams };
    let lengths = sizes.lengths();
    let size = lengths.iter().fold(HEADER as u64, |sum, &length| sum.saturating_add(length));
    if size != words.len() as u64 {
        let reason = format!("the header speaks of {size} numbers, the file has {}", words.len());
        return Err(cut_off(&reason));
    }
    let mut start = HEADER;
    let sections = try_alloc::collect(lengths.iter().map(|&length| {
        let part = words.part(start, length as usize)?;
        start += length as usize;
        part.ok_or_else(|| damaged("an array is missing"))
    }))?;
    let sections = sections.try_into().map_err(|_| Error::internal("a model without all arrays"))?;
    Ok(LoadedModel { model: NGramModel::from_sections(sizes, sections)?, hash: hash(HASH_OF_ARRAYS) })
}

fn cut_off(reason: &str) -> Error {
    let reason = format!("{reason}: the file was cut off or is damaged, so train or copy it again");
    Error::format(Defect::Truncated, reason).at("header")
}

impl LoadedModel {
    /// Checks all of a model: the hash of its file, and that the arrays fit together.
    ///
    /// # Errors
    /// A format error that names what is damaged; errors of the watch.
    pub fn verify(&self, watch: &dyn Watch) -> Result<()> {
        if hash_of_arrays(&self.model, watch)? != self.hash {
            let reason =
                "the checksum does not fit: the file was changed or is damaged, so train or copy it again";
            return Err(Error::format(Defect::Inconsistent, reason).at("arrays"));
        }
        self.model.verify(watch)
    }
}

fn hash_of_arrays(model: &NGramModel, watch: &dyn Watch) -> Result<Hash> {
    let mut hasher = Sha256::new();
    in_blocks(model, watch, &mut |block| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(hasher.finalize().into())
}

/// The bytes of all arrays, in blocks.
fn in_blocks(model: &NGramModel, watch: &dyn Watch, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut block = try_alloc::vec(4 * BLOCK)?;
    for section in model.sections() {
        for start in (0..section.len()).step_by(BLOCK) {
            let end = section.len().min(start + BLOCK);
            block.clear();
            for place in start..end {
                block.extend_from_slice(&section.get(place).unwrap_or_default().to_le_bytes());
            }
            watch.poll()?;
            take(&block)?;
        }
    }
    Ok(())
}

/// The bytes of a model's file.
///
/// # Errors
/// Errors of the watch; out of memory.
pub fn to_bytes(model: &NGramModel, watch: &dyn Watch) -> Result<Vec<u8>> {
    let Sizes { order, tokens, symbols, bytes, contexts, ngrams } = model.sizes();
    let numbers: u64 = model.sizes().lengths().iter().sum();
    let mut file = try_alloc::vec(4 * (HEADER + numbers as usize))?;
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&(order.number() as u32).to_le_bytes());
    for size in [tokens, symbols, bytes, contexts, ngrams, 0] {
        file.extend_from_slice(&size.to_le_bytes());
    }
    file.extend_from_slice(&hash_of_arrays(model, watch)?);
    let of_header: Hash = Sha256::digest(&file).into();
    file.extend_from_slice(&of_header);
    in_blocks(model, watch, &mut |block| Ok(try_alloc::extend(&mut file, block)?))?;
    Ok(file)
}

/// Saves a model: the file is replaced as a whole, or not at all.
///
/// # Errors
/// Errors of the operating system; errors of the watch; out of memory.
pub fn save(model: &NGramModel, path: &Path, watch: &dyn Watch) -> Result<()> {
    let bytes = to_bytes(model, watch)?;
    match Target::of(path).map_err(|error| Error::from(error).in_file(path))? {
        Target::Stream(path) => files::write_to_stream(&path, &bytes, watch),
        Target::File(target) => {
            let Some(name) = target.file_name() else {
                return Err(Error::from(std::io::Error::from(std::io::ErrorKind::NotFound)).in_file(path));
            };
            let folder = target.parent().unwrap_or(Path::new(""));
            FolderWriter::new(folder, watch)?.replace(&[(name.to_owned(), bytes)])
        }
    }
}
