//! Finds unused ids, in formats whose ids usually have no gaps.
use tokenmill_core::error::{Defect, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::sorting;

use crate::report::Report;

/// Reports the first unused id and the number of others, up to the largest id of the file. Ids of
/// `special` tokens outside the file fill gaps. The ids may be in any order; `what` is the format's
/// word for an id.
///
/// # Errors
/// The finding, in strict loading.
pub(crate) fn find(
    ids: impl Iterator<Item = TokenId> + Clone,
    special: &[TokenId],
    what: &str,
    report: &mut Report,
) -> Result<()> {
    // The usual case.
    if ids.clone().zip(0..).all(|(id, place)| id == place) {
        return Ok(());
    }
    let mut ids: Vec<TokenId> = ids.collect();
    let largest = ids.iter().copied().max();
    ids.extend(special.iter().filter(|&&id| Some(id) < largest));
    sorting::sort(&mut ids);
    ids.dedup();
    let Some(first) = ids.iter().zip(0..).find_map(|(&id, place)| (id != place).then_some(place)) else {
        return Ok(());
    };
    let missing = ids.last().map_or(0, |&last| last as usize + 1 - ids.len());
    let more = if missing > 1 { format!(", nor {} others", missing - 1) } else { String::new() };
    report.tolerate(Defect::Missing, format!("{what} {first}"), format!("no token has this {what}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: &[TokenId], special: &[TokenId]) -> Vec<(String, String)> {
        let mut report = Report::default();
        find(ids.iter().copied(), special, "rank", &mut report).unwrap();
        report.tolerated().iter().map(|finding| (finding.field.clone(), finding.reason.clone())).collect()
    }

    #[test]
    fn the_first_gap_is_named_and_the_others_are_counted() {
        let row = |field: &str, reason: &str| vec![(field.to_owned(), reason.to_owned())];
        assert_eq!(found(&[], &[7]), []);
        assert_eq!(found(&[2, 0, 1, 1], &[]), []);
        assert_eq!(found(&[0, 2, 3], &[1, 9]), []);
        assert_eq!(found(&[0, 2], &[9]), row("rank 1", "no token has this rank"));
        assert_eq!(found(&[1, 5], &[]), row("rank 0", "no token has this rank, nor 3 others"));
        assert!(find([0, 2].into_iter(), &[], "rank", &mut Report::new(true)).is_err());
    }
}
