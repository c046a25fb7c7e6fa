//! Byte-pair encoding: a pretoken becomes symbols, neighbours merge by rank until none can.
//!
//! Comes in: one pretoken. Goes out: its ids, behind those already in the scratch. The path
//! depends on the length alone: a pretoken that is a token needs one look-up, short ones a scan
//! for the lowest rank, long ones a heap, which keeps the cost at n log n for every text.
mod merge;

use std::collections::HashMap;

use tokenmill_kernels::PairTable;

use crate::description::{Alphabet, Bpe as BpeDescription, EndOfWordForm, Merge, Merges, TokenList};
use crate::error::{Defect, Error, Kind, Place, Result};
use crate::ids::{NO_ID, TokenId, narrow};
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

pub use merge::Scratch;

/// A compiled BPE model. Immutable.
#[derive(Debug)]
pub struct Bpe {
    symbols: Symbols,
    pairs: PairTable,
    unk: Option<TokenId>,
    /// By index in the vocabulary's token list: may a pretoken with these bytes become this
    /// token at once? True where merging gives the same, or where whole pretokens win.
    at_once: Vec<bool>,
}

/// How a pretoken is broken up.
#[derive(Debug)]
enum Symbols {
    Bytes(Box<[TokenId; 256]>),
    Chars {
        inner: HashMap<char, TokenId>,
        /// What the last character becomes, where that differs.
        last: Option<HashMap<char, TokenId>>,
        /// What follows the last character.
        end: Option<TokenId>,
    },
}

impl Bpe {
    /// Compiles the model of a valid description.
    ///
    /// # Errors
    /// A format error at `merges` for a pair that is listed twice.
    pub fn new(description: &BpeDescription, vocabulary: &Vocabulary) -> Result<Self> {
        let pairs = match &description.merges {
            Merges::Listed(merges) => listed_pairs(merges)?,
            Merges::ById => pairs_by_id(vocabulary)?,
        };
        let mut model = Self {
            symbols: Symbols::new(&description.alphabet, vocabulary.tokens()),
            pairs,
            unk: description.unk,
            at_once: Vec::new(),
        };
        if description.alphabet == Alphabet::Bytes {
            model.at_once = if description.whole_pretokens {
                vec![true; vocabulary.tokens().len()]
            } else {
                model.self_building(vocabulary).collect()
            };
        }
        Ok(model)
    }

    /// For every ordinary token: does merging its bytes give this one token?
    fn self_building<'a>(&'a self, vocabulary: &'a Vocabulary) -> impl Iterator<Item = bool> + 'a {
        let mut scratch = Scratch::default();
        vocabulary.tokens().iter().map(move |(id, bytes)| {
            scratch.ids.clear();
            let watch = crate::watch::Unwatched;
            let merged = self.merge_pretoken(bytes, 0, &mut scratch, &mut Ticker::new(&watch));
            merged.is_ok() && scratch.ids == [id]
        })
    }

    /// Does merging build every token from its bytes, so that the rule for whole pretokens says
    /// nothing new? Only asked of alphabets of bytes.
    pub fn builds_every_token(&self, vocabulary: &Vocabulary) -> bool {
        matches!(self.symbols, Symbols::Bytes(_)) && self.self_building(vocabulary).all(|builds| builds)
    }

    /// Puts the ids of a pretoken behind `scratch.ids`. `at` is where it starts in the caller's
    /// text, for errors.
    ///
    /// # Errors
    /// An unknown-token error for a symbol outside the alphabet; cancellation.
    #[inline]
    pub fn encode(
        &self,
        pretoken: &[u8],
        at: usize,
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if let Some(index) = vocabulary.find_index(pretoken)
            && self.at_once.get(index) == Some(&true)
        {
            scratch.ids.push(vocabulary.tokens().id(index));
            return Ok(());
        }
        self.merge_pretoken(pretoken, at, scratch, ticker)
    }

    fn merge_pretoken(
        &self,
        pretoken: &[u8],
        at: usize,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        scratch.symbols.clear();
        self.break_up(pretoken, at, &mut scratch.symbols)?;
        merge::merge(&self.pairs, scratch, ticker)
    }

    fn break_up(&self, pretoken: &[u8], at: usize, symbols: &mut Vec<TokenId>) -> Result<()> {
        match &self.symbols {
            Symbols::Bytes(table) => {
                for (i, &byte) in pretoken.iter().enumerate() {
                    match table[usize::from(byte)] {
                        NO_ID => {
                            symbols.push(self.unk.ok_or_else(|| unknown(format!("0x{byte:02X}"), at + i))?);
                        }
                        id => symbols.push(id),
                    }
                }
            }
            Symbols::Chars { inner, last, end } => {
                let text = std::str::from_utf8(pretoken)
                    .map_err(|_| Error::internal("a character model was given bytes that are not UTF-8"))?;
                for (i, char) in text.char_indices() {
                    let is_last = i + char.len_utf8() == text.len();
                    let table = if is_last { last.as_ref().unwrap_or(inner) } else { inner };
                    match table.get(&char).copied().or(self.unk) {
                        Some(id) => symbols.push(id),
                        None => return Err(unknown(char.to_string(), at + i)),
                    }
                }
                symbols.extend(end);
            }
        }
        Ok(())
    }

