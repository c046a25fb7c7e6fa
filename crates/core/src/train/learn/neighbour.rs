//! A symbol beside a merge, and the pairs that it makes with the parts and the result.

/// Not looked up yet in this step.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Looked up, and not followed.
pub(super) const IGNORED: u32 = u32::MAX - 1;

/// Pairs of a neighbour with the parts and the result of the merge at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    /// (neighbour, left part): its number among the pairs.
    pub(super) old_left: u32,
    /// (neighbour, result): its number among the new pairs.
    pub(super) new_left: u32,
    /// (right part, neighbour).
    pub(super) old_right: u32,
    /// (result, neighbour).
    pub(super) new_right: u32,
}

pub(super) const STRANGER: Neighbour =
    Neighbour { old_left: UNKNOWN, new_left: UNKNOWN, old_right: UNKNOWN, new_right: UNKNOWN };

/// A pair that comes to be in the step at hand; its count may still fall.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newborn {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) count: u64,
}
