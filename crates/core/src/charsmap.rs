//! The character map of a SentencePiece normalizer: byte sequences to their replacements.
//!
//! In: the blob of a model file, a trie (a double array of four-byte units, as Darts-clone writes
//! it) followed by the replacements, each ended by a zero byte. Out: lookups of keys.
//!
//! The trie is used in place. Before that, every reachable unit is checked once: it must point
//! inside the trie and never back to one of its ancestors, and the replacement that it names must
//! be valid text.

use crate::error::{Defect, Error, Result};

/// The longest key in bytes. Real keys have a few tens of bytes; the limit keeps the cost of a
/// lookup independent of the file.
const LONGEST_KEY: usize = 1 << 10;

/// Size in bytes of the blocks in which SentencePiece's compiler writes a trie.
pub const BLOCK: usize = 1 << 10;

/// A checked map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charsmap {
    units: Box<[u32]>,
    replacements: Box<str>,
    /// Base index of the units for the first byte of a key.
    root: usize,
}

/// The label of a unit; above 255 if the unit holds a value.
fn label(unit: u32) -> u32 {
    unit & 0x8000_00ff
}

/// The base of a unit's children is its index XOR this offset.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

fn has_leaf(unit: u32) -> bool {
    unit & 0x100 != 0
}

fn value(unit: u32) -> usize {
    (unit & 0x7fff_ffff) as usize
}

fn defect(reason: impl Into<String>) -> Error {
    Error::format(Defect::Charsmap, reason)
}

impl Charsmap {
    /// Reads and checks a blob. Cost: linear in its size.
    ///
    /// # Errors
    /// A format error of kind `charsmap`.
    pub fn parse(blob: &[u8]) -> Result<Self> {
        let Some((size, rest)) = blob.split_first_chunk::<4>() else {
            return Err(defect(format!("{} bytes are too few for the size of the trie", blob.len())));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if size > rest.len() || !size.is_multiple_of(4) || size == 0 {
            let reason = format!("a trie of {size} bytes does not fit into the {} that follow", rest.len());
            return Err(defect(reason));
        }
        let (trie, replacements) = rest.split_at(size);
        let units: Box<[u32]> =
            trie.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let replacements = std::str::from_utf8(replacements).map_err(|error| {
            defect(format!("the replacements are not UTF-8 from their byte {} on", error.valid_up_to()))
        })?;
        let root = offset(units[0]);
        let map = Self { units, replacements: replacements.into(), root };
        map.check()?;
        Ok(map)
    }

    /// Returns what is wrong with a blob that can be walked all the same, such as an unreachable
    /// unit that leads nowhere. SentencePiece's compiler writes no such units, and its reader
    /// rejects them since 0.2.3.
    ///
    /// Cost: linear in the blob, a fraction of that of [`Self::parse`].
    pub fn doubt(blob: &[u8]) -> Option<String> {
        let (size, rest) = blob.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, replacements) = rest.split_at_checked(size)?;
        if size == 0 || !size.is_multiple_of(BLOCK) {
            return Some(format!("a trie of {size} bytes is not made of blocks of {BLOCK}"));
        }
        if replacements.last() != Some(&0) {
            return Some("the last replacement has no zero byte at its end".to_owned());
        }
        let units = trie.as_chunks::<4>().0;
        let unit = |at: usize| units.get(at).map(|unit| u32::from_le_bytes(*unit));
        let is_value = |unit: u32| unit >> 31 == 1;
        if unit(0).is_none_or(|root| label(root) != 0 || has_leaf(root) || offset(root) == 0) {
            return Some("the first unit of the trie is no root".to_owned());
        }
        for (at, bytes) in units.iter().enumerate() {
            let own = u32::from_le_bytes(*bytes);
            let is_sound = if is_value(own) {
                value(own) < replacements.len()
            } else {
                // Most unused units hold nothing but a label.
                own <= 0xff || unit(at ^ offset(own)).is_some_and(|next| !has_leaf(own) || is_value(next))
            };
            if !is_sound {
                return Some(format!("unit {at} of the trie leads nowhere"));
            }
        }
        None
    }

    /// Does any key start with this byte?
    pub fn has_key_from(&self, byte: u8) -> bool {
        byte != 0 && self.step(self.root, byte).is_some()
    }

    /// Is this byte a key, or may one begin with it and another ASCII byte?
    pub fn has_key_of_ascii_from(&self, byte: u8) -> bool {
        let Some(at) = Some(byte).filter(|&byte| byte != 0).and_then(|byte| self.step(self.root, byte))
        else {
            return false;
        };
        let unit = self.units[at];
        has_leaf(unit) || (1..0x80).any(|next| self.step(at ^ offset(unit), next).is_some())
    }

    /// The replacement of the shortest key that `text` starts with.
    pub fn shortest(&self, text: &[u8]) -> Option<&str> {
        self.keys(text).next().map(|(_, replacement)| replacement)
    }

