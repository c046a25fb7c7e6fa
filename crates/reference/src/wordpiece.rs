//! WordPiece by the definition.

/// Token and end of each part of a pretoken: the longest token first, from left to right, with
/// `prefix` before every part but the first. `None` where that does not come to the end, or where
/// the pretoken has more than `max_chars` characters.
pub fn wordpiece(
    pretoken: &str,
    tokens: &[String],
    prefix: &str,
    max_chars: usize,
) -> Option<Vec<(usize, usize)>> {
    if pretoken.chars().count() > max_chars {
        return None;
    }
    let mut parts = vec![];
    let mut start = 0;
    while start < pretoken.len() {
        let mut ends = (start + 1..=pretoken.len()).rev().filter(|&end| pretoken.is_char_boundary(end));
        let longest = ends.find_map(|end| {
            let part = &pretoken[start..end];
            let written = if start == 0 { part.to_owned() } else { format!("{prefix}{part}") };
            Some((tokens.iter().position(|token| *token == written)?, end))
        });
        parts.push(longest?);
        start = longest?.1;
    }
    Some(parts)
}
