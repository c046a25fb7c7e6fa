//! Rows of ids as cells of arrays: rows of equal length, padded on one side.
//!
//! In: the parts of a row, or its values. Out: one row of an array, every cell of it written once. A cell is
//! padding because of its position, never because of its id: a padding token may also be a token of the text.
use super::OutputPart;
use crate::description::Side;
use crate::ids::TokenId;

/// A number that an array holds.
pub trait Number: Copy + Send + Sync {
    /// Converts a value; the caller knows that it fits.
    fn of(value: i64) -> Self;
}

macro_rules! numbers {
    ($($of:ty),*) => {
        $(impl Number for $of {
            #[inline]
            #[allow(clippy::cast_sign_loss)] // the caller knows that it fits
            fn of(value: i64) -> Self {
                value as Self
            }
        })*
    };
}

numbers!(u16, u32, i32, i64, u64);

/// The kind of value that an array holds for each id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The id itself.
    Ids,
    /// Its type.
    TypeIds,
    /// 0 for padding, 1 for everything else.
    AttentionMask,
    /// 1 for what was added to the text, padding included, 0 for everything else.
    SpecialTokensMask,
    /// Its position: the number of ids before it that are not padding.
    PositionIds,
}

/// The padding of a row: its side, and the values of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPadding {
    /// The side.
    pub side: Side,
    /// The padding id.
    pub id: TokenId,
    /// Its type id.
    pub type_id: u32,
}

/// A row: its parts, and the ids of the sequences that the parts are ranges of.
#[derive(Debug, Clone, Copy)]
pub struct PartsOfRow<'a> {
    /// The parts, in order.
    pub parts: &'a [OutputPart],
    /// The ids of the first sequence and of the second.
    pub ids: [&'a [TokenId]; 2],
}

/// Splits the cells of a row into those of `count` values and those of padding.
fn split<T>(cells: &mut [T], count: usize, side: Side) -> (&mut [T], &mut [T]) {
    let padding = cells.len().saturating_sub(count);
    match side {
        Side::Left => {
            let (padding, values) = cells.split_at_mut(padding);
            (values, padding)
        }
        Side::Right => cells.split_at_mut(cells.len() - padding),
    }
}

/// Writes the values of a row, converted by `of`, and pads it with `pad`. There are at least as many cells as
/// values.
pub fn pad_values<S: Copy, T: Copy>(values: &[S], of: impl Fn(S) -> T, pad: T, side: Side, cells: &mut [T]) {
    let (places, padding) = split(cells, values.len(), side);
    for (place, &value) in places.iter_mut().zip(values) {
        *place = of(value);
    }
    padding.fill(pad);
}

/// Writes 1 for each of `count` values, and 0 for padding.
pub fn pad_mask<T: Number>(count: usize, side: Side, cells: &mut [T]) {
    let (places, padding) = split(cells, count, side);
    places.fill(T::of(1));
    padding.fill(T::of(0));
}

/// Writes the positions of `count` values, counted from `first`. A padding cell gets the position of the last value
/// before it; before the first value, and in a row without values, it gets `first`. That is `first + max(0, c -
/// 1)`, where `c` is the number of values up to and including the cell.
pub fn pad_positions<T: Number>(count: usize, first: i64, side: Side, cells: &mut [T]) {
    let (places, padding) = split(cells, count, side);
    for (place, position) in places.iter_mut().zip(first..) {
        *place = T::of(position);
    }
    let last = (count as i64 - 1).max(0);
    padding.fill(T::of(match side {
        Side::Left => first,
        Side::Right => first + last,
    }));
}

