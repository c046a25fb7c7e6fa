//! The best paths, best first.
//!
//! In: one pretoken, and the number of paths. Out: the ids and the score of each. A score must be exactly the sum
//! along the path from left to right.
//!
//! The best path to every place is known at once; a next best one is found only when it is needed (Huang and
//! Chiang, "Better k-best parsing", 2005). It consists of a path to the start of its last edge, and that edge. So
//! one more path needs at most one more at each place of the path before it: the cost is the length of the text
//! times the number of paths, times a logarithm, even with ties.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tokenmill_kernels::try_alloc;

use super::model::{UNKNOWN, Unigram};
use super::spell::PathKind;
use crate::error::{Error, Result};
use crate::ids::{TokenId, to_u32};
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// The largest number of paths that a call may ask for, as in the reference.
pub const MAX_PATHS: usize = 1024;

/// A path to a place: a path to the start of its last edge, and that edge.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    score: f64,
    /// The index of the edge in `edges`.
    edge: u32,
    /// The rank of the path to the start of the edge, 0 for the best.
    rank: u32,
}

impl Ord for Hypothesis {
    fn cmp(&self, other: &Self) -> Ordering {
        let less = |it: &Self| (it.edge, it.rank);
        self.score.total_cmp(&other.score).then_with(|| less(other).cmp(&less(self)))
    }
}

impl PartialOrd for Hypothesis {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hypothesis {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hypothesis {}

/// The paths to a place that are known so far.
#[derive(Debug, Default)]
struct KnownPaths {
    /// The known paths, best first.
    best: Vec<Hypothesis>,
    /// Candidates for the next best path, which is the first of them.
    candidates: BinaryHeap<Hypothesis>,
    /// Are there no more paths?
    is_exhausted: bool,
}

/// The lattice, and the paths through it that are known so far.
struct Lattice<'a> {
    /// Edges by the place where they end, longest first: their indices and starts.
    edges: Vec<(u32, u32)>,
    scores: &'a dyn Fn(u32) -> f64,
    /// By place: the end of its edges in `edges`, which start at that of the place before.
    edge_ends: Vec<u32>,
    /// By place: the best path to it.
    best: Vec<Hypothesis>,
    /// By place; set only if more than the best path was needed there.
    known: Vec<Option<Box<KnownPaths>>>,
}

impl Unigram {
    /// The `n` best paths (fewer where there are no more), as ids and score, best first. Among
    /// equal ones that with the longest last token is first.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn n_best(
        &self,
        pretoken: &[u8],
        n: usize,
        vocabulary: &Vocabulary,
        ticker: &mut Ticker<'_>,
    ) -> Result<Vec<(Vec<TokenId>, f64)>> {
        let scores = |edge| self.score_over_all_paths(edge);
        let mut lattice = Lattice::new(self, pretoken, &scores, ticker)?;
        let mut results = Vec::new();
        let mut path = Vec::new();
        while results.len() < n {
            let Some(hypothesis) = lattice.nth(pretoken.len(), results.len(), ticker)? else { break };
            path.clear();
            lattice.trace(pretoken.len(), hypothesis, &mut path)?;
            let mut ids = Vec::new();
            let mut edges = path.iter();
            let last = |_| edges.next().copied().unwrap_or(UNKNOWN);
            self.spell(
                pretoken,
                PathKind::Other,
                last,
                vocabulary,
                Output { ids: &mut ids, ends: None },
                ticker,
            )?;
            ticker.spend(pretoken.len())?;
            try_alloc::push(&mut results, (ids, hypothesis.score))?;
        }
        Ok(results)
    }
}

impl<'a> Lattice<'a> {
    fn new(
        model: &Unigram,
        text: &[u8],
        scores: &'a dyn Fn(u32) -> f64,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let places = text.len() + 1;
        let empty = Hypothesis { score: 0.0, edge: UNKNOWN, rank: 0 };
        let mut lattice = Self {
            edges: Vec::new(),
            scores,
            edge_ends: try_alloc::filled(0, places)?,
            best: try_alloc::filled(empty, places)?,
            known: Vec::new(),
        };
        let mut before = 0;
        model.for_each_place(text, |end, incoming| {
            // Places inside of characters have no edges.
            let first = to_u32(lattice.edges.len());
            lattice.edge_ends[before + 1..end].fill(first);
            let mut best: Option<Hypothesis> = None;
            // At most one edge of each length ends here.
            try_alloc::reserve(&mut lattice.edges, model.automaton.longest_key() + 1)?;
            incoming.for_each(|edge, start, _| {
                let score = lattice.best[start].score + scores(edge);
                if best.is_none_or(|best| score.total_cmp(&best.score) == Ordering::Greater) {
                    best = Some(Hypothesis { score, edge: to_u32(lattice.edges.len()), rank: 0 });
                }
                lattice.edges.push((edge, to_u32(start)));
            });
            lattice.best[end] = best.unwrap_or(empty);
            lattice.edge_ends[end] = to_u32(lattice.edges.len());
            ticker.spend(8 * (end - before))?;
            before = end;
            match u32::try_from(lattice.edges.len()) {
                Ok(_) => Ok(()),
                Err(_) => Err(Error::argument("the text is too long for its best paths to be listed")),
            }
        })?;
        try_alloc::reserve(&mut lattice.known, places)?;
        lattice.known.resize_with(places, || None);
        Ok(lattice)
    }

