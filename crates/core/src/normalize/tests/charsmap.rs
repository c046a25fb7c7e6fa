use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::charsmap::Charsmap;
use crate::error::{Defect, Kind};

#[derive(Default)]
struct Node {
    children: BTreeMap<u8, Node>,
    replacement: Option<usize>,
}

/// Writes a map as SentencePiece does, each unit at the first free index.
pub(crate) fn blob(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut root = Node::default();
    let mut replacements = Vec::new();
    for (key, replacement) in entries {
        let mut node = &mut root;
        for byte in key.bytes() {
            node = node.children.entry(byte).or_default();
        }
        node.replacement = Some(replacements.len());
        replacements.extend(replacement.bytes().chain([0]));
    }
    let mut units = vec![None; 256];
    units[0] = Some(0);
    place(&root, 0, 0, &mut units, &mut BTreeSet::new());
    let units: Vec<u8> = units.into_iter().flat_map(|unit| unit.unwrap_or(0).to_le_bytes()).collect();
    [&(units.len() as u32).to_le_bytes()[..], &units, &replacements].concat()
}

fn place(node: &Node, at: usize, label: u8, units: &mut Vec<Option<u32>>, bases: &mut BTreeSet<usize>) {
    let leaf = node.replacement.map(|_| 0);
    let labels: Vec<u8> = leaf.into_iter().chain(node.children.keys().copied()).collect();
    let base = (1..1 << 16)
        .find(|base| {
            units.resize(units.len().max((base | 0xff) + 1), None);
            !bases.contains(base) && labels.iter().all(|&label| units[base ^ usize::from(label)].is_none())
        })
        .unwrap();
    bases.insert(base);
    units[at] = Some(((at ^ base) as u32) << 10 | u32::from(leaf.is_some()) << 8 | u32::from(label));
    for &label in &labels {
        units[base ^ usize::from(label)] = Some(0);
    }
    if let Some(value) = node.replacement {
        units[base] = Some(value as u32 | 1 << 31);
    }
    for (&label, child) in &node.children {
        place(child, base ^ usize::from(label), label, units, bases);
    }
}

const ENTRIES: [(&str, &str); 7] =
    [("a", "1"), ("abc", "2"), ("é", "e"), ("e\u{301}", "é"), ("①", "1"), ("\u{3000}", " "), ("\r", "")];

fn defect(blob: &[u8]) -> String {
    let error = Charsmap::parse(blob).unwrap_err();
    assert!(matches!(error.kind, Kind::Format { defect: Defect::Charsmap, .. }));
    error.to_string()
}

#[test]
fn the_shortest_and_the_longest_key_are_found() {
    let map = Charsmap::parse(&blob(&ENTRIES)).unwrap();
    assert_eq!(map.shortest(b"abcd"), Some("1"));
    assert_eq!(map.longest(b"abcd"), Some((3, "2")));
    assert_eq!(map.longest(b"abd"), Some((1, "1")));
    assert_eq!(map.longest("é".as_bytes()), Some((2, "e")));
    assert_eq!(map.longest(b"\r"), Some((1, "")));
    assert_eq!(map.longest(b"e"), None);
    assert_eq!(map.longest(b""), None);
    assert_eq!(map.longest(b"\0a"), None);
    assert!(map.has_key_from(b'e') && !map.has_key_from(b'b') && !map.has_key_from(0));
}

#[test]
fn what_is_wrong_with_a_blob_is_said() {
    let good = blob(&ENTRIES);
    assert!(defect(b"").contains("too few"));
    assert!(defect(&[0; 4]).contains("does not fit"));
    assert!(defect(&good[..100]).contains("does not fit"));
    let mut blob = good.clone();
    *blob.last_mut().unwrap() = 0xff;
    assert!(defect(&blob).contains("not UTF-8"));
    // The root points outside the trie.
    let mut blob = good.clone();
    blob[4..8].copy_from_slice(&0xffff_fe00_u32.to_le_bytes());
    assert!(defect(&blob).contains("past its end"));
    // A unit that is its own child: unit 97, which `a` leads to from unit 0 and from itself.
    let units: Vec<u8> = (0..256_u32)
        .flat_map(|at| if at == 0x61 { 0x61_u32 << 10 | 0x61 } else { 0 }.to_le_bytes())
        .collect();
    let blob = [&1024_u32.to_le_bytes()[..], &units].concat();
    assert!(defect(&blob).contains("leads back to itself"));
    // A value beyond the replacements.
    let size = u32::from_le_bytes([good[0], good[1], good[2], good[3]]) as usize;
    assert!(defect(&good[..4 + size]).contains("does not exist"));
}

#[test]
fn no_flipped_bit_makes_it_panic() {
    let good = blob(&ENTRIES);
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let Ok(map) = Charsmap::parse(&bad) else { continue };
        for text in ["abc", "é①\r\u{3000}", "\u{10ffff}zzzz"] {
            for at in 0..text.len() {
                map.shortest(&text.as_bytes()[at..]);
                map.longest(&text.as_bytes()[at..]);
            }
        }
    }
}

#[test]
fn a_cluster_is_replaced_by_its_shortest_key() {
    let steps = [Normalizer::Precompiled(blob(&ENTRIES).into())];
    check(&steps, "①\u{301}b", "1b", &[(0, 2), (2, 3)]);
    check(&steps, "abc", "1bc", &[(0, 1), (1, 2), (2, 3)]);
    check(&steps, "e\u{301}", "é", &[(0, 2)]);
    // Six bytes: mapped character by character.
    check(&steps, "①\u{3099}", "1\u{3099}", &[(0, 1), (1, 2)]);
    // The line feed belongs to the cluster; in the reference all later offsets are one too low.
    check(&steps, "\r\nb", "b", &[(2, 3)]);
    check(&steps, "xyz", "xyz", &[(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn what_no_walk_comes_to_is_doubted() {
    // SentencePiece's compiler writes whole blocks, and the root is the first unit.
    let good = blob(&ENTRIES);
    assert_eq!(Charsmap::doubt(&good), None);
    let with_unit = |at: usize, unit: u32| {
        let mut bad = good.clone();
        bad[4 + 4 * at..8 + 4 * at].copy_from_slice(&unit.to_le_bytes());
        Charsmap::doubt(&bad).unwrap_or_default()
    };
    let units = u32::from_le_bytes([good[0], good[1], good[2], good[3]]) as usize / 4;
    let unit = |at: usize| u32::from_le_bytes(good[4 + 4 * at..8 + 4 * at].try_into().unwrap());
    let unused = (1..units).find(|&at| unit(at) == 0).unwrap();
    let no_value = (1..units).find(|&at| unit(at) >> 31 == 0).unwrap();
    for wrong in [0xffff_ffff, 0x7fff_fe00, ((unused ^ no_value) as u32) << 10 | 0x100] {
        assert!(with_unit(unused, wrong).ends_with("leads nowhere"), "{wrong:x}");
    }
    for wrong in [unit(0) | 8, unit(0) | 0x100, 0] {
        assert!(with_unit(0, wrong).contains("no root"), "{wrong:x}");
    }
    let mut bad = good.clone();
    *bad.last_mut().unwrap() = b'a';
    assert!(Charsmap::doubt(&bad).unwrap().contains("zero byte"));
    let mut bad = good;
    bad[0] = 4;
    assert!(Charsmap::doubt(&bad).unwrap().contains("blocks"));
}
