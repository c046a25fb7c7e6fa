//! The wire format of protobuf: bytes to fields, and back. Independent of message types.
//!
//! Fields borrow from the file, so a wrong length allocates nothing. Errors name the byte of the file.
use tokenmill_core::error::{Defect, Error, Result};

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    pub(super) value: Value<'a>,
}

/// The value of a field, by its wire type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64,
    Fixed32(u32),
    Bytes(Message<'a>),
    /// A group, the deprecated nesting of fields. No field of a model is one.
    Group,
}

/// The wire types of the start and end of a group.
const GROUP: u64 = 3;
const END_OF_GROUP: u64 = 4;

/// Maximum nesting of groups, as in protobuf.
const DEPTH_LIMIT: usize = 100;

/// A message (or string, or bytes) and its position in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
}

impl<'a> Message<'a> {
    /// The whole file.
    pub(super) fn of_file(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0 }
    }

    /// The fields in order. After an error there are no more.
    pub(super) fn fields(self) -> Fields<'a> {
        Fields { message: self, at: 0 }
    }

    /// The value as a string.
    ///
    /// # Errors
    /// A format error at the byte where it is not UTF-8.
    pub(super) fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let at = self.start + error.valid_up_to();
            Error::format(Defect::Encoding, format!("is not UTF-8 (byte {at} of the file)"))
        })
    }
}

impl Value<'_> {
    /// The number; `None` for another wire type.
    pub(super) fn varint(self) -> Option<u64> {
        if let Self::Varint(number) = self { Some(number) } else { None }
    }

    /// The boolean; `None` for another wire type.
    pub(super) fn flag(self) -> Option<bool> {
        self.varint().map(|number| number != 0)
    }

    /// The single-precision number; `None` for another wire type.
    pub(super) fn float(self) -> Option<f32> {
        if let Self::Fixed32(bits) = self { Some(f32::from_bits(bits)) } else { None }
    }
}

impl<'a> Value<'a> {
    /// The bytes; `None` for another wire type.
    pub(super) fn bytes(self) -> Option<Message<'a>> {
        if let Self::Bytes(message) = self { Some(message) } else { None }
    }
}

/// Iterates over the fields of a message.
pub(super) struct Fields<'a> {
    message: Message<'a>,
    at: usize,
}

