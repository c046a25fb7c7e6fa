//! Building blocks of a trie in a double array. Each node has a base, and its child by a byte is in slot `base ^
//! byte`, so one lookup finds the child.
//!
//! In: byte strings, and then the labels of one node after the other. Out: the strings in sorted order, the
//! groups into which they branch, and a base for each node. No slot is ever taken twice.

/// The number of slots in a block. All children of a node are in one block.
pub(crate) const SLOT_BLOCK: usize = 256;

/// The number of blocks, counted from the last, that are tried for a node with several children before a new block
/// is opened.
const OPEN_BLOCKS: usize = 4;

/// For up to this many children, bases are tried one by one.
const FEW: usize = 4;

/// The strings in ascending order, with their bytes concatenated.
pub(crate) struct SortedKeys {
    pub(crate) bytes: Vec<u8>,
    offsets: Vec<usize>,
    pub(crate) numbers: Vec<u32>,
}

impl SortedKeys {
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = (u32, &'a [u8])>) -> Self {
        // Most comparisons are decided by the first eight bytes, which are compared as one number.
        let head = |key: &[u8]| {
            let mut head = [0; 8];
            let length = key.len().min(8);
            head[..length].copy_from_slice(&key[..length]);
            u64::from_be_bytes(head)
        };
        let keys: Vec<(u32, &[u8])> = keys.into_iter().filter(|(_, key)| !key.is_empty()).collect();
        let mut order: Vec<(u64, usize)> = (0..keys.len()).map(|i| (head(keys[i].1), i)).collect();
        // Equal strings stay in the order in which they came.
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| keys[a.1].1.cmp(keys[b.1].1)).then_with(|| a.1.cmp(&b.1))
        });
        let mut sorted = Self {
            bytes: Vec::with_capacity(keys.iter().map(|(_, key)| key.len()).sum()),
            offsets: Vec::with_capacity(keys.len() + 1),
            numbers: order.iter().map(|&(_, i)| keys[i].0).collect(),
        };
        sorted.offsets.push(0);
        for (_, i) in order {
            sorted.bytes.extend_from_slice(keys[i].1);
            sorted.offsets.push(sorted.bytes.len());
        }
        sorted
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.offsets[index]..self.offsets[index + 1]]
    }

    /// Groups the strings `from..to`, which share their first `depth` bytes, by the next byte. `branches` gets
    /// this byte and the end of each group. Returns the start of the first group. The strings before it end at
    /// this depth.
    pub(crate) fn branch(
        &self,
        (mut from, to): (usize, usize),
        depth: usize,
        branches: &mut Branches,
    ) -> usize {
        branches.labels.clear();
        branches.ends.clear();
        while from < to && self.get(from).len() == depth {
            from += 1;
        }
        let mut at = from;
        while at < to {
            let label = self.get(at)[depth];
            while at < to && self.get(at)[depth] == label {
                at += 1;
            }
            branches.labels.push(label);
            branches.ends.push(at);
        }
        from
    }
}

/// The groups of [`SortedKeys::branch`].
#[derive(Default)]
pub(crate) struct Branches {
    pub(crate) labels: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

/// Records which slots of the array are taken.
pub(crate) struct SlotAllocator {
    /// For each block, a bit for each slot that is free.
    free: Vec<[u64; 4]>,
    /// The first block that may have a free slot.
    first_free: usize,
}

impl Default for SlotAllocator {
    /// One block in which the root has slot 0.
    fn default() -> Self {
        Self { free: vec![[u64::MAX << 1, u64::MAX, u64::MAX, u64::MAX]], first_free: 0 }
    }
}

impl SlotAllocator {
    /// The number of slots in all blocks.
    pub(crate) fn len(&self) -> usize {
        self.free.len() * SLOT_BLOCK
    }

    /// The first base in this block for which the slots of all labels are free. Fast for few labels.
    fn base_of_few(&self, block: usize, labels: &[u8]) -> Option<u8> {
        let has = |bits: &[u64; 4], at: u8| bits[usize::from(at >> 6)] >> (at & 63) & 1 == 1;
        let free = &self.free[block];
        let (&label, others) = labels.split_first()?;
        for (word, &bits) in free.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let base = (word as u32 * 64 + bits.trailing_zeros()) as u8 ^ label;
                if others.iter().all(|other| has(free, base ^ other)) {
                    return Some(base);
                }
                bits &= bits - 1;
            }
        }
        None
    }

    /// As [`Self::base_of_few`], but tests all bases at once.
    fn base_of_many(&self, block: usize, labels: &[u8]) -> Option<u8> {
        let free: u32 = self.free[block].iter().map(|word| word.count_ones()).sum();
        if (free as usize) < labels.len() {
            return None;
        }
        let mut bases = [u64::MAX; 4];
        for &label in labels {
            let free = xor_all(&self.free[block], label);
            for (base, free) in bases.iter_mut().zip(free) {
                *base &= free;
            }
            if bases == [0; 4] {
                return None;
            }
        }
        first_bit(&bases)
    }

    /// Takes slots for the children of a node, and returns the node's base.
    pub(crate) fn take(&mut self, labels: &[u8]) -> u32 {
        let last = self.free.len().saturating_sub(OPEN_BLOCKS);
        // A single child takes the first free slot of the whole array.
        while self.first_free < self.free.len() && self.free[self.first_free] == [0; 4] {
            self.first_free += 1;
        }
        let gap = (labels.len() == 1 && self.first_free < last).then_some(self.first_free);
        let found = gap.into_iter().chain(last..self.free.len()).find_map(|block| {
            let base = if labels.len() <= FEW {
                self.base_of_few(block, labels)
            } else {
                self.base_of_many(block, labels)
            };
            Some((block, base?))
        });
        let (block, base) = found.unwrap_or_else(|| {
            self.free.push([u64::MAX; 4]);
            (self.free.len() - 1, 0)
        });
        for label in labels {
            let at = base ^ label;
            self.free[block][usize::from(at >> 6)] &= !(1 << (at & 63));
        }
        (block * SLOT_BLOCK) as u32 | u32::from(base)
    }
}

fn first_bit(bits: &[u64; 4]) -> Option<u8> {
    let word = bits.iter().position(|&word| word != 0)?;
    Some((word as u32 * 64 + bits[word].trailing_zeros()) as u8)
}

/// The set of `x ^ label` for all bytes `x` in the given set.
fn xor_all(bits: &[u64; 4], label: u8) -> [u64; 4] {
    const SWAPS: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    std::array::from_fn(|word| {
        let mut word = bits[word ^ usize::from(label >> 6)];
        for (bit, mask) in SWAPS.into_iter().enumerate() {
            if label >> bit & 1 == 1 {
                let by = 1 << bit;
                word = (word & mask) << by | word >> by & mask;
            }
        }
        word
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn xor_of_a_set_is_that_of_its_members(bits: [u64; 4], label: u8) {
            let result = xor_all(&bits, label);
            for x in 0..=255u8 {
                let y = x ^ label;
                prop_assert_eq!(bits[usize::from(x >> 6)] >> (x & 63) & 1, result[usize::from(y >> 6)] >> (y & 63) & 1);
            }
        }
    }
}
