//! The key/value section of a GGUF file. In: bytes. Out: values as slices of them. Tensors follow
//! it and are never read.
//!
//! Every length is checked against the rest of the file before it is used, so a wrong length cannot
//! allocate memory.
use std::collections::HashMap;

use tokenmill_core::error::{Defect, Error, Result};

/// The first bytes of every GGUF file.
pub(crate) const MAGIC: &[u8] = b"GGUF";

/// Maximum number of keys, bytes of a key, and nesting of lists.
const KEY_LIMIT: u64 = 1 << 20;
const NAME_LIMIT: usize = 64 << 10;
const DEPTH_LIMIT: u32 = 4;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    List,
    U64,
    I64,
    F64,
}

impl Type {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::Text,
        Self::List,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The size of a value in bytes, if it is fixed.
    fn size(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::Text | Self::List => None,
        }
    }
}

/// A value, as stored in the file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// A number or boolean.
    Plain(Type, &'a [u8]),
    Text(&'a [u8]),
    List(List<'a>),
}

/// A list: the type, number and bytes of its items.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) of: Type,
    pub(super) count: usize,
    pub(super) bytes: &'a [u8],
}

impl<'a> List<'a> {
    /// The items of a list of strings.
    pub(super) fn texts(self) -> impl Iterator<Item = &'a [u8]> {
        let mut reader = Reader { bytes: self.bytes, at: 0 };
        // All items were checked when the file was read.
        (0..self.count).map_while(move |_| reader.text().ok())
    }
}

/// Values by key.
pub(super) type Keys<'a> = HashMap<&'a str, Value<'a>>;

/// Reads the keys of a file.
///
/// # Errors
/// A format error that names the key or the byte; `Defect::Truncated` if the bytes end too early.
pub(super) fn read(bytes: &[u8]) -> Result<Keys<'_>> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(MAGIC.len() as u64, "the file")? != MAGIC {
        return Err(Error::format(Defect::WrongKind, "a GGUF file begins with GGUF"));
    }
    let version = reader.u32()?;
    match version {
        2 | 3 => {}
        1 => return Err(bad_version("1 is older than what is read", version)),
        _ if (1..=3).contains(&version.swap_bytes()) => {
            let reason = "a file of big-endian numbers is not supported by this version of tokenmill";
            return Err(Error::format(Defect::Unsupported, reason).at("version"));
        }
        _ => return Err(bad_version("is not known", version)),
    }
    let _tensors = reader.u64()?;
    let count = reader.u64()?;
    if count > KEY_LIMIT {
        return Err(Error::limit(format!("{count} keys are more than {KEY_LIMIT}"), KEY_LIMIT).at("kv_count"));
    }
    let mut keys = Keys::new();
    for _ in 0..count {
        let start = reader.at;
        let name = reader.text()?;
        if name.len() > NAME_LIMIT {
            let reason = format!("a key of {} bytes (byte {start})", name.len());
            return Err(Error::limit(reason, NAME_LIMIT as u64));
        }
        let name = std::str::from_utf8(name).map_err(|_| {
            Error::format(Defect::Encoding, format!("a key is not UTF-8 (byte {start} of the file)"))
        })?;
        let value = reader.value().map_err(|e| e.at(name))?;
        if keys.insert(name, value).is_some() {
            return Err(Error::format(Defect::Duplicate, "the key occurs twice").at(name));
        }
    }
    Ok(keys)
}

fn bad_version(what: &str, version: u32) -> Error {
    Error::format(Defect::Version, format!("version {version} {what}; known are 2 and 3")).at("version")
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let Some(taken) = taken else {
            let reason = format!(
                "{what} needs {length} bytes from byte {} on, and the file has {} more",
                self.at,
                rest.len()
            );
            return Err(Error::format(Defect::Truncated, reason));
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4, "a number")?.try_into().unwrap_or_default()))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8, "a number")?.try_into().unwrap_or_default()))
    }

    fn text(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        self.take(length, "a string")
    }

    fn kind(&mut self) -> Result<Type> {
        let at = self.at;
        let number = self.u32()?;
        Type::ALL.get(number as usize).copied().ok_or_else(|| {
            Error::format(Defect::Type, format!("{number} is not a type of value (byte {at} of the file)"))
        })
    }

    fn value(&mut self) -> Result<Value<'a>> {
        Ok(match self.kind()? {
            Type::Text => Value::Text(self.text()?),
            Type::List => Value::List(self.list(1)?),
            plain => Value::Plain(plain, self.take(plain.size().unwrap_or_default() as u64, "a number")?),
        })
    }

    fn list(&mut self, depth: u32) -> Result<List<'a>> {
        if depth > DEPTH_LIMIT {
            let reason = format!("lists within lists deeper than {DEPTH_LIMIT}");
            return Err(Error::limit(reason, DEPTH_LIMIT.into()));
        }
        let of = self.kind()?;
        let count = self.u64()?;
        let start = self.at;
        if let Some(size) = of.size() {
            // A size above 64 bits does not fit into the file.
            self.take(count.saturating_mul(size as u64), "a list")?;
        } else {
            // Every item starts with its length.
            if count > (self.bytes.len() - self.at) as u64 / 8 {
                self.take(count.saturating_mul(8), "a list")?;
            }
            for _ in 0..count {
                match of {
                    Type::Text => _ = self.text()?,
                    _ => _ = self.list(depth + 1)?,
                }
            }
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(List { of, count, bytes: &self.bytes[start..self.at] })
    }
}
