//! Texts that hold some bytes. In: bytes, which may begin and end inside a character. Out: texts.
use crate::error::Result;

/// Takes a text; true if no more are wanted.
pub(super) type Found<'a> = dyn FnMut(&str) -> Result<bool> + 'a;

/// A text of bytes, which may begin and end inside a character, in the neighbourhoods in which a split may leave it
/// whole.
pub(super) fn each_around(bytes: &[u8], most: usize, found: &mut Found<'_>) -> Result<bool> {
    for text in completed(bytes, most) {
        for (before, after) in
            [("", ""), (" ", ""), ("a", ""), ("", "a"), (" ", " "), ("\n", "\n"), ("1", "1"), (".", ".")]
        {
            if found(&[before, &text, after].concat())? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Texts that hold these bytes, at most about `most`: the characters at both ends are completed if they are cut.
pub(super) fn completed(bytes: &[u8], most: usize) -> Vec<String> {
    let is_inner = |byte: &u8| byte & 0xc0 == 0x80;
    let inner = bytes.iter().take_while(|byte| is_inner(byte)).count();
    let heads: Vec<Vec<u8>> = match inner {
        0 => vec![Vec::new()],
        1 => {
            let of_two = (0xc2..=0xdf_u8).map(|lead| vec![lead]);
            let of_three =
                (0xe0..=0xef_u8).flat_map(|lead| [0x80, 0x90, 0xa0, 0xbf].map(|next| vec![lead, next]));
            of_two.chain(of_three).chain([vec![0xf0, 0x9f, 0x98], vec![0xf0, 0x9f, 0x91]]).collect()
        }
        2 => {
            let of_three = (0xe0..=0xef_u8).map(|lead| vec![lead]);
            of_three.chain((0x90..=0xbf_u8).map(|next| vec![0xf0, next])).collect()
        }
        _ => (0xf0..=0xf4_u8).map(|lead| vec![lead]).collect(),
    };
    let tails: Vec<Vec<u8>> = match missing(bytes) {
        0 => vec![Vec::new()],
        1 => (0x80..=0xbf_u8).map(|byte| vec![byte]).collect(),
        2 => (0x80..=0xbf_u8).flat_map(|byte| [0x80, 0xa0, 0xbf].map(|last| vec![byte, last])).collect(),
        _ => (0x90..=0xbf_u8).map(|byte| vec![byte, 0x80, 0x80]).collect(),
    };
    let joined =
        heads.iter().flat_map(|head| tails.iter().map(move |tail| [head.as_slice(), bytes, tail].concat()));
    joined.filter_map(|bytes| String::from_utf8(bytes).ok()).take(most).collect()
}

/// The bytes that the character at the end of these bytes lacks.
fn missing(bytes: &[u8]) -> usize {
    let inner = bytes.iter().rev().take_while(|byte| **byte & 0xc0 == 0x80).count();
    let lead = bytes.len().checked_sub(inner + 1).map_or(0, |at| bytes[at]);
    let length = match lead {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    };
    usize::saturating_sub(length, inner + 1)
}