    /// The length of the longest key that `text` starts with, and its replacement.
    #[inline]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        // All leaves have replacements, as `parse` has checked.
        let (length, leaf) = self.leaves(text).last()?;
        Some((length, self.replacement(leaf)?))
    }

    /// Could `text` be the start of a longer key?
    pub fn goes_on(&self, text: &[u8]) -> bool {
        let mut base = self.root;
        for &byte in text {
            let Some(at) = Some(byte).filter(|&byte| byte != 0).and_then(|byte| self.step(base, byte)) else {
                return false;
            };
            base = at ^ offset(self.units[at]);
        }
        (1..=u8::MAX).any(|byte| self.step(base, byte).is_some())
    }

    /// Are letters mapped to letters alone, and no text that goes on after one, but for marks that it may be composed
    /// with? Is a space left as it is, wherever it is? False also where this cannot be said at once.
    ///
    /// Cost: linear in the map and in the number of letters.
    pub fn keeps_words(&self, is_letter: fn(char) -> bool) -> bool {
        if self.has_key_from(b' ') || self.is_inside_key(b' ') {
            return false;
        }
        let mut buffer = [0; 4];
        ('\0'..=char::MAX).filter(|&c| is_letter(c)).all(|c| {
            let text = c.encode_utf8(&mut buffer).as_bytes();
            let is_kept = |(length, new): (usize, &str)| {
                length < text.len() || (!new.is_empty() && new.chars().all(is_letter))
            };
            self.keys(text).all(is_kept) && !self.goes_on_to(text, is_letter)
        })
    }

    /// The replacements, whatever they replace.
    pub fn replacements(&self) -> impl Iterator<Item = &str> {
        self.replacements.split('\0')
    }

    /// Does a key of several bytes have this byte in it?
    pub fn is_inside_key(&self, byte: u8) -> bool {
        let leads_to_it = |(at, &unit): (usize, &u32)| {
            label(unit) <= 0xff && label(unit) != 0 && self.step(at ^ offset(unit), byte).is_some()
        };
        self.goes_on(&[byte]) || self.units.iter().enumerate().any(leads_to_it)
    }

    /// Is something true of the replacements of all keys that begin with such a character? False also if a key is no
    /// text.
    ///
    /// Cost: linear in the size of the map. Branches of the trie may meet again, and are followed once.
    pub fn all_replacements_from(
        &self,
        is_first: impl Fn(char) -> bool,
        is_true: impl Fn(&str) -> bool,
    ) -> bool {
        let children = Children::new(&self.units);
        // Groups of units that begin, and go on after, such a character.
        let (mut begun, mut groups) = (vec![(self.root, [0; 4], 0)], Vec::new());
        let holds = |at: u32| {
            let unit = self.units[at as usize];
            let base = at as usize ^ offset(unit);
            let new =
                self.units.get(base).filter(|_| has_leaf(unit)).and_then(|&leaf| self.replacement(leaf));
            (base, new.is_none_or(&is_true))
        };
        while let Some((group, mut key, length)) = begun.pop() {
            for &at in children.of(group) {
                key[length] = label(self.units[at as usize]) as u8;
                match std::str::from_utf8(&key[..=length]).ok().and_then(|key| key.chars().next()) {
                    Some(first) if is_first(first) => match holds(at) {
                        (base, true) => groups.push(base),
                        _ => return false,
                    },
                    Some(_) => {}
                    None if length < 3 => {
                        let group = at as usize ^ offset(self.units[at as usize]);
                        begun.push((group, key, length + 1));
                    }
                    None => return false,
                }
            }
        }
        let mut is_seen = vec![false; self.units.len()];
        while let Some(group) = groups.pop() {
            if group >= self.units.len() || std::mem::replace(&mut is_seen[group], true) {
                continue;
            }
            for &at in children.of(group) {
                match holds(at) {
                    (base, true) => groups.push(base),
                    _ => return false,
                }
            }
        }
        true
    }

    /// Is a text, followed by a letter, the beginning of a key?
    fn goes_on_to(&self, text: &[u8], is_letter: fn(char) -> bool) -> bool {
        let mut base = self.root;
        for &byte in text {
            let Some(at) = self.step(base, byte) else { return false };
            base = at ^ offset(self.units[at]);
        }
        let mut begun = vec![(base, Vec::new())];
        while let Some((base, bytes)) = begun.pop() {
            for byte in 1..=u8::MAX {
                let Some(at) = self.step(base, byte) else { continue };
                let longer = [&bytes[..], &[byte]].concat();
                match std::str::from_utf8(&longer) {
                    Ok(next) if next.contains(is_letter) => return true,
                    Err(_) if longer.len() < 4 => begun.push((at ^ offset(self.units[at]), longer)),
                    _ => {}
                }
            }
        }
        false
    }

    /// Length in bytes of the longest replacement.
    pub fn longest_replacement(&self) -> usize {
        self.replacements.split('\0').map(str::len).max().unwrap_or_default()
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.units.len() * 4 + self.replacements.len()
    }

    /// The keys that are prefixes of `text`, shortest first.
    fn keys(&self, text: &[u8]) -> impl Iterator<Item = (usize, &str)> {
        self.leaves(text).filter_map(|(length, leaf)| Some((length, self.replacement(leaf)?)))
    }

    /// The lengths of the keys that are prefixes of `text`, shortest first, and the units that have their values.
    #[inline]
    fn leaves(&self, text: &[u8]) -> impl Iterator<Item = (usize, u32)> {
        let mut base = self.root;
        // Keys are zero-terminated, so no key contains a zero byte.
        let bytes = text.iter().copied().take_while(|&byte| byte != 0).enumerate();
        bytes
            .map_while(move |(i, byte)| {
                let at = self.step(base, byte)?;
                let unit = self.units[at];
                base = at ^ offset(unit);
                Some(has_leaf(unit).then_some((i + 1, base)))
            })
            .flatten()
            .filter_map(|(length, leaf)| Some((length, *self.units.get(leaf)?)))
    }

    /// The unit for `byte` in the group of units at `base`.
    #[inline]
    fn step(&self, base: usize, byte: u8) -> Option<usize> {
        let at = base ^ usize::from(byte);
        (label(*self.units.get(at)?) == u32::from(byte)).then_some(at)
    }

    fn replacement(&self, unit: u32) -> Option<&str> {
        let rest = self.replacements.get(value(unit)..)?;
        Some(rest.split_once('\0').map_or(rest, |(replacement, _)| replacement))
    }

    /// Visits every path once, depth first, so that a cycle is found.
    fn check(&self) -> Result<()> {
        let children = Children::new(&self.units);
        // Length of the longest path from each unit, once it is known.
        let mut heights: Vec<u32> = vec![UNKNOWN; self.units.len()];
        self.check_target(self.root, 0)?;
        // Units on the current path, each with the children still to visit.
        let mut path = vec![(0, children.of(self.root), 1)];
        heights[0] = ON_PATH;
        while let Some((at, left, height)) = path.last_mut() {
            if let Some((&child, rest)) = left.split_first() {
                *left = rest;
                let child = child as usize;
                match heights[child] {
                    UNKNOWN => {
                        let base = self.check_unit(child)?;
                        heights[child] = ON_PATH;
                        path.push((child, children.of(base), 1));
                    }
                    ON_PATH => {
                        return Err(defect(format!("unit {child} of the trie leads back to itself")));
                    }
                    known => *height = (*height).max(known + 1),
                }
            } else {
                let (at, height) = (*at, *height);
                if height as usize > LONGEST_KEY + 1 {
                    return Err(defect(format!("a key is longer than {LONGEST_KEY} bytes")));
                }
                heights[at] = height;
                path.pop();
                if let Some((_, _, parent)) = path.last_mut() {
                    *parent = (*parent).max(height + 1);
                }
            }
        }
        Ok(())
    }

    /// Checks a unit and returns the index of its children.
    fn check_unit(&self, at: usize) -> Result<usize> {
        let unit = self.units[at];
        let base = at ^ offset(unit);
        self.check_target(base, at)?;
        if has_leaf(unit) && self.replacement(self.units[base]).is_none() {
            let reason = format!("unit {at} of the trie names a replacement that does not exist");
            return Err(defect(reason));
        }
        Ok(base)
    }

    fn check_target(&self, base: usize, at: usize) -> Result<()> {
        if base < self.units.len() {
            return Ok(());
        }
        Err(defect(format!("unit {at} of the trie points past its end")))
    }
}

const UNKNOWN: u32 = u32::MAX;
const ON_PATH: u32 = u32::MAX - 1;

/// The children of a unit, by the index of their group.
struct Children {
    starts: Vec<u32>,
    units: Vec<u32>,
}

impl Children {
    fn new(units: &[u32]) -> Self {
        let group = |at: usize, unit: u32| {
            let label = label(unit);
            (1..256).contains(&label).then_some(at ^ label as usize).filter(|&group| group < units.len())
        };
        let groups = || units.iter().enumerate().filter_map(|(at, &unit)| Some((at, group(at, unit)?)));
        let mut starts = vec![0; units.len() + 2];
        groups().for_each(|(_, group)| starts[group + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut members = vec![0; starts.last().copied().unwrap_or_default() as usize];
        for (at, group) in groups() {
            let next = &mut starts[group + 1];
            members[*next as usize] = at as u32;
            *next += 1;
        }
        Self { starts, units: members }
    }

    fn of(&self, group: usize) -> &[u32] {
        &self.units[self.starts[group] as usize..self.starts[group + 1] as usize]
    }
}
