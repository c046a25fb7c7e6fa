//! The best paths, best first.
//!
//! Comes in: one pretoken, and how many paths are wanted. Goes out: the ids and the score of each. A score must
//! never be another number than adding up the path from left to right gives.
//!
//! The best path to every place is known at once; the next best is found only when it is asked for (Huang and
//! Chiang, "Better k-best parsing", 2005). A next best path is an edge and a next best path to where it starts, so
//! that one more path asks for at most one more at each place of the path before it: the cost is the length of the
//! text times the number of paths, and a logarithm, whatever the ties.
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

/// The largest number of paths that may be asked for, as in the reference.
pub const MAX_PATHS: usize = 1024;

/// A path to a place: a path to where its last edge starts, and that edge.
#[derive(Debug, Clone, Copy)]
struct Hypothesis {
    score: f64,
    /// The number of the edge in the list of all.
    edge: u32,
    /// Which of the paths to the start of the edge, best first.
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
    /// Best first.
    best: Vec<Hypothesis>,
    /// The next best path is the first of these.
    candidates: BinaryHeap<Hypothesis>,
    /// There are no more.
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
    /// By place; only for those where more than the best path was asked for.
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
            // No more edges end here than there are lengths of them.
            try_alloc::reserve(&mut lattice.edges, model.automaton.longest_key() + 1)?;
            incoming.for_each(|edge, start| {
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

    /// Which edges end at a place.
    fn edges_to(&self, place: usize) -> std::ops::Range<u32> {
        place.checked_sub(1).map_or(0, |before| self.edge_ends[before])..self.edge_ends[place]
    }

    fn known_count(&self, place: usize) -> usize {
        self.known[place].as_ref().map_or(1, |paths| paths.best.len())
    }

    fn is_exhausted(&self, place: usize) -> bool {
        // To the start there is one path.
        place == 0 || self.known[place].as_ref().is_some_and(|paths| paths.is_exhausted)
    }

    fn get(&self, place: usize, rank: usize) -> Option<Hypothesis> {
        match &self.known[place] {
            None => (rank == 0).then_some(self.best[place]),
            Some(paths) => paths.best.get(rank).copied(),
        }
    }

    /// The path of this rank to a place, if the ones before it were asked for, and if there is one.
    fn nth(&mut self, place: usize, rank: usize, ticker: &mut Ticker<'_>) -> Result<Option<Hypothesis>> {
        if rank < self.known_count(place) || self.is_exhausted(place) {
            return Ok(self.get(place, rank));
        }
        // Down along the last known paths, as far as each needs one more of the place before.
        let mut asked = vec![place];
        loop {
            let place = asked[asked.len() - 1];
            let last = self.open(place);
            let start = self.edges[last.edge as usize].1 as usize;
            // The path to the start that comes next with this edge.
            if (last.rank as usize) + 1 < self.known_count(start) || self.is_exhausted(start) {
                break;
            }
            try_alloc::push(&mut asked, start)?;
        }
        ticker.spend(8 * asked.len())?;
        // And back: the path that was missing is known now, or there is none.
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

    /// Prepares a place to be asked for more than its best path; the result is the last known path.
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
