//! Writes a map as the blob of a model file.
//!
//! In: rules, in the order of their bytes. Out: the trie, as a double array, and the replacements. Equal ends of the
//! trie are shared: there are many spellings of Korean syllables.
use std::collections::{BTreeMap, BTreeSet, HashMap};

use tokenmill_core::charsmap::BLOCK;

/// Sequences of characters and what they become.
pub(super) type Rules = BTreeMap<String, String>;

/// The longest distance that a unit can hold as it stands; a multiple of 256 may be longer.
const FAR: usize = 1 << 21;

const IS_VALUE: u32 = 1 << 31;

/// A node of the trie: what its key becomes, and its children.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Node {
    value: Option<u32>,
    children: Vec<(u8, u32)>,
}

/// The blob of these rules.
pub(super) fn write(rules: &Rules) -> Vec<u8> {
    let mut replacements = String::new();
    let mut places: BTreeMap<&str, u32> = rules.values().map(|new| (new.as_str(), 0)).collect();
    for (new, place) in &mut places {
        *place = replacements.len() as u32;
        replacements.push_str(new);
        replacements.push('\0');
    }
    let (nodes, root) = shared_nodes(rules.iter().map(|(key, new)| (key.as_bytes(), places[new.as_str()])));
    let units = Array::of(&nodes, root).units;
    let mut blob = ((units.len() * 4) as u32).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend(replacements.as_bytes());
    blob
}

/// The nodes of a trie of sorted keys, of which no two are equal; and the root.
fn shared_nodes<'a>(keys: impl Iterator<Item = (&'a [u8], u32)>) -> (Vec<Node>, u32) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut numbers: HashMap<Node, u32> = HashMap::new();
    let mut close = |node: Node| {
        *numbers.entry(node).or_insert_with_key(|node| {
            nodes.push(node.clone());
            nodes.len() as u32 - 1
        })
    };
    // The nodes of the latest key: the root, then one for each byte.
    let mut open = vec![Node::default()];
    let mut latest: &[u8] = &[];
    for (key, value) in keys {
        let shared = key.iter().zip(latest).take_while(|(a, b)| a == b).count();
        close_down(&mut open, latest, shared, &mut close);
        open.resize_with(key.len() + 1, Node::default);
        open[key.len()].value = Some(value);
        latest = key;
    }
    close_down(&mut open, latest, 0, &mut close);
    let root = close(open.swap_remove(0));
    (nodes, root)
}

/// Closes the nodes after the first `shared` bytes of the latest key.
fn close_down(open: &mut Vec<Node>, latest: &[u8], shared: usize, close: &mut impl FnMut(Node) -> u32) {
    while open.len() > shared + 1
        && let Some(node) = open.pop()
    {
        let number = close(node);
        let byte = latest[open.len() - 1];
        if let Some(parent) = open.last_mut() {
            parent.children.push((byte, number));
        }
    }
}

/// The double array. The children of a node stand at its base, each at the index of the base XOR its byte; the value
/// stands at the base itself.
struct Array {
    units: Vec<u32>,
    is_used: Vec<bool>,
    /// No two nodes have the same base, so that a unit belongs to one.
    bases: BTreeSet<usize>,
    /// All units before this one are used.
    first_free: usize,
}

impl Array {
    fn of(nodes: &[Node], root: u32) -> Self {
        let mut array =
            Self { units: Vec::new(), is_used: Vec::new(), bases: BTreeSet::new(), first_free: 1 };
        array.grow();
        array.is_used[0] = true;
        // A shared node is placed once.
        let mut base_of: Vec<Option<usize>> = vec![None; nodes.len()];
        let mut open = vec![(0, root)];
        while let Some((at, number)) = open.pop() {
            let node = &nodes[number as usize];
            let base = base_of[number as usize].filter(|base| is_near(at, *base)).unwrap_or_else(|| {
                let base = array.place(node, at);
                open.extend(node.children.iter().map(|&(byte, child)| (base ^ usize::from(byte), child)));
                base
            });
            base_of[number as usize] = Some(base);
            array.units[at] |= distance(at ^ base) | if node.value.is_some() { 1 << 8 } else { 0 };
        }
        array.mark_unused();
        array
    }

    /// Adds a block of units.
    fn grow(&mut self) {
        let length = self.units.len() + BLOCK / 4;
        self.units.resize(length, 0);
        self.is_used.resize(length, false);
    }

    /// Finds a base for a node, and takes the units of its value and children.
    fn place(&mut self, node: &Node, at: usize) -> usize {
        let labels: Vec<usize> = node
            .value
            .map(|_| 0)
            .into_iter()
            .chain(node.children.iter().map(|&(byte, _)| usize::from(byte)))
            .collect();
        let first = labels.first().copied().unwrap_or(0);
        // Far back there are few free units; to look at them again for each node takes long.
        let mut free = self.first_free.max(self.units.len().saturating_sub(16 * BLOCK / 4));
        let base = loop {
            while free < self.units.len() && self.is_used[free] {
                free += 1;
            }
            if free == self.units.len() {
                self.grow();
            }
            let base = free ^ first;
            if base != 0
                && is_near(at, base)
                && !self.bases.contains(&base)
                && labels.iter().all(|label| !self.is_used[base ^ label])
            {
                break base;
            }
            free += 1;
        };
        self.bases.insert(base);
        for &label in &labels {
            self.is_used[base ^ label] = true;
            self.units[base ^ label] = label as u32;
        }
        if let Some(value) = node.value {
            self.units[base] = value | IS_VALUE;
        }
        while self.is_used.get(self.first_free) == Some(&true) {
            self.first_free += 1;
        }
        base
    }

    /// Gives each unused unit a label that no node looks for there.
    fn mark_unused(&mut self) {
        for block in (0..self.units.len()).step_by(BLOCK / 4) {
            let indices = block..block + BLOCK / 4;
            let Some(no_base) = indices.clone().find(|index| !self.bases.contains(index) && *index != 0)
            else {
                continue;
            };
            for index in indices.filter(|&index| !self.is_used[index]) {
                self.units[index] = (index ^ no_base) as u32;
            }
        }
    }
}

/// Can a unit at one index point to the other?
fn is_near(at: usize, base: usize) -> bool {
    let distance = at ^ base;
    distance < FAR || (distance.is_multiple_of(256) && distance < FAR << 8)
}

/// A distance as a unit holds it.
fn distance(distance: usize) -> u32 {
    if distance < FAR { (distance as u32) << 10 } else { (distance as u32) << 2 | 1 << 9 }
}