impl<'a> Fields<'a> {
    fn broken<T>(&self, at: usize, what: &str) -> Result<T> {
        let at = self.message.start + at;
        Err(Error::format(Defect::Protobuf, format!("{what} (byte {at} of the file)")))
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut number = 0_u64;
        for (i, &byte) in self.message.bytes[start..].iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.at = start + i + 1;
                return Ok(number);
            }
        }
        if self.message.bytes.len() - start < 10 {
            return self.broken(start, "a number is cut off");
        }
        self.broken(start, "a number has more than ten bytes")
    }

    fn take(&mut self, length: u64) -> Result<Message<'a>> {
        let rest = &self.message.bytes[self.at..];
        let Some(bytes) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) else {
            let what =
                format!("a field of {length} bytes does not fit into the {} that are left", rest.len());
            return self.broken(self.at, &what);
        };
        let start = self.message.start + self.at;
        self.at += bytes.len();
        Ok(Message { bytes, start })
    }

    fn field(&mut self) -> Result<Field<'a>> {
        let start = self.at;
        let (number, way) = self.tag()?;
        let value = match way {
            GROUP => {
                self.pass_group(number)?;
                Value::Group
            }
            way => self.value(way, start)?,
        };
        Ok(Field { number, value })
    }

    /// Reads the field number and the wire type.
    fn tag(&mut self) -> Result<(u64, u64)> {
        let start = self.at;
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > (1 << 29) - 1 {
            return self.broken(start, &format!("{number} is no field number"));
        }
        Ok((number, tag & 7))
    }

    /// Skips to the end of a group whose start was read.
    fn pass_group(&mut self, number: u64) -> Result<()> {
        let mut open = vec![number];
        while let Some(&inner) = open.last() {
            let start = self.at;
            match self.tag()? {
                (number, GROUP) if open.len() < DEPTH_LIMIT => open.push(number),
                (_, GROUP) => {
                    return self.broken(start, &format!("groups are nested deeper than {DEPTH_LIMIT}"));
                }
                (number, END_OF_GROUP) if number == inner => _ = open.pop(),
                (_, way) => _ = self.value(way, start)?,
            }
        }
        Ok(())
    }

    /// Reads the value of a field that starts at `start` and is not a group.
    fn value(&mut self, way: u64, start: usize) -> Result<Value<'a>> {
        Ok(match way {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let bytes = self.take(4)?.bytes;
                Value::Fixed32(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            other => return self.broken(start, &format!("a field is written in the way {other}")),
        })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.message.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.message.bytes.len();
        }
        Some(field)
    }
}

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    fn raw(&mut self, mut number: u64) {
        while number >= 0x80 {
            #[allow(clippy::cast_possible_truncation)] // seven bits at a time
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        #[allow(clippy::cast_possible_truncation)] // below 128
        self.0.push(number as u8);
    }

    pub(super) fn varint(&mut self, number: u64, value: u64) {
        self.raw(number << 3);
        self.raw(value);
    }

    pub(super) fn int32(&mut self, number: u64, value: i32) {
        #[allow(clippy::cast_sign_loss)] // the rule of the format
        self.varint(number, i64::from(value) as u64);
    }

    pub(super) fn flag(&mut self, number: u64, value: bool) {
        self.varint(number, value.into());
    }

    pub(super) fn float(&mut self, number: u64, value: f32) {
        self.raw(number << 3 | 5);
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    pub(super) fn bytes(&mut self, number: u64, value: &[u8]) {
        self.raw(number << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        let fields: Result<Vec<_>> = Message::of_file(bytes).fields().collect();
        fields.unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = Writer::default();
        out.varint(1, u64::MAX);
        out.int32(2, -1);
        out.float(3, -0.0);
        out.bytes(4, b"ab");
        let fields: Vec<Field<'_>> = Message::of_file(&out.0).fields().map(Result::unwrap).collect();
        assert_eq!(fields.iter().map(|field| field.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(fields[0].value.varint(), Some(u64::MAX));
        assert_eq!(fields[1].value.varint(), Some(u64::MAX));
        assert_eq!(fields[2].value.float().map(f32::to_bits), Some((-0.0_f32).to_bits()));
        let text = fields[3].value.bytes().unwrap();
        assert_eq!((text.bytes, text.start), (&b"ab"[..], out.0.len() - 2));
    }

    #[test]
    fn broken_messages_are_errors_that_name_the_byte() {
        assert_eq!(
            error(&[0x0a, 5, 1]),
            "a field of 5 bytes does not fit into the 1 that are left (byte 2 of the file)"
        );
        assert_eq!(error(&[0x08, 0x80]), "a number is cut off (byte 1 of the file)");
        let long = [&[0x08][..], &[0xff; 11]].concat();
        assert_eq!(error(&long), "a number has more than ten bytes (byte 1 of the file)");
        assert_eq!(error(&[0x0f]), "a field is written in the way 7 (byte 0 of the file)");
        assert_eq!(error(&[0x0c]), "a field is written in the way 4 (byte 0 of the file)");
        assert_eq!(error(&[0x02, 0]), "0 is no field number (byte 0 of the file)");
        let huge = [&[0x0a][..], &[0xff; 9], &[1]].concat();
        assert!(error(&huge).starts_with("a field of 18446744073709551615 bytes"), "{}", error(&huge));
    }

    #[test]
    fn groups_are_passed_over() {
        // A group with a number, and a nested group.
        let group = [0x0b, 0x08, 1, 0x13, 0x14, 0x0c, 0x10, 7];
        let fields: Vec<Field<'_>> = Message::of_file(&group).fields().map(Result::unwrap).collect();
        assert_eq!(fields.iter().map(|field| field.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(fields[1].value.varint(), Some(7));
        assert_eq!(error(&[0x0b]), "a number is cut off (byte 1 of the file)");
        assert_eq!(error(&[0x0b, 0x14]), "a field is written in the way 4 (byte 1 of the file)");
        let nested = |depth| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert!(Message::of_file(&nested(DEPTH_LIMIT)).fields().all(|field| field.is_ok()));
        assert_eq!(error(&nested(100_000)), "groups are nested deeper than 100 (byte 100 of the file)");
    }
}
