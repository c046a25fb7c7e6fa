//! Learning Unigram by its definition: every spelling of every word is listed.
#![allow(clippy::cast_precision_loss)] // counts become numbers of double precision

use std::collections::BTreeMap;

/// Pieces with their scores: the logarithms of their probabilities.
type Pieces = BTreeMap<String, f64>;

/// The pieces that are learned of words with their counts: all characters and others, `wanted` together, none longer
/// than `longest` characters. Words should be short.
pub fn train_unigram(words: &BTreeMap<String, u64>, wanted: usize, longest: usize) -> Vec<(String, f64)> {
    let mut pieces = seeds(words, longest);
    loop {
        let expected = expected(words, &pieces);
        let lowest = score_all(&mut pieces, &expected, digamma, |expected| expected >= 0.5);
        pieces.retain(|piece, _| is_char(piece) || expected[piece] >= 0.5);
        debug_assert!(lowest <= 0.0);
        let most = wanted * 115 / 100;
        if pieces.len() <= most {
            break;
        }
        let kept = most.max(pieces.len() * 85 / 100);
        prune(words, &mut pieces, kept);
    }
    // Characters, and the others with the highest scores.
    let mut longer: Vec<(String, f64)> =
        pieces.clone().into_iter().filter(|(piece, _)| !is_char(piece)).collect();
    longer.sort_by(|a, b| b.1.total_cmp(&a.1));
    let chars = pieces.len() - longer.len();
    for (piece, _) in longer.into_iter().skip(wanted - chars) {
        pieces.remove(&piece);
    }
    for _ in 0..2 {
        let expected = expected(words, &pieces);
        score_all(&mut pieces, &expected, f64::ln, |expected| expected > 0.0);
    }
    let mut pieces: Vec<(String, f64)> = pieces.into_iter().collect();
    pieces.sort_by(|a, b| b.1.total_cmp(&a.1));
    pieces
}

fn is_char(piece: &str) -> bool {
    piece.chars().nth(1).is_none()
}

/// All characters, and all substrings that occur twice and are not always followed by the same character. Each is
/// worth its count times its length.
fn seeds(words: &BTreeMap<String, u64>, longest: usize) -> Pieces {
    let mut found: BTreeMap<String, (u64, Vec<Option<char>>)> = BTreeMap::new();
    for (word, count) in words {
        let chars: Vec<char> = word.chars().collect();
        for start in 0..chars.len() {
            for end in start + 1..=chars.len().min(start + longest) {
                let entry = found.entry(chars[start..end].iter().collect()).or_default();
                entry.0 += count;
                // What follows the longest substrings does not count, and the end of a word differs from itself.
                let next = chars.get(end).copied().filter(|_| end < start + longest);
                if next.is_none() || !entry.1.contains(&next) {
                    entry.1.push(next);
                }
            }
        }
    }
    found.retain(|piece, (count, next)| {
        is_char(piece) || (*count > 1 && (next.len() > 1 || next.contains(&None)))
    });
    let worth = |piece: &str, count: u64| count as f64 * piece.chars().count() as f64;
    let total: f64 = found.iter().map(|(piece, (count, _))| worth(piece, *count)).sum();
    found
        .into_iter()
        .map(|(piece, (count, _))| (piece.clone(), (worth(&piece, count) / total).ln()))
        .collect()
}

/// All ways to spell a word.
fn spellings<'a>(word: &str, pieces: &'a Pieces) -> Vec<Vec<&'a str>> {
    if word.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (end, c) in word.char_indices() {
        let (first, rest) = word.split_at(end + c.len_utf8());
        if let Some((piece, _)) = pieces.get_key_value(first) {
            all.extend(
                spellings(rest, pieces).into_iter().map(|rest| [&[piece.as_str()], &rest[..]].concat()),
            );
        }
    }
    all
}

fn score(spelling: &[&str], pieces: &Pieces) -> f64 {
    spelling.iter().map(|piece| pieces[*piece]).sum()
}

/// How often each piece is expected to occur.
fn expected(words: &BTreeMap<String, u64>, pieces: &Pieces) -> BTreeMap<String, f64> {
    let mut expected: BTreeMap<String, f64> = pieces.keys().map(|piece| (piece.clone(), 0.0)).collect();
    for (word, count) in words {
        let all = spellings(word, pieces);
        let total: f64 = all.iter().map(|spelling| score(spelling, pieces).exp()).sum();
        for spelling in &all {
            let share = score(spelling, pieces).exp() / total;
            for piece in spelling {
                *expected.entry((*piece).to_owned()).or_default() += *count as f64 * share;
            }
        }
    }
    expected
}

/// Sets the scores from expected counts. What does not count gets the lowest score of the others, which is returned.
fn score_all(
    pieces: &mut Pieces,
    expected: &BTreeMap<String, f64>,
    log: fn(f64) -> f64,
    counts: fn(f64) -> bool,
) -> f64 {
    let total = log(expected.values().filter(|&&expected| counts(expected)).sum());
    let score = |expected: f64| counts(expected).then(|| log(expected) - total);
    let lowest = expected.values().filter_map(|&expected| score(expected)).fold(0.0, f64::min);
    for (piece, old) in pieces {
        *old = score(expected[piece]).unwrap_or(lowest);
    }
    lowest
}

/// Keeps characters and the pieces without which the words lose most likelihood, `kept` together.
fn prune(words: &BTreeMap<String, u64>, pieces: &mut Pieces, kept: usize) {
    let best = |all: Vec<Vec<&str>>| -> Vec<String> {
        let best = all.into_iter().max_by(|a, b| score(a, pieces).total_cmp(&score(b, pieces)));
        best.unwrap_or_default().into_iter().map(str::to_owned).collect()
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (word, count) in words {
        for piece in best(spellings(word, pieces)) {
            *counts.entry(piece).or_default() += count;
        }
    }
    let total = counts.values().sum::<u64>() as f64;
    let mut losses: Vec<(f64, String)> = Vec::new();
    for (piece, &count) in counts.iter().filter(|(piece, _)| !is_char(piece)) {
        let others =
            best(spellings(piece, pieces).into_iter().filter(|spelling| spelling.len() > 1).collect());
        let of_others: f64 = others.iter().map(|other| pieces[other]).sum();
        if of_others > pieces[piece] {
            continue;
        }
        let count = count as f64;
        let all = total + count * (others.len() as f64 - 1.0);
        let log = |other: &String| ((counts.get(other).copied().unwrap_or(0) as f64 + count) / all).ln();
        let without: f64 = others.iter().map(log).sum();
        losses.push((count * ((count / total).ln() - without), piece.clone()));
    }
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let chars = pieces.keys().filter(|piece| is_char(piece)).count();
    losses.truncate(kept.saturating_sub(chars));
    pieces.retain(|piece, _| is_char(piece) || losses.iter().any(|(_, kept)| kept == piece));
}

/// The digamma function, by its recurrence up to a large number, where it is nearly a logarithm.
fn digamma(x: f64) -> f64 {
    let steps: f64 = (0..10_000).map(|i| 1.0 / (x + f64::from(i))).sum();
    let far = x + 10_000.0;
    far.ln() - 0.5 / far - steps
}
