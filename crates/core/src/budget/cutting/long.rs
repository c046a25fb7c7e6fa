//! All prefixes, or all suffixes, of a part of a text without cuts.
//!
//! In: the part. Out: its longest prefix under a budget; the number of ids of each suffix. Each character takes
//! constant time, and of prefixes no more are read than what may fit: see [`Pretokens::stays_over`].
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::pattern::Splitter;
use crate::watch::Ticker;

use crate::budget::parts::PartEncoder;
use crate::budget::prefixes::PrefixReader;
use crate::budget::pretoken_model::{PairMemo, PretokenModel};
use crate::budget::pretokens::Pretokens;
use crate::budget::suffix_counts::SuffixCounts;
use crate::budget::suffixes::SuffixReader;

/// Shorter parts are encoded anew for each prefix.
pub(super) const LONG: usize = 1 << 8;

/// How many bytes are read between two looks at whether more can fit.
const STEP: usize = 1 << 6;

/// The split of a part with canonical merges that is split and nothing else. `None` for other parts.
fn canonical_split<'a>(
    encoder: &PartEncoder<'a>,
    text: &str,
    ticker: &mut Ticker<'_>,
) -> Result<Option<&'a Splitter>> {
    let is_canonical = matches!(PretokenModel::of(encoder.engine, ticker)?, PretokenModel::Tokens(_));
    let splitter = encoder.engine.only_split(text, encoder.recognizer, ticker)?;
    Ok(splitter.filter(|splitter| is_canonical && splitter.grows()))
}

/// The number of ids of each suffix of a part. `None` if it is not encoded pretoken by pretoken, or if the tokens of a
/// pretoken have no table.
pub(super) fn suffix_counts(
    encoder: &PartEncoder<'_>,
    text: &str,
    memo: &mut PairMemo,
) -> Result<Option<SuffixCounts>> {
    let (engine, ticker) = (encoder.engine, &mut Ticker::new(encoder.watch));
    let Some(splitter) = canonical_split(encoder, text, ticker)? else { return Ok(None) };
    let PretokenModel::Tokens(matcher) = PretokenModel::of(engine, ticker)? else { return Ok(None) };
    let mut counts = SuffixCounts::default();
    counts.read(text.as_bytes(), splitter, &mut SuffixReader { engine, matcher, memo, ticker })?;
    Ok(Some(counts))
}

/// Counts the ids of prefixes.
pub(super) struct LongPrefixes<'a, 'm> {
    engine: &'a Engine,
    splitter: &'a Splitter,
    text: &'a str,
    memo: &'m mut PairMemo,
    ticker: Ticker<'a>,
    scratch: Box<Scratch>,
    pretokens: Pretokens,
}

impl<'a, 'm> LongPrefixes<'a, 'm> {
    /// `None` if the part is not encoded pretoken by pretoken, or if the tokens of a pretoken have no table.
    pub(super) fn new(
        encoder: &PartEncoder<'a>,
        text: &'a str,
        memo: &'m mut PairMemo,
    ) -> Result<Option<Self>> {
        let engine = encoder.engine;
        let mut ticker = Ticker::new(encoder.watch);
        let splitter = canonical_split(encoder, text, &mut ticker)?;
        Ok(splitter.map(|splitter| Self {
            engine,
            splitter,
            text,
            memo,
            ticker,
            scratch: Box::default(),
            pretokens: Pretokens::default(),
        }))
    }

    /// The length of the longest prefix, longer than `floor`, that has at most `limit` ids and ends at a border; and
    /// how many bytes were read.
    pub(super) fn longest(
        &mut self,
        limit: usize,
        mut first_border: impl FnMut(usize) -> usize,
        floor: usize,
    ) -> Result<(Option<usize>, usize)> {
        let text = self.text;
        let (pretokens, mut reader) = self.reader()?;
        let (mut found, mut at, mut looked) = (None, 0, 0);
        let mut border = first_border(1);
        while at < text.len() {
            let next = (at + STEP..text.len()).find(|&at| text.is_char_boundary(at));
            at = next.unwrap_or(text.len()).min(border);
            let part = &text.as_bytes()[..at];
            pretokens.read(part, &mut reader)?;
            let count = pretokens.count(part, &mut reader)?;
            if at == border {
                if count <= limit && at > floor {
                    found = Some(at);
                }
                border = first_border(at + 1);
            }
            if count > limit && at >= looked + STEP {
                looked = at;
                if pretokens.stays_over(part, &mut reader, limit)? {
                    break;
                }
            }
        }
        Ok((found, at))
    }

    /// Appends the ids of the prefix of a length that was read.
    pub(super) fn append_ids(&mut self, length: usize, ids: &mut Vec<TokenId>) -> Result<()> {
        let part = &self.text.as_bytes()[..length];
        let (pretokens, mut reader) = self.reader()?;
        pretokens.truncate(part, reader.model);
        pretokens.read(part, &mut reader)?;
        pretokens.append_ids(part, &mut reader, ids)
    }

    fn reader(&mut self) -> Result<(&mut Pretokens, PrefixReader<'_, 'a>)> {
        let model = PretokenModel::of(self.engine, &mut self.ticker)?;
        let reader = PrefixReader {
            engine: self.engine,
            splitter: Some(self.splitter),
            model,
            memo: &mut *self.memo,
            scratch: &mut self.scratch,
            ticker: &mut self.ticker,
        };
        Ok((&mut self.pretokens, reader))
    }
}
