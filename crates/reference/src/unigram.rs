//! Unigram by the definition: all sequences of tokens that spell the text.

/// One way to spell a text: for each part its token (`None`: an unknown character) and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// Token and end of each part.
    pub parts: Vec<(Option<usize>, usize)>,
    /// The scores of the parts, added from left to right.
    pub score: f64,
}

/// All segmentations, those with a longer first part first. A character that is no token is a part
/// of its own with the score `unk_score`, whatever longer tokens start there. `round` is applied
/// after every addition. Cost: exponential.
pub fn segmentations(
    text: &str,
    tokens: &[(String, f64)],
    unk_score: f64,
    round: fn(f64) -> f64,
) -> Vec<Segmentation> {
    let mut all = vec![];
    let mut parts = vec![];
    extend(
        text,
        0,
        0.0,
        &mut parts,
        &mut all,
        &|rest: &str| {
            let mut found: Vec<(Option<usize>, usize, f64)> = vec![];
            for (index, (token, score)) in tokens.iter().enumerate() {
                if rest.starts_with(token.as_str()) {
                    found.push((Some(index), token.len(), *score));
                }
            }
            let char = rest.chars().next().map_or(0, char::len_utf8);
            if found.iter().all(|part| part.1 != char) {
                found.push((None, char, unk_score));
            }
            found.sort_by_key(|part| std::cmp::Reverse(part.1));
            found
        },
        round,
    );
    all
}

type Starting<'a> = dyn Fn(&str) -> Vec<(Option<usize>, usize, f64)> + 'a;

fn extend(
    text: &str,
    at: usize,
    score: f64,
    parts: &mut Vec<(Option<usize>, usize)>,
    all: &mut Vec<Segmentation>,
    starting: &Starting<'_>,
    round: fn(f64) -> f64,
) {
    if at == text.len() {
        all.push(Segmentation { parts: parts.clone(), score });
        return;
    }
    for (token, length, added) in starting(&text[at..]) {
        parts.push((token, at + length));
        extend(text, at + length, round(score + added), parts, all, starting, round);
        parts.pop();
    }
}

/// The best segmentation as both references find it: place by place from the left, the best path to each place, and
/// of equal ones the path whose last part is longest. Rounded sums can make paths equal that differ much earlier,
/// so this is more specific than "one of the best of all".
pub fn best(text: &str, tokens: &[(String, f64)], unk_score: f64, round: fn(f64) -> f64) -> Segmentation {
    let mut ways = vec![Some(Segmentation { parts: vec![], score: 0.0 })];
    for end in 1..=text.len() {
        let mut best: Option<Segmentation> = None;
        for start in (0..end).filter(|_| text.is_char_boundary(end)) {
            let Some(way) = &ways[start] else { continue };
            let part = &text[start..end];
            let token = tokens.iter().position(|(token, _)| token == part);
            if token.is_none() && part.chars().count() != 1 {
                continue;
            }
            let score = round(way.score + token.map_or(unk_score, |token| tokens[token].1));
            if best.as_ref().is_none_or(|best| score > best.score) {
                let parts = way.parts.iter().copied().chain([(token, end)]).collect();
                best = Some(Segmentation { parts, score });
            }
        }
        ways.push(best);
    }
    ways.pop().flatten().unwrap_or(Segmentation { parts: vec![], score: 0.0 })
}

/// The logarithm of the sum of their probabilities.
pub fn log_marginal(all: &[Segmentation]) -> f64 {
    all.iter().map(|way| way.score.exp()).sum::<f64>().ln()
}