impl PartsOfRow<'_> {
    /// Number of ids.
    pub fn len(&self) -> usize {
        self.parts.iter().map(OutputPart::len).sum()
    }

    /// Are there no ids?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the value of `column` for each id, and for padding. There are at least as many cells as ids.
    pub fn write<T: Number>(&self, column: Column, row_padding: &RowPadding, cells: &mut [T]) {
        let (mut places, padding) = split(cells, self.len(), row_padding.side);
        // The number of ids so far that are not padding.
        let mut count = 0;
        for part in self.parts {
            let (own, rest) = places.split_at_mut(part.len());
            places = rest;
            match column {
                Column::Ids => self.write_ids(part, own),
                Column::TypeIds => own.fill(T::of(type_of(part).into())),
                Column::AttentionMask => own.fill(T::of((!is_padding(part)).into())),
                Column::SpecialTokensMask => {
                    own.fill(T::of((!matches!(part, OutputPart::Tokens { .. })).into()));
                }
                Column::PositionIds if is_padding(part) => own.fill(T::of((count - 1).max(0))),
                Column::PositionIds => {
                    for place in own {
                        *place = T::of(count);
                        count += 1;
                    }
                }
            }
        }
        padding.fill(T::of(match column {
            Column::Ids => row_padding.id.into(),
            Column::TypeIds => row_padding.type_id.into(),
            Column::AttentionMask => 0,
            Column::SpecialTokensMask => 1,
            Column::PositionIds if row_padding.side == Side::Left => 0,
            Column::PositionIds => (count - 1).max(0),
        }));
    }

    fn write_ids<T: Number>(&self, part: &OutputPart, cells: &mut [T]) {
        match *part {
            OutputPart::Tokens { second, range, .. } => {
                let ids = &self.ids[usize::from(second)][range.start..range.end];
                for (cell, &id) in cells.iter_mut().zip(ids) {
                    *cell = T::of(id.into());
                }
            }
            OutputPart::Special { id, .. } | OutputPart::Padding { id, .. } => cells.fill(T::of(id.into())),
        }
    }

    /// Writes two cells for each id, the start and the end of the text that it stands for; both are 0 for what was
    /// added. `offsets` has the offsets of each sequence.
    pub fn write_offsets<T: Number>(&self, offsets: [&[(usize, usize)]; 2], side: Side, cells: &mut [T]) {
        let (mut places, padding) = split(cells, 2 * self.len(), side);
        for part in self.parts {
            let (own, rest) = places.split_at_mut(2 * part.len());
            places = rest;
            let OutputPart::Tokens { second, range, .. } = *part else {
                own.fill(T::of(0));
                continue;
            };
            let offsets = &offsets[usize::from(second)][range.start..range.end];
            for (place, &(start, end)) in own.chunks_exact_mut(2).zip(offsets) {
                place.copy_from_slice(&[T::of(start as i64), T::of(end as i64)]);
            }
        }
        padding.fill(T::of(0));
    }
}

fn is_padding(part: &OutputPart) -> bool {
    matches!(part, OutputPart::Padding { .. })
}

fn type_of(part: &OutputPart) -> u32 {
    match part {
        OutputPart::Tokens { type_id, .. }
        | OutputPart::Special { type_id, .. }
        | OutputPart::Padding { type_id, .. } => *type_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;

    fn row_of(column: Column, side: Side) -> Vec<i64> {
        let parts = [
            OutputPart::Special { id: 1, type_id: 0 },
            OutputPart::Tokens { second: true, range: Span::new(1, 3), type_id: 7 },
            OutputPart::Padding { count: 1, id: 0, type_id: 3 },
        ];
        let row = PartsOfRow { parts: &parts, ids: [&[], &[10, 11, 12]] };
        let mut cells = vec![-9; 6];
        row.write(column, &RowPadding { side, id: 5, type_id: 6 }, &mut cells);
        cells
    }

    #[test]
    fn each_column_has_its_own_padding_on_either_side() {
        let columns = [
            (Column::Ids, vec![1, 11, 12, 0], 5, 5),
            (Column::TypeIds, vec![0, 7, 7, 3], 6, 6),
            (Column::AttentionMask, vec![1, 1, 1, 0], 0, 0),
            (Column::SpecialTokensMask, vec![1, 0, 0, 1], 1, 1),
            (Column::PositionIds, vec![0, 1, 2, 2], 0, 2),
        ];
        for (column, row, left, right) in columns {
            assert_eq!(row_of(column, Side::Left), [&[left; 2][..], &row].concat(), "{column:?}");
            assert_eq!(row_of(column, Side::Right), [&row, &[right; 2][..]].concat(), "{column:?}");
        }
    }

    #[test]
    fn positions_follow_the_formula_and_go_on_after_a_prefill() {
        for (count, first, side, expected) in [
            (2, 0, Side::Left, [0, 0, 0, 1]),
            (2, 0, Side::Right, [0, 1, 1, 1]),
            (2, 5, Side::Left, [5, 5, 5, 6]),
            (0, 5, Side::Right, [5, 5, 5, 5]),
            (4, 0, Side::Left, [0, 1, 2, 3]),
        ] {
            let mut cells = [-9_i64; 4];
            pad_positions(count, first, side, &mut cells);
            assert_eq!(cells, expected);
        }
    }

    #[test]
    fn values_and_their_mask_are_padded_on_the_same_side() {
        let (mut cells, mut mask) = ([0_u16; 3], [9_u16; 3]);
        for (side, expected) in [(Side::Left, [8, 1, 2]), (Side::Right, [1, 2, 8])] {
            pad_values(&[1_i64, 2], u16::of, 8, side, &mut cells);
            pad_mask(2, side, &mut mask);
            assert_eq!((cells, mask.map(|one| one == 0)), (expected, expected.map(|cell| cell == 8)));
        }
    }

    #[test]
    fn offsets_take_two_cells_and_are_zero_for_what_was_added() {
        let parts = [
            OutputPart::Special { id: 1, type_id: 0 },
            OutputPart::Tokens { second: false, range: Span::new(0, 1), type_id: 0 },
        ];
        let row = PartsOfRow { parts: &parts, ids: [&[4], &[]] };
        let mut cells = [9_i64; 6];
        row.write_offsets([&[(3, 5)], &[]], Side::Left, &mut cells);
        assert_eq!(cells, [0, 0, 0, 0, 3, 5]);
    }
}
