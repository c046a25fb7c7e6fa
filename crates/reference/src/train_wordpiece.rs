//! Learning WordPiece by the definition: count everything, merge the best pair everywhere, start again.
use std::cmp::Ordering;
use std::collections::HashMap;

/// The score of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordPieceScore {
    /// Its count.
    Frequency,
    /// Its count, divided by those of its parts.
    Likelihood,
}

/// The pieces of words in the order of their numbers: the alphabet, then what `num_merges` merges made, and the count
/// of each merge. Pieces with the same written form are one piece. Cost: the corpus times the merges.
pub fn train_wordpiece(
    words: &[(String, u64)],
    prefix: &str,
    score: WordPieceScore,
    num_merges: usize,
    min_frequency: u64,
) -> (Vec<String>, Vec<u64>) {
    let continuing = |char: char| format!("{prefix}{char}");
    let mut rows: Vec<(Vec<String>, u64)> = Vec::new();
    let (mut begins, mut continues) = (Vec::new(), Vec::new());
    for (word, count) in words {
        begins.extend(word.chars().map(String::from));
        continues.extend(word.chars().skip(1).map(continuing));
        let first = word.chars().take(1).map(String::from);
        rows.push((first.chain(word.chars().skip(1).map(continuing)).collect(), *count));
    }
    let mut pieces: Vec<String> = Vec::new();
    for mut chars in [begins, continues] {
        chars.sort();
        for piece in chars {
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
    }
    let mut merge_counts = Vec::new();
    while merge_counts.len() < num_merges {
        let number: HashMap<&String, usize> =
            pieces.iter().enumerate().map(|(at, piece)| (piece, at)).collect();
        let mut counts = vec![0_u64; pieces.len()];
        let mut pairs: HashMap<(usize, usize), u64> = HashMap::new();
        for (row, count) in &rows {
            let row: Vec<usize> = row.iter().map(|piece| number[piece]).collect();
            for &piece in &row {
                counts[piece] += count;
            }
            for pair in row.windows(2) {
                *pairs.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        let better = |a: &((usize, usize), u64), b: &((usize, usize), u64)| {
            let by_score = match score {
                WordPieceScore::Frequency => a.1.cmp(&b.1),
                // Small counts: no product is too large.
                WordPieceScore::Likelihood => {
                    let parts =
                        |pair: (usize, usize)| u128::from(counts[pair.0]) * u128::from(counts[pair.1]);
                    (u128::from(a.1) * parts(b.0)).cmp(&(u128::from(b.1) * parts(a.0)))
                }
            };
            by_score.then(b.0.cmp(&a.0)) == Ordering::Greater
        };
        let frequent = pairs.into_iter().filter(|&(_, count)| count >= min_frequency);
        let best = frequent.reduce(|best, pair| if better(&pair, &best) { pair } else { best });
        let Some(((left, right), count)) = best else { break };
        let (left, right) = (pieces[left].clone(), pieces[right].clone());
        let joined = [&left, right.strip_prefix(prefix).unwrap_or(&right)].concat();
        for (row, _) in &mut rows {
            let mut at = 0;
            while at + 1 < row.len() {
                if row[at] == left && row[at + 1] == right {
                    row.splice(at..at + 2, [joined.clone()]);
                }
                at += 1;
            }
        }
        if !pieces.contains(&joined) {
            pieces.push(joined);
        }
        merge_counts.push(count);
    }
    (pieces, merge_counts)
}
