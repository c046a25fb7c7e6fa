//! A symbol next to a merge, and its pairs with the parts and the result.

/// Not looked up yet in this step.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Looked up, and not tracked.
pub(super) const IGNORED: u32 = u32::MAX - 1;

/// The pairs of a neighbour with the parts and the result of the current merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbour {
    /// (neighbour, left part): its index in the pairs.
    pub(super) old_left: u32,
    /// (neighbour, result): its index in the new pairs.
    pub(super) new_left: u32,
    /// (right part, neighbour).
    pub(super) old_right: u32,
    /// (result, neighbour).
    pub(super) new_right: u32,
}

pub(super) const STRANGER: Neighbour =
    Neighbour { old_left: UNKNOWN, new_left: UNKNOWN, old_right: UNKNOWN, new_right: UNKNOWN };

/// A pair that the current step creates; its count may still fall.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newborn {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) count: u64,
}
