//! Learning merges by the definition: count everything, merge the best pair, start again.
use std::collections::HashMap;

/// Which of several equally frequent pairs merges first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tie {
    /// The smallest (left bytes, right bytes).
    Smallest,
    /// The largest (left bytes, right bytes).
    Largest,
    /// The one met first in a scan of the corpus as it now stands.
    FirstSeen,
    /// The smallest (left, right) by number, where the base symbols are numbered by this table
    /// and merged ones follow in order.
    Ranks(Vec<usize>),
}

/// What to learn.
#[derive(Debug, Clone)]
pub struct Training {
    /// The bytes of each base symbol; a symbol is its index.
    pub alphabet: Vec<Vec<u8>>,
    /// The size of each, for `max_size`.
    pub sizes: Vec<usize>,
    /// Pretokens in symbols, with their weights.
    pub types: Vec<(Vec<usize>, u64)>,
    /// The most merges.
    pub num_merges: usize,
    /// The tie-break.
    pub tie: Tie,
    /// The smallest count that merges.
    pub min_frequency: u64,
    /// The largest size of a token, inclusive.
    pub max_size: Option<usize>,
}

/// A merge: its parts, and its count when it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// Symbol of the left part.
    pub left: usize,
    /// Symbol of the right part.
    pub right: usize,
    /// Weighted adjacent occurrences, overlapping ones too.
    pub count: u64,
}

/// The count of each pair of neighbours, overlapping occurrences included, in order of first
/// occurrence.
pub fn pair_counts(types: &[(Vec<usize>, u64)]) -> Vec<((usize, usize), u64)> {
    let mut counts: Vec<((usize, usize), u64)> = Vec::new();
    let mut places = HashMap::new();
    for (symbols, weight) in types {
        for pair in symbols.windows(2) {
            let pair = (pair[0], pair[1]);
            let place = *places.entry(pair).or_insert_with(|| {
                counts.push((pair, 0));
                counts.len() - 1
            });
            counts[place].1 += weight;
        }
    }
    counts
}

/// Learns merges and leaves the types merged. Cost: the corpus times the merges.
pub fn train(training: &mut Training) -> Vec<Learned> {
    let mut tokens = training.alphabet.clone();
    let mut sizes = training.sizes.clone();
    let mut merges = Vec::new();
    while merges.len() < training.num_merges {
        let mut best: Option<((usize, usize), u64)> = None;
        for (pair, count) in pair_counts(&training.types) {
            let fits = training.max_size.is_none_or(|max| sizes[pair.0] + sizes[pair.1] <= max);
            if !fits || count < training.min_frequency {
                continue;
            }
            let better = best.is_none_or(|(other, most)| {
                count > most || count == most && first(&training.tie, &tokens, pair, other)
            });
            if better {
                best = Some((pair, count));
            }
        }
        let Some(((left, right), count)) = best else { break };
        let result = tokens.len();
        tokens.push([tokens[left].clone(), tokens[right].clone()].concat());
        sizes.push(sizes[left] + sizes[right]);
        for (symbols, _) in &mut training.types {
            replace(symbols, (left, right), result);
        }
        merges.push(Learned { left, right, count });
    }
    merges
}

/// Does `pair` come before `other`, which was met earlier?
fn first(tie: &Tie, tokens: &[Vec<u8>], pair: (usize, usize), other: (usize, usize)) -> bool {
    let bytes = |(left, right): (usize, usize)| (&tokens[left], &tokens[right]);
    match tie {
        Tie::Smallest => bytes(pair) < bytes(other),
        Tie::Largest => bytes(pair) > bytes(other),
        Tie::FirstSeen => false,
        Tie::Ranks(ranks) => {
            let rank = |symbol: usize| ranks.get(symbol).copied().unwrap_or(symbol);
            (rank(pair.0), rank(pair.1)) < (rank(other.0), rank(other.1))
        }
    }
}

/// Replaces a pair from the left, without overlap.
fn replace(symbols: &mut Vec<usize>, (left, right): (usize, usize), result: usize) {
    let mut at = 0;
    while at + 1 < symbols.len() {
        if (symbols[at], symbols[at + 1]) == (left, right) {
            symbols.splice(at..at + 2, [result]);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_count_and_replacement_goes_from_the_left() {
        assert_eq!(pair_counts(&[(vec![0, 0, 0, 1], 2)]), [((0, 0), 4), ((0, 1), 2)]);
        let mut symbols = vec![0, 0, 0];
        replace(&mut symbols, (0, 0), 1);
        assert_eq!(symbols, [1, 0]);
    }
}
