//! Encoding of values as bytes: numbers, strings, lists, and the records and choices made of them.
use std::sync::Arc;

use tokenmill_core::error::{Defect, Error, Result};

/// A value with a binary form.
pub(crate) trait State: Sized {
    /// Appends the value to `out`.
    fn write(&self, out: &mut Writer);

    /// Reads the value at the current position.
    fn read(from: &mut Reader<'_>) -> Result<Self>;
}

pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn length(&mut self, length: usize) {
        (length as u64).write(self);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }
}

pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let cut = || Error::format(Defect::Truncated, "the bytes end too early");
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a length; it must fit into the rest, so that a wrong length allocates nothing.
    pub(super) fn length(&mut self) -> Result<usize> {
        let length = u64::read(self)?;
        usize::try_from(length).ok().filter(|&length| length <= self.0.len()).ok_or_else(|| {
            Error::format(Defect::Range, format!("a length of {length} extends beyond the end"))
        })
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl State for $number {
            fn write(&self, out: &mut Writer) {
                out.0.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self::from_le_bytes(from.take(size_of::<Self>())?.try_into().unwrap_or_default()))
            }
        }
    )*};
}

numbers!(u8, u32, u64, f32, f64);

impl State for usize {
    fn write(&self, out: &mut Writer) {
        (*self as u64).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let number = u64::read(from)?;
        Self::try_from(number).map_err(|_| Error::format(Defect::Range, format!("{number} is too large")))
    }
}

impl State for bool {
    fn write(&self, out: &mut Writer) {
        u8::from(*self).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(u8::read(from)? != 0)
    }
}

impl State for char {
    fn write(&self, out: &mut Writer) {
        u32::from(*self).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Self::from_u32(u32::read(from)?).ok_or_else(|| Error::format(Defect::Encoding, "no character"))
    }
}

impl State for String {
    fn write(&self, out: &mut Writer) {
        out.bytes(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Self::from_utf8(from.bytes()?.to_vec())
            .map_err(|_| Error::format(Defect::Encoding, "a string is not UTF-8"))
    }
}

impl State for Arc<[u8]> {
    fn write(&self, out: &mut Writer) {
        out.bytes(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(from.bytes()?.into())
    }
}

impl<T: State> State for Option<T> {
    fn write(&self, out: &mut Writer) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        if bool::read(from)? { T::read(from).map(Some) } else { Ok(None) }
    }
}

impl<T: State> State for Vec<T> {
    fn write(&self, out: &mut Writer) {
        out.length(self.len());
        for item in self {
            item.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let length = from.length()?;
        (0..length).map(|_| T::read(from)).collect()
    }
}

impl<A: State, B: State> State for (A, B) {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

/// A record is its fields in order; the compiler checks that none is missing.
macro_rules! record {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl State for $name {
            fn write(&self, out: &mut Writer) {
                let Self { $($field),* } = self;
                $($field.write(out);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self { $($field: State::read(from)?),* })
            }
        }
    };
}

/// A choice is a number and the fields of the variant. Numbers must never change their meaning.
macro_rules! choice {
    ($name:ident { $($number:literal: $variant:ident $(($($item:ident),*))? $({ $($field:ident),* })?),* $(,)? }) => {
        impl State for $name {
            fn write(&self, out: &mut Writer) {
                match self {
                    $(Self::$variant $(($($item),*))? $({ $($field),* })? => {
                        out.0.push($number);
                        $($($item.write(out);)*)?
                        $($($field.write(out);)*)?
                    })*
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<Self> {
                Ok(match u8::read(from)? {
                    $($number => {
                        $($(let $item = State::read(from)?;)*)?
                        Self::$variant $(($($item),*))? $({ $($field: State::read(from)?),* })?
                    })*
                    other => {
                        let reason = format!("{} is no {}", other, stringify!($name));
                        return Err(Error::format(Defect::Range, reason));
                    }
                })
            }
        }
    };
}

pub(super) use {choice, record};
