//! Encoding by the definition.

/// The symbols of one pretoken, merged: again and again the merge of lowest rank that applies
/// anywhere, at its leftmost place. A merge is (left, right, result); its rank is its index.
/// Cost: quadratic in the symbols, times the merges.
pub fn encode(symbols: &[usize], merges: &[(usize, usize, usize)]) -> Vec<usize> {
    let symbols: Vec<_> = symbols.iter().map(|&symbol| (symbol, 1)).collect();
    encode_wide(&symbols, merges).into_iter().map(|(symbol, _)| symbol).collect()
}

/// As [`encode`], for symbols with widths: what merges is as wide as its parts.
pub fn encode_wide(symbols: &[(usize, usize)], merges: &[(usize, usize, usize)]) -> Vec<(usize, usize)> {
    let mut symbols = symbols.to_vec();
    loop {
        let applies = merges.iter().find_map(|&(left, right, result)| {
            let at = symbols.windows(2).position(|pair| (pair[0].0, pair[1].0) == (left, right))?;
            Some((at, result))
        });
        let Some((at, result)) = applies else { return symbols };
        let width = symbols[at].1 + symbols[at + 1].1;
        symbols.splice(at..at + 2, [(result, width)]);
    }
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn lowest_rank_first_then_leftmost() {
        let merges = [(1, 2, 10), (0, 1, 11), (0, 0, 12)];
        assert_eq!(encode(&[0, 1, 2], &merges), [0, 10]);
        assert_eq!(encode(&[0, 0, 0], &merges), [12, 0]);
        assert_eq!(encode(&[], &merges), [0; 0]);
    }
}
