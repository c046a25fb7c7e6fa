//! The four Unicode normal forms.
//!
//! A text is a sequence of clusters: a character that cannot interact with the ones before it,
//! followed by those that can interact with it (marks, the later letters of a Hangul syllable).
//! Only clusters that may change are decomposed, so text that is already in the form is only read.
//!
//! Each character of the result stands for the characters that it was made of, widened so that
//! offsets never decrease: reordered marks each stand for all of them.
mod form;
mod tables;

use unicode_normalization_alignments::char::is_combining_mark;

use self::tables::{Class, Data};
use super::edit::{Edit, skip};
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::description::UnicodeTables;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

pub(super) use self::form::Form;

pub(super) fn apply(
    form: Form,
    tables: UnicodeTables,
    from: AlignedText<'_>,
    to: &mut Rewritten,
    ticker: &mut Ticker<'_>,
) -> Result<Outcome> {
    let data = Data::new(form, tables);
    let first_byte = form.first_byte();
    let text = from.text;
    let mut edit = Edit::new(from, to);
    let mut cluster = Cluster::default();
    // The end of the previous cluster, and the position of the search.
    let (mut done, mut at) = (0, 0);
    loop {
        at = skip(text.as_bytes(), at, ticker, |byte| byte >= first_byte)?;
        let Some(c) = text[at..].chars().next() else { return Ok(edit.finish()) };
        ticker.spend(4)?;
        let start = match data.class(c) {
            Class::Stays => {
                at += c.len_utf8();
                continue;
            }
            Class::Changes => at,
            Class::ReachesBack => at - text[done..at].chars().next_back().map_or(0, char::len_utf8),
        };
        let mut end = at + c.len_utf8();
        for next in text[end..].chars() {
            if data.class(next) != Class::ReachesBack {
                break;
            }
            ticker.spend(32)?;
            end += next.len_utf8();
        }
        if cluster.normalize(&text[start..end], data) {
            for part in &cluster.parts {
                let range = Span::new(start + part.start, start + part.end);
                edit.insert(start, part.c.encode_utf8(&mut [0; 4]), range);
            }
            edit.remove(Span::new(start, end));
        }
        (done, at) = (end, end);
    }
}

/// Is a character as it is in this form, whatever is before it, and if what follows it is such a character, too?
pub(super) fn stays(form: Form, tables: UnicodeTables, c: char) -> bool {
    c.is_ascii() || Data::new(form, tables).class(c) == Class::Stays
}

/// Does the decomposition of a character begin with a starter, so that it is not reordered with marks before it?
pub(super) fn begins_apart(form: Form, tables: UnicodeTables, c: char) -> bool {
    let data = Data::new(form, tables);
    let mut first = None;
    data.decompose(c, |c| first = first.or(Some(data.combining_class(c))));
    first == Some(0)
}

/// Is a character decomposed into combining marks alone?
pub(super) fn has_marks_only(form: Form, tables: UnicodeTables, c: char) -> bool {
    let mut are_marks = true;
    Data::new(form, tables).decompose(c, |c| are_marks &= is_combining_mark(c));
    are_marks
}

/// A character of a cluster, and the bytes of the cluster that it stands for.
#[derive(Debug, Clone, Copy)]
struct Part {
    c: char,
    combining_class: u8,
    start: usize,
    end: usize,
}

#[derive(Debug, Default)]
struct Cluster {
    parts: Vec<Part>,
}

impl Cluster {
    /// Normalizes a cluster; returns false if that changes nothing.
    fn normalize(&mut self, text: &str, data: Data) -> bool {
        self.parts.clear();
        for (start, c) in text.char_indices() {
            let end = start + c.len_utf8();
            data.decompose(c, |c| {
                self.parts.push(Part { c, combining_class: data.combining_class(c), start, end });
            });
        }
        let is_starter = |part: &Part| part.combining_class == 0;
        for marks in self.parts.split_mut(is_starter) {
            marks.sort_by_key(|part| part.combining_class);
        }
        if data.form.is_composed() {
            self.compose(data);
        }
        if self.parts.iter().map(|part| part.c).eq(text.chars()) {
            return false;
        }
        self.order();
        true
    }

    /// Composes each character with the last starter, if no character between blocks it (Unicode 3.11, D117).
    fn compose(&mut self, data: Data) {
        let parts = &mut self.parts;
        let mut starter = None;
        let mut kept = 0;
        for i in 0..parts.len() {
            let part = parts[i];
            if let Some(at) = starter {
                let last: Part = parts[kept - 1];
                let is_free = kept == at + 1 || last.combining_class < part.combining_class;
                let first: &mut Part = &mut parts[at];
                if let Some(c) = data.compose(first.c, part.c).filter(|_| is_free) {
                    first.c = c;
                    first.start = first.start.min(part.start);
                    first.end = first.end.max(part.end);
                    continue;
                }
            }
            if part.combining_class == 0 {
                starter = Some(kept);
            }
            parts[kept] = part;
            kept += 1;
        }
        parts.truncate(kept);
    }

    /// Widens the ranges until neither starts nor ends decrease.
    fn order(&mut self) {
        let mut end = 0;
        for part in &mut self.parts {
            end = end.max(part.end);
            part.end = end;
        }
        let mut start = usize::MAX;
        for part in self.parts.iter_mut().rev() {
            start = start.min(part.start);
            part.start = start;
        }
    }
}

/// The definition without clusters: the normal form of a whole text, with the range that each
/// character stands for.
#[cfg(test)]
pub(super) fn whole_text(form: Form, tables: UnicodeTables, text: &str) -> Vec<(char, Span)> {
    let mut cluster = Cluster::default();
    cluster.normalize(text, Data::new(form, tables));
    cluster.order();
    cluster.parts.iter().map(|part| (part.c, Span::new(part.start, part.end))).collect()
}