    /// The table of merges.
    pub fn pairs(&self) -> &PairTable {
        &self.pairs
    }

    /// What stands for a symbol outside the alphabet.
    pub fn unk(&self) -> Option<TokenId> {
        self.unk
    }

    /// Can every byte be spelled?
    pub fn is_byte_complete(&self) -> bool {
        matches!(&self.symbols, Symbols::Bytes(table) if !table.contains(&NO_ID))
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.pairs.memory() + self.at_once.capacity()
    }
}

fn unknown(symbol: String, position: usize) -> Error {
    Kind::UnknownToken { symbol, position: Place::Byte(position) }.into()
}

impl Symbols {
    fn new(alphabet: &Alphabet, tokens: &TokenList) -> Self {
        let end_of_word = match alphabet {
            Alphabet::Bytes => {
                let mut table = Box::new([NO_ID; 256]);
                for (id, bytes) in tokens.iter() {
                    if let &[byte] = bytes {
                        table[usize::from(byte)] = id;
                    }
                }
                return Self::Bytes(table);
            }
            Alphabet::Chars { end_of_word } => end_of_word.as_ref(),
        };
        let single_char = |bytes: &[u8]| {
            let mut chars = std::str::from_utf8(bytes).ok()?.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        let mut inner: HashMap<char, TokenId> =
            tokens.iter().filter_map(|(id, bytes)| Some((single_char(bytes)?, id))).collect();
        let (mut last, mut end) = (None, None);
        if let Some(mark) = end_of_word {
            let symbol = mark.symbol.as_bytes();
            match mark.form {
                EndOfWordForm::Separate => {
                    end = tokens.iter().find(|(_, bytes)| *bytes == symbol).map(|(id, _)| id);
                    // A mark of one character is no character of the text.
                    inner.retain(|_, id| Some(*id) != end);
                }
                EndOfWordForm::Suffix => {
                    let glued =
                        |(id, bytes): (TokenId, &[u8])| Some((single_char(bytes.strip_suffix(symbol)?)?, id));
                    last = Some(tokens.iter().filter_map(glued).collect());
                }
            }
        }
        Self::Chars { inner, last, end }
    }
}

fn listed_pairs(merges: &[Merge]) -> Result<PairTable> {
    let entry = |(rank, merge): (usize, &Merge)| ((merge.left, merge.right), (narrow(rank), merge.result));
    let entries: Vec<_> = merges.iter().enumerate().map(entry).collect();
    PairTable::new(&entries).map_err(|pair| {
        let at = merges.iter().rposition(|merge| (merge.left, merge.right) == pair).unwrap_or_default();
        let reason = format!("the pair of ids {} and {} is listed twice", pair.0, pair.1);
        Error::format(Defect::Duplicate, reason).at_index(at).at("merges").at("model")
    })
}

/// Every way to split a token in two tokens, at the rank of its id.
fn pairs_by_id(vocabulary: &Vocabulary) -> Result<PairTable> {
    let mut entries = Vec::new();
    for (id, bytes) in vocabulary.tokens().iter() {
        for cut in 1..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            if let (Some(left), Some(right)) = (vocabulary.find(left), vocabulary.find(right)) {
                entries.push(((left, right), (id, id)));
            }
        }
    }
    PairTable::new(&entries).map_err(|_| {
        Error::format(Defect::Duplicate, "two tokens have the same bytes").at("vocab").at("model")
    })
}

/// The merges of an id-ordered vocabulary as a list: for every token of two or more symbols the
/// two tokens it is made of, in order of ids.
///
/// The list means the same as the id rule when each token, merged by the ids below its own,
/// ends as exactly two tokens; that is checked on the way. Within a span that ends up as one
/// token no merge crosses its ends, so the token's history is the same in every text.
///
/// # Errors
/// The id of the first token that merging does not build: a list cannot say what the id rule says.
pub fn listed_merges(vocabulary: &Vocabulary) -> std::result::Result<Vec<Merge>, TokenId> {
    let Ok(pairs) = pairs_by_id(vocabulary) else { return Err(NO_ID) };
    let symbols = Symbols::new(&Alphabet::Bytes, vocabulary.tokens());
    let Symbols::Bytes(table) = &symbols else { return Err(NO_ID) };
    let mut merges = Vec::new();
    let mut parts = Vec::new();
    for (id, bytes) in vocabulary.tokens().iter() {
        if bytes.len() == 1 {
            continue;
        }
        parts.clear();
        parts.extend(bytes.iter().map(|&byte| table[usize::from(byte)]));
        if parts.contains(&NO_ID) {
            return Err(id);
        }
        match *merge::merge_below(&pairs, &mut parts, id) {
            [left, right] => merges.push(Merge { left, right, result: id }),
            _ => return Err(id),
        }
    }
    Ok(merges)
}
