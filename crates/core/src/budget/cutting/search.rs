//! The longest prefix and the longest suffix of a text under a budget.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::engine::{Cut, Engine, Recognizer, Special, Text};
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::Watch;

use super::borders::Borders;
use super::found_cuts::{FAR, FoundCuts};
use super::long::{LONG, LongPrefixes, suffix_counts};
use super::read_ahead::ReadAhead;
use crate::budget::parts::PartEncoder;
use crate::budget::pretoken_model::PairMemo;

/// A place is looked for by halves until it is as near as this.
const NEAR: usize = 8;

/// What was found of a prefix under a budget.
pub(super) struct Prefix {
    /// Its end; `None` if no part has so few ids.
    pub(super) end: Option<usize>,
    /// No longer part has so few, whatever follows: nothing after this place was looked at.
    pub(super) last: usize,
}

/// Finds parts of one text under a budget.
pub(super) struct Search<'a> {
    text: &'a str,
    encoder: PartEncoder<'a>,
    cuts: FoundCuts<'a>,
    /// How many bytes 256 ids took in the last part that was found: says where to look first.
    rate: usize,
    memo: PairMemo,
    /// The ids of the last part that was found.
    pub(super) ids: Vec<TokenId>,
    /// The ids from the start of the part up to the last cut before which there are not too many.
    read: Vec<TokenId>,
    /// The last place where the part can end and fit; `None` if all of the text fits.
    last: Option<usize>,
    /// The start of the part and the cuts after it, each with the number of ids before it. For a suffix: the cuts
    /// before its end, each with the number of ids after it.
    passed: Vec<(Cut, usize)>,
    /// Is each id the bytes of its token in the text, so that the length of a token says where it begins?
    are_bytes: bool,
    /// Encodes the text ahead of the search; `None` if no more is to be encoded than a part needs.
    read_ahead: Option<ReadAhead>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        recognizer: &'a Recognizer<'a>,
        (text, special): (&'a str, &Special),
        watch: &'a dyn Watch,
    ) -> Self {
        let cuts = engine.cuts(special);
        Self {
            text,
            encoder: PartEncoder { engine, recognizer, watch },
            cuts: FoundCuts::new(text, cuts),
            are_bytes: cuts.parts_are_texts() && engine.has_byte_tokens(),
            rate: 4 << 8,
            memo: PairMemo::default(),
            ids: Vec::new(),
            read: Vec::new(),
            last: None,
            passed: Vec::new(),
            read_ahead: None,
        }
    }

    /// A search that will go through all of the text from left to right. Up to `threads` threads encode it.
    pub(super) fn through_all(mut self, threads: usize) -> Self {
        self.read_ahead = self.are_bytes.then(|| ReadAhead::new(threads));
        self
    }

    /// The longest part from `start` on that ends at a border after `floor` and has at most `limit` ids; these are
    /// then in `ids`.
    pub(super) fn longest_prefix(
        &mut self,
        start: usize,
        limit: usize,
        borders: &mut Borders<'_>,
        floor: usize,
    ) -> Result<Prefix> {
        self.read_from(start, limit)?;
        self.longest_read(limit, borders, floor)
    }

    /// As [`Self::longest_prefix`], from where the text was read.
    ///
    /// Ids up to a cut are those of every longer part. So no part fits that goes on after a cut up to which there
    /// are too many. Of those before it, each is counted, the longest first.
    pub(super) fn longest_read(
        &mut self,
        limit: usize,
        borders: &mut Borders<'_>,
        floor: usize,
    ) -> Result<Prefix> {
        self.ids.clear();
        try_alloc::extend(&mut self.ids, &self.read)?;
        let start = self.passed.first().map_or(0, |(cut, _)| cut.at);
        let from = self.passed.last().map_or(start, |(cut, _)| cut.at);
        let Some(last) = self.last else {
            let length = self.text.len();
            self.note_rate(length - start);
            return Ok(Prefix { end: Some(length).filter(|&end| end > floor), last: length });
        };
        let mut last = (from..=last).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(from);
        let mut at = last;
        let long = last.checked_sub(from + LONG).map(|_| &self.text[from..last]);
        if let Some(long) = long
            && let Some(mut prefixes) = LongPrefixes::new(&self.encoder, long, &mut self.memo)?
        {
            let known = self.ids.len();
            let (found, read) = prefixes.longest(
                limit - known,
                |at| borders.first(from + at) - from,
                floor.saturating_sub(from),
            )?;
            last = from + read;
            if let Some(length) = found {
                prefixes.append_ids(length, &mut self.ids)?;
                self.note_rate(from + length - start);
                return Ok(Prefix { end: Some(from + length), last });
            }
            at = from;
        } else if long.is_some() {
            last = self.end_of_long(limit, from, last)?;
            at = last;
        }
        let mut number = self.passed.len();
        let mut read_to = from;
        while let Some(end) = borders.last(floor.max(start), at) {
            let from = if self.are_bytes {
                if read_to > end {
                    let mut ids = std::mem::take(&mut self.ids);
                    read_to = self.back_to(end, start, read_to, &mut ids);
                    self.ids = ids;
                }
                Cut { at: read_to, before: read_to, seen: read_to }
            } else {
                // What is known up to the last cut in this part.
                while number > 1
                    && self.passed[number - 1].0.at != end
                    && self.passed[number - 1].0.seen > end
                {
                    number -= 1;
                }
                let (from, known) = self.passed[number - 1];
                self.ids.clear();
                try_alloc::extend(&mut self.ids, &self.read[..known])?;
                from
            };
            let known = self.ids.len();
            if end > from.at {
                self.encoder.append(Text::Str(self.text), from, end, &mut self.ids)?;
            }
            if self.ids.len() <= limit {
                self.note_rate(end - start);
                return Ok(Prefix { end: Some(end), last });
            }
            self.ids.truncate(known);
            at = end - 1;
        }
        Ok(Prefix { end: None, last })
    }

    /// Removes the ids after the last cut that is not after a place. The ids end at `at` and stand for bytes. Returns
    /// where they end then.
    fn back_to(&mut self, place: usize, start: usize, at: usize, ids: &mut Vec<TokenId>) -> usize {
        let cut = self.cuts.last(start + 1..place + 1).map_or(start, |cut| cut.at);
        let mut at = at;
        while at > cut
            && let Some(id) = ids.pop()
        {
            at = at.saturating_sub(self.encoder.length_of(id));
        }
        // Each cut is where a token ends.
        debug_assert_eq!(at, cut);
        cut
    }

    /// A place after which no part ends that has at most `limit` ids, where many bytes follow the last cut. `last`
    /// if only counting all of them tells.
    fn end_of_long(&mut self, limit: usize, from: usize, last: usize) -> Result<usize> {
        if let Some(end) = self.end_of_run(limit, last)? {
            return Ok(end);
        }
        let most = self.most_bytes(limit - self.ids.len());
        Ok(most.map_or(last, |most| last.min(from.saturating_add(most))))
    }

    /// As [`Self::end_of_long`], for a run of characters that is one pretoken; `None` for other texts.
    ///
    /// In one pretoken, each prefix has at least as many ids as one that is shorter by no more than the longest token.
    /// So the search ends after that many prefixes in a row that have too many.
    fn end_of_run(&mut self, limit: usize, last: usize) -> Result<Option<usize>> {
        let (from, known) = self.passed.last().copied().unwrap_or_default();
        let mut ids = std::mem::take(&mut self.ids);
        let text = self.text;
        let ceil = |at: usize| (at..last).find(|&at| text.is_char_boundary(at)).unwrap_or(last);
        // The longest one that fits so far, and one that does not.
        let (mut fits, mut too_long) = (from.at, None);
        let (mut over, mut run, mut looked, mut left) = (0, 0, 0, limit - known);
        let found = loop {
            let place = ceil(match too_long {
                None => fits + self.bytes_of(left).max(1),
                Some(end) if over == 0 && end > fits + NEAR => fits + (end - fits) / 2,
                Some(end) => end + 1,
            });
            if looked < place {
                // Some more than is needed now.
                let mut ahead = [ceil(place + LONG), place].into_iter();
                let Some(found) =
                    ahead.find_map(|to| Some((to, self.cuts.rules.run_length(&text[from.at..to])?)))
                else {
                    break None;
                };
                (looked, run) = found;
            }
            ids.truncate(known);
            self.encoder.append(Text::Str(text), from, place, &mut ids)?;
            match limit.checked_sub(ids.len()) {
                Some(_) if place == last => break Some(last),
                Some(more) => (fits, left, over) = (place, more, 0),
                None => {
                    let is_behind = too_long.is_some_and(|end| place > end);
                    over = if is_behind { over + 1 } else { 0 };
                    if place == last || over >= run {
                        break Some(place);
                    }
                    too_long = Some(place);
                }
            }
            if too_long.is_some_and(|end| end < fits) {
                too_long = None;
            }
        };
        ids.truncate(known);
        self.ids = ids;
        Ok(found)
    }

    /// Reads from `start` on up to the last cut before which there are at most `limit` ids.
    pub(super) fn read_from(&mut self, start: usize, limit: usize) -> Result<()> {
        let (mut ids, mut ahead) = (std::mem::take(&mut self.read), self.read_ahead.take());
        let is_read = match &mut ahead {
            Some(ahead) => self.read_ahead(ahead, (start, limit), &mut ids)?,
            None => false,
        };
        if !is_read {
            self.last = self.pass_cuts(start, limit, &mut ids)?;
        }
        (self.read, self.read_ahead) = (ids, ahead);
        Ok(())
    }

    /// As [`Self::pass_cuts`], with ids that were encoded ahead. `false` if there is no cut near `start`, or no such
    /// ids.
    fn read_ahead(
        &mut self,
        ahead: &mut ReadAhead,
        (start, limit): (usize, usize),
        ids: &mut Vec<TokenId>,
    ) -> Result<bool> {
        let (text, length) = (self.text, self.text.len());
        self.pass_start(start, ids);
        let mut from = start;
        if start > 0 && self.cuts.rules.at(text, start).is_none() {
            let Some(cut) = self.cuts.next(start + 1..length.min(start + FAR)) else { return Ok(false) };
            self.encoder.append(Text::Str(text), self.passed[0].0, cut.at, ids)?;
            from = cut.at;
        }
        let Some(left) = limit.checked_sub(ids.len()) else { return Ok(false) };
        let Some((known, ends)) = ahead.ids(from, left, (text, &self.cuts.rules), &self.encoder)? else {
            return Ok(false);
        };
        let to = ends.last().copied().unwrap_or(from);
        let mut cut = to;
        if from < to && to < length {
            cut = self.cuts.last(from + 1..to + 1).map_or(from, |cut| cut.at);
        }
        // Each cut is where a token ends.
        let number = ends.iter().rposition(|&end| end <= cut).map_or(0, |last| last + 1);
        try_alloc::extend(ids, &known[..number])?;
        if cut > start {
            self.passed.push((Cut { at: cut, before: cut, seen: cut }, ids.len()));
        }
        self.last = if cut == length {
            None
        } else if ids.len() == limit {
            Some(cut)
        } else {
            Some(self.before_next_cut(to))
        };
        Ok(true)
    }

    /// The last place where a part can end without containing the next cut after `at`. Up to there a part may have few
    /// enough ids, if it has them up to `at`.
    fn before_next_cut(&mut self, at: usize) -> usize {
        let length = self.text.len();
        self.cuts.next(at + 1..length).map_or(length, |cut| cut.seen - 1)
    }

    /// Starts a part that has no ids yet.
    fn pass_start(&mut self, start: usize, ids: &mut Vec<TokenId>) {
        ids.clear();
        self.passed.clear();
        self.passed.push((Cut { at: start, before: start, seen: start }, 0));
    }

    /// The ids up to the last cut that fits. `None` if all of the text fits; else the last place where a part may end
    /// that has no more than `limit` ids.
    fn pass_cuts(&mut self, start: usize, limit: usize, ids: &mut Vec<TokenId>) -> Result<Option<usize>> {
        self.pass_start(start, ids);
        let text = Text::Str(self.text);
        let length = self.text.len();
        // Cuts are looked for before `end`, and `last` is the last place that is possible.
        let (mut end, mut last) = (length, length);
        let mut is_over = false;
        loop {
            let (from, known) = self.passed.last().copied().unwrap_or_default();
            let left = limit - known;
            if left == 0 && self.cuts.rules.parts_are_texts() {
                // What follows has at least one id.
                return Ok(if from.at == length { None } else { Some(from.at) });
            }
            let mut target = from.at.saturating_add(self.bytes_of(left));
            if self.are_bytes {
                // What is too much is taken back.
                target += (target - from.at) / 16 + 8;
            } else if is_over {
                target = target.min(from.at + (end - from.at) / 2);
            }
            let target = target.max(from.at + 1);
            let cut = if target < end {
                self.cuts.last(from.at + 1..target + 1).or_else(|| self.cuts.next(target + 1..end))
            } else {
                None
            };
            let to = cut.map_or(length, |cut| cut.at);
            if cut.is_none() && (is_over || target < end) {
                return Ok(Some(last));
            }
            if let Some(cut) = cut.filter(|cut| cut.at.saturating_sub(target) > FAR.max(target - from.at)) {
                // Encoding up to a far cut, for each part anew, would take the square of the distance.
                let most = self.most_bytes(left).map_or(length, |most| from.at.saturating_add(most));
                if most < cut.at || self.is_over_before(cut.at, from.at, left)? {
                    return Ok(Some(last.min(cut.seen - 1).min(most)));
                }
            }
            self.encoder.append(text, from, to, ids)?;
            if ids.len() <= limit {
                let Some(cut) = cut else { return Ok(None) };
                let cut = if self.cuts.rules.parts_are_texts() { Cut { before: cut.at, ..cut } } else { cut };
                self.passed.push((cut, ids.len()));
                continue;
            }
            if self.are_bytes {
                let more: usize = ids.drain(limit..).map(|id| self.encoder.length_of(id)).sum();
                let to = self.back_to(to.saturating_sub(more), from.at, to.saturating_sub(more), ids);
                if to > from.at {
                    self.passed.push((Cut { at: to, before: to, seen: to }, ids.len()));
                }
                return Ok(Some(if ids.len() == limit { to } else { self.before_next_cut(to) }));
            }
            if let Some(cut) = cut {
                (end, last) = (cut.at, last.min(cut.seen - 1));
            }
            is_over = true;
            ids.truncate(known);
        }
    }

    /// Does a part without cuts have more than `limit` ids? Reads only as much as that takes. `false` also if it cannot
    /// be told.
    fn is_over_before(&mut self, end: usize, from: usize, limit: usize) -> Result<bool> {
        let prefixes = LongPrefixes::new(&self.encoder, &self.text[from..end], &mut self.memo)?;
        let Some(mut prefixes) = prefixes else { return Ok(false) };
        Ok(prefixes.longest(limit, |_| end - from, 0)?.0.is_none())
    }

    /// The first border, not before `lowest`, from which on the text up to `end` has at most `limit` ids. There is
    /// one: the end itself.
    ///
    /// As in [`Self::longest_prefix`]: no suffix fits that begins before a cut from which on there are too many.
    pub(super) fn longest_suffix(
        &mut self,
        end: usize,
        limit: usize,
        borders: &mut Borders<'_>,
        lowest: usize,
    ) -> Result<usize> {
        let mut at = self.pass_cuts_backwards(end, limit, lowest)?;
        let first_cut = self.passed.last().map_or(end, |(cut, _)| cut.at);
        let start = borders.first(at);
        let long = if start + LONG <= first_cut {
            suffix_counts(&self.encoder, &self.text[start..first_cut], &mut self.memo)?
        } else {
            None
        };
        loop {
            let border = borders.first(at);
            if border >= end {
                return Ok(end);
            }
            // What is known from the first cut in this part on.
            while self.passed.last().is_some_and(|(cut, _)| cut.before < border) {
                self.passed.pop();
            }
            let (to, known) = self.passed.last().map_or((end, 0), |&(cut, known)| (cut.at, known));
            let in_long = long.as_ref().filter(|_| to == first_cut);
            let counted = in_long.and_then(|counts| counts.count(to - border));
            let count = match counted {
                Some(count) => count,
                None => self.encoder.count(self.text, border..to)?,
            };
            if known + count <= limit {
                return Ok(border);
            }
            at = border + 1;
        }
    }

    /// Reads back from `end` up to the first cut from which on there are at most `limit` ids. The first place where
    /// a part may begin that has no more, not before `lowest`.
    fn pass_cuts_backwards(&mut self, end: usize, limit: usize, lowest: usize) -> Result<usize> {
        self.passed.clear();
        let mut ids = std::mem::take(&mut self.ids);
        // Cuts are looked for after `start`, and `first` is the first place that is possible.
        let (mut start, mut first) = (lowest, lowest);
        let (mut to, mut known) = (end, 0);
        let mut is_over = false;
        loop {
            if start + 1 >= to {
                break;
            }
            let left = limit - known;
            let mut target = to.saturating_sub(self.bytes_of(left));
            if is_over {
                target = target.max(to - (to - start) / 2);
            }
            let target = target.clamp(start + 1, to);
            let cut = self.cuts.next(target..to).or_else(|| self.cuts.last(start + 1..target));
            let Some(cut) = cut.filter(|cut| cut.seen <= end) else { break };
            ids.clear();
            let from = if self.cuts.rules.parts_are_texts() { Cut { before: cut.at, ..cut } } else { cut };
            self.encoder.append(Text::Str(self.text), from, to, &mut ids)?;
            if known + ids.len() <= limit {
                (to, known) = (cut.at, known + ids.len());
                self.passed.push((cut, known));
            } else {
                (start, first, is_over) = (cut.at, first.max(cut.before + 1), true);
            }
        }
        self.ids = ids;
        Ok(first)
    }

    /// Asks the watch.
    pub(super) fn poll(&self) -> Result<()> {
        self.encoder.watch.poll()
    }

    /// Appends to `ids` those of a part of the text, encoded by itself.
    pub(super) fn append(&mut self, part: Range<usize>) -> Result<()> {
        let from = Cut { at: part.start, before: part.start, seen: part.start };
        self.encoder.append(Text::Str(self.text), from, part.end, &mut self.ids)
    }

    fn note_rate(&mut self, bytes: usize) {
        if self.ids.len() > 8 {
            self.rate = bytes.saturating_mul(256) / self.ids.len();
        }
    }

    /// The most bytes that a number of ids can stand for, if that is known.
    fn most_bytes(&self, ids: usize) -> Option<usize> {
        if self.are_bytes {
            ids.checked_mul(self.encoder.engine.longest_token())
        } else {
            self.cuts.rules.most_bytes(ids)
        }
    }

    /// About how many bytes a number of ids has.
    fn bytes_of(&self, ids: usize) -> usize {
        ids.saturating_mul(self.rate) / 256
    }
}
