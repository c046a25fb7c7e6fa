//! Writes the key/value section of a GGUF file. In: names and values. Out: a file of version 3 without tensors.
use super::container::{MAGIC, Type};

/// The version of the container that is written.
const VERSION: u32 = 3;

/// Keys in the order in which they are written.
#[derive(Debug, Default, Clone)]
pub(super) struct KeyWriter {
    count: u64,
    bytes: Vec<u8>,
}

impl KeyWriter {
    /// The file.
    pub(super) fn finish(&self) -> Vec<u8> {
        const NO_TENSORS: u64 = 0;
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend(NO_TENSORS.to_le_bytes());
        file.extend(self.count.to_le_bytes());
        file.extend(&self.bytes);
        file
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.start(key, Type::Text);
        self.string(value.as_bytes());
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.start(key, Type::Bool);
        self.bytes.push(value.into());
    }

    pub(super) fn number(&mut self, key: &str, value: u32) {
        self.start(key, Type::U32);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn large_number(&mut self, key: &str, value: u64) {
        self.start(key, Type::U64);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn texts<T: AsRef<str>>(&mut self, key: &str, values: &[T]) {
        self.start_list(key, Type::Text, values.len());
        for value in values {
            self.string(value.as_ref().as_bytes());
        }
    }

    pub(super) fn floats(&mut self, key: &str, values: &[f32]) {
        self.start_list(key, Type::F32, values.len());
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    pub(super) fn integers(&mut self, key: &str, values: &[i32]) {
        self.start_list(key, Type::I32, values.len());
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    pub(super) fn raw(&mut self, key: &str, values: &[u8]) {
        self.start_list(key, Type::U8, values.len());
        self.bytes.extend(values);
    }

    fn start(&mut self, key: &str, of: Type) {
        self.count += 1;
        self.string(key.as_bytes());
        self.bytes.extend((of as u32).to_le_bytes());
    }

    fn start_list(&mut self, key: &str, of: Type, count: usize) {
        self.start(key, Type::List);
        self.bytes.extend((of as u32).to_le_bytes());
        self.bytes.extend((count as u64).to_le_bytes());
    }

    fn string(&mut self, bytes: &[u8]) {
        self.bytes.extend((bytes.len() as u64).to_le_bytes());
        self.bytes.extend(bytes);
    }
}