    /// The edges that end at a place.
    fn edges_to(&self, place: usize) -> std::ops::Range<u32> {
        place.checked_sub(1).map_or(0, |before| self.edge_ends[before])..self.edge_ends[place]
    }

    fn known_count(&self, place: usize) -> usize {
        self.known[place].as_ref().map_or(1, |paths| paths.best.len())
    }

    fn is_exhausted(&self, place: usize) -> bool {
        // There is only one path to the start of the text.
        place == 0 || self.known[place].as_ref().is_some_and(|paths| paths.is_exhausted)
    }

    fn get(&self, place: usize, rank: usize) -> Option<Hypothesis> {
        match &self.known[place] {
            None => (rank == 0).then_some(self.best[place]),
            Some(paths) => paths.best.get(rank).copied(),
        }
    }

    /// The path of this rank to a place, or `None` if there is none. The paths before it must be known.
    fn nth(&mut self, place: usize, rank: usize, ticker: &mut Ticker<'_>) -> Result<Option<Hypothesis>> {
        if rank < self.known_count(place) || self.is_exhausted(place) {
            return Ok(self.get(place, rank));
        }
        // Forward: collects the places that need one more path, from the last known path of each to the start of
        // its edge.
        let mut asked = vec![place];
        loop {
            let place = asked[asked.len() - 1];
            let last = self.open(place);
            let start = self.edges[last.edge as usize].1 as usize;
            // The next path to the start of this edge is known already, or does not exist.
            if (last.rank as usize) + 1 < self.known_count(start) || self.is_exhausted(start) {
                break;
            }
            try_alloc::push(&mut asked, start)?;
        }
        ticker.spend(8 * asked.len())?;
        // Backward: each place gets its path, now that the one it waits for is known or known not to exist.
        while let Some(place) = asked.pop() {
            let last = self.open(place);
            let (edge, start) = self.edges[last.edge as usize];
            if let Some(next) = self.get(start as usize, last.rank as usize + 1) {
                let score = next.score + (self.scores)(edge);
                let candidate = Hypothesis { score, edge: last.edge, rank: last.rank + 1 };
                self.known[place].get_or_insert_default().candidates.push(candidate);
            }
            let paths = self.known[place].get_or_insert_default();
            match paths.candidates.pop() {
                Some(next) => paths.best.push(next),
                None => paths.is_exhausted = true,
            }
        }
        Ok(self.get(place, rank))
    }

    /// Prepares a place for more than its best path, and returns its last known path.
    fn open(&mut self, place: usize) -> Hypothesis {
        let best = self.best[place];
        if self.known[place].is_none() {
            let others = self.edges_to(place).filter(|&edge| edge != best.edge);
            let candidate = |number: u32| {
                let (edge, start) = self.edges[number as usize];
                let score = self.best[start as usize].score + (self.scores)(edge);
                Hypothesis { score, edge: number, rank: 0 }
            };
            let candidates = others.map(candidate).collect();
            self.known[place] =
                Some(Box::new(KnownPaths { best: vec![best], candidates, is_exhausted: false }));
        }
        self.known[place].as_ref().and_then(|paths| paths.best.last().copied()).unwrap_or(best)
    }

    /// The edges of a path, last first.
    fn trace(&self, mut place: usize, mut hypothesis: Hypothesis, path: &mut Vec<u32>) -> Result<()> {
        while place > 0 {
            let (edge, start) = self.edges[hypothesis.edge as usize];
            try_alloc::push(path, edge)?;
            place = start as usize;
            hypothesis = self.get(place, hypothesis.rank as usize).unwrap_or(self.best[place]);
        }
        Ok(())
    }
}
