//! Which literals begin with which others, for callers that reject the literal that a search has found.
//!
//! All literals that match at one position begin with each other. A search finds the longest; the others follow
//! from it as a chain of ever shorter ones, which is searched in steps of growing length, as in a skip list.
use tokenmill_kernels::sorting;

/// No literal.
const NONE: u32 = u32::MAX;

/// For each literal the longest of the others that it begins with. Of equal literals the first begins with the
/// second.
#[derive(Debug, Clone)]
pub struct Prefixes {
    shorter: Vec<u32>,
    /// A shorter literal farther down the chain, at such a distance that every search is logarithmic (Myers, "An
    /// applicative random-access stack", 1983).
    far: Vec<u32>,
    /// All literals, each after those that it begins with.
    order: Vec<u32>,
}

/// For each literal, the longest one of a subset of the literals that it begins with; that may be the literal
/// itself.
#[derive(Debug)]
pub struct LongestOf {
    found: Vec<u32>,
    is_empty: bool,
}

impl Prefixes {
    /// Compares literals, which are numbered from 0. Cost: that of sorting them.
    pub fn new(literals: &[&str]) -> Self {
        let mut order: Vec<u32> = (0..).zip(literals).map(|(index, _)| index).collect();
        let text = |index: u32| literals[index as usize];
        sorting::sort_by(&mut order, |&a, &b| text(a).cmp(text(b)).then(b.cmp(&a)));
        let (mut shorter, mut far) = (vec![NONE; literals.len()], vec![NONE; literals.len()]);
        let mut depths = vec![0_u32; literals.len()];
        // The chain of literals that the last one begins with, and the last one itself.
        let mut row: Vec<u32> = Vec::new();
        for &index in &order {
            while row.last().is_some_and(|&last| !text(index).starts_with(text(last))) {
                row.pop();
            }
            let next = row.last().copied().unwrap_or(NONE);
            let farther = |index: u32| if index == NONE { NONE } else { far[index as usize] };
            let depth = |index: u32| if index == NONE { 0 } else { depths[index as usize] };
            let (first, second) = (farther(next), farther(farther(next)));
            let is_even = depth(next) - depth(first) == depth(first) - depth(second);
            (shorter[index as usize], depths[index as usize]) = (next, depth(next) + 1);
            far[index as usize] = if is_even { second } else { next };
            row.push(index);
        }
        Self { shorter, far, order }
    }

    /// The longest literal that this one begins with, itself included, for which `is_too_long` is false. If
    /// `is_too_long` holds for a literal, it must hold for every literal that begins with it. Cost: logarithmic.
    pub fn longest(&self, index: usize, is_too_long: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = index;
        while is_too_long(at) {
            let far = self.far[at];
            let next = if far != NONE && is_too_long(far as usize) { far } else { self.shorter[at] };
            if next == NONE {
                return None;
            }
            at = next as usize;
        }
        Some(at)
    }

    /// For every literal, the longest one that it begins with and for which `is_among` holds. Cost: linear.
    pub fn longest_of(&self, is_among: impl Fn(usize) -> bool) -> LongestOf {
        let mut found = vec![NONE; self.order.len()];
        for &index in &self.order {
            found[index as usize] = match self.shorter[index as usize] {
                _ if is_among(index as usize) => index,
                NONE => NONE,
                shorter => found[shorter as usize],
            };
        }
        let is_empty = found.iter().all(|&found| found == NONE);
        LongestOf { found, is_empty }
    }
}

impl LongestOf {
    /// The longest literal of the subset that this one begins with.
    pub fn get(&self, index: usize) -> Option<usize> {
        self.found.get(index).filter(|&&found| found != NONE).map(|&found| found as usize)
    }

    /// Is the subset empty?
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The literals that one begins with: the longest first, and of equal ones the first.
    fn row(literals: &[String], index: usize) -> Vec<(usize, &str)> {
        let mut row: Vec<(usize, &str)> = literals
            .iter()
            .map(String::as_str)
            .enumerate()
            .filter(|(i, literal)| {
                literals[index].starts_with(literal) && (literal.len() < literals[index].len() || *i >= index)
            })
            .collect();
        row.sort_by_key(|(i, literal)| (std::cmp::Reverse(literal.len()), *i));
        row
    }

    proptest! {
        #[test]
        fn rows_are_what_comparing_all_with_all_gives(
            literals in prop::collection::vec("a{1,40}|[ab]{1,5}|é[aé]{0,3}", 1..60),
            limit in 0usize..50,
            among in prop::collection::vec(any::<bool>(), 60),
        ) {
            let all: Vec<&str> = literals.iter().map(String::as_str).collect();
            let prefixes = Prefixes::new(&all);
            let longest_of = prefixes.longest_of(|index| among[index]);
            for index in 0..literals.len() {
                let row = row(&literals, index);
                let want = row.iter().find(|(_, literal)| literal.len() <= limit).map(|(i, _)| *i);
                prop_assert_eq!(prefixes.longest(index, |i| literals[i].len() > limit), want);
                prop_assert_eq!(longest_of.get(index), row.iter().find(|(i, _)| among[*i]).map(|(i, _)| *i));
            }
            prop_assert_eq!(longest_of.is_empty(), !among[..literals.len()].contains(&true));
        }
    }

    #[test]
    fn a_long_row_takes_few_steps() {
        let literals: Vec<String> = (1..=5000).map(|length| "a".repeat(length)).collect();
        let all: Vec<&str> = literals.iter().map(String::as_str).collect();
        let prefixes = Prefixes::new(&all);
        for limit in [0, 1, 17, 2500, 4999] {
            let asked = std::cell::Cell::new(0);
            let found = prefixes.longest(4999, |index| {
                asked.set(asked.get() + 1);
                index + 1 > limit
            });
            assert_eq!(found, limit.checked_sub(1));
            assert!(asked.get() < 100, "{}", asked.get());
        }
    }
}
