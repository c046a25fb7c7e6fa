//! Small random vocabularies over a few letters: merges that contradict each other, tokens that nothing builds, ranks
//! below those of parts, pieces of every kind.
use std::sync::Arc;

use crate::description::{
    Alphabet, BpeDescription, Description, EndOfWord, EndOfWordForm, Merge, Merges, ModelDescription,
    PieceKind, TokenList, UnigramDescription, WordLevelDescription, WordPieceDescription,
};
use crate::ids::{TokenId, to_u32};

/// The letters of texts. A vocabulary may lack the last one.
pub(super) const LETTERS: [&str; 3] = ["a", "b", "c"];

/// The kinds of vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Listed merges of bytes.
    Listed,
    /// Merges by id.
    ById,
    /// Listed merges of characters.
    Chars,
    /// The same with a mark for what continues a word.
    Continuing,
    /// The same with a mark for the end of a word, its own symbol or glued to the last character.
    EndOfWord,
    /// Merges by score.
    Scored,
    WordPiece,
    WordLevel,
    Unigram,
}

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Listed,
        Self::ById,
        Self::Chars,
        Self::Continuing,
        Self::EndOfWord,
        Self::Scored,
        Self::WordPiece,
        Self::WordLevel,
        Self::Unigram,
    ];
}

/// A row of random numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// True in one of `cases` cases.
    pub(super) fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A few different words.
    pub(super) fn words(&mut self, most: usize) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for _ in 0..=self.below(most) {
            let word: String = (0..2 + self.below(3)).map(|_| LETTERS[self.below(3)]).collect();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    fn letters(&mut self) -> Vec<String> {
        let known = if self.one_in(3) { 2 } else { 3 };
        LETTERS[..known].iter().map(|&letter| letter.to_owned()).collect()
    }
}

/// A random tokenizer without any step around its model.
pub(super) fn tokenizer(kind: Kind, random: &mut Random) -> Description {
    let model = match kind {
        Kind::Listed => ModelDescription::Bpe(listed(Alphabet::Bytes, "", random)),
        Kind::Chars => ModelDescription::Bpe(of_chars(None, "", random)),
        Kind::Continuing => {
            // All of one kind have the same mark, so that they can be joined.
            let model = of_chars(None, "##", random);
            ModelDescription::Bpe(BpeDescription { continuing_prefix: Some("##".to_owned()), ..model })
        }
        Kind::EndOfWord => {
            let form = if random.one_in(2) { EndOfWordForm::Separate } else { EndOfWordForm::Suffix };
            let mark = EndOfWord { symbol: "</w>".to_owned(), form };
            ModelDescription::Bpe(of_chars(Some(mark), "", random))
        }
        Kind::ById => {
            let mut tokens = random.letters();
            let tokens = if random.one_in(2) {
                // Each is built of those before it.
                for _ in 0..random.below(12) {
                    let [left, right] = [(); 2].map(|()| random.below(tokens.len()));
                    let joined = format!("{}{}", tokens[left], tokens[right]);
                    if joined.len() <= 5 && !tokens.contains(&joined) {
                        tokens.push(joined);
                    }
                }
                in_order(tokens, random)
            } else {
                tokens.extend(random.words(14));
                numbered(tokens, random)
            };
            let whole_pretokens = random.one_in(2);
            let plain = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById);
            ModelDescription::Bpe(BpeDescription { whole_pretokens, ..plain })
        }
        Kind::Scored => ModelDescription::Bpe(scored(random)),
        Kind::WordPiece => {
            let mut tokens = [vec!["[UNK]".to_owned()], random.letters(), random.words(8)].concat();
            let continuing = [random.letters(), random.words(8)].concat();
            tokens.extend(continuing.iter().map(|word| format!("##{word}")));
            let tokens = numbered(tokens, random);
            let max_chars = if random.one_in(3) { 4 } else { 100 };
            let unk = Some(id_of(&tokens, "[UNK]"));
            let continuing_prefix = "##".to_owned();
            ModelDescription::WordPiece(WordPieceDescription {
                tokens: Arc::new(tokens),
                unk,
                continuing_prefix,
                max_chars,
            })
        }
        Kind::WordLevel => {
            let tokens = [vec!["[UNK]".to_owned()], random.letters(), random.words(20)].concat();
            let tokens = numbered(tokens, random);
            let unk = Some(id_of(&tokens, "[UNK]"));
            ModelDescription::WordLevel(WordLevelDescription { tokens: Arc::new(tokens), unk })
        }
        Kind::Unigram => ModelDescription::Unigram(unigram(random)),
    };
    Description::of_model(model)
}

/// The tokens in a random order, with ids between which there are gaps.
fn numbered(mut tokens: Vec<String>, random: &mut Random) -> TokenList {
    random.shuffle(&mut tokens);
    in_order(tokens, random)
}

fn in_order(tokens: Vec<String>, random: &mut Random) -> TokenList {
    let mut next = 0;
    let mut numbered: Vec<(TokenId, String)> = Vec::new();
    for token in tokens {
        next += to_u32(usize::from(random.one_in(5)));
        numbered.push((next, token));
        next += 1;
    }
    TokenList::from_entries(numbered)
}

fn id_of(tokens: &TokenList, token: &str) -> TokenId {
    tokens.id(tokens.find(token.as_bytes()).unwrap())
}

/// Merges over characters, with an unknown token or without one.
fn of_chars(end_of_word: Option<EndOfWord>, prefix: &str, random: &mut Random) -> BpeDescription {
    let model = listed(Alphabet::Chars { end_of_word }, prefix, random);
    let unk = model.tokens.find(b"<unk>").map(|index| model.tokens.id(index));
    let (fuse_unk, byte_fallback) = (random.one_in(2), random.one_in(2));
    BpeDescription { unk, fuse_unk, byte_fallback, ..model }
}

/// Listed merges of any two tokens, in any order, several of which may make one token. What continues a word has a
/// prefix.
fn listed(alphabet: Alphabet, prefix: &str, random: &mut Random) -> BpeDescription {
    let mut tokens = random.letters();
    if !prefix.is_empty() {
        tokens.extend(random.letters().iter().map(|letter| format!("{prefix}{letter}")));
    }
    if let Alphabet::Chars { end_of_word: Some(mark) } = &alphabet {
        tokens.push(mark.symbol.clone());
        if mark.form == EndOfWordForm::Suffix {
            tokens.pop();
            tokens.extend(random.letters().iter().map(|letter| format!("{letter}{}", mark.symbol)));
        }
    }
    let mut merges: Vec<[String; 3]> = Vec::new();
    for _ in 0..3 + random.below(14) {
        let [left, right] = [(); 2].map(|()| tokens[random.below(tokens.len())].clone());
        let Some(rest) = right.strip_prefix(prefix) else { continue };
        let joined = format!("{left}{rest}");
        if left.contains("</w>")
            || joined.len() > 9
            || merges.iter().any(|[a, b, _]| (a, b) == (&left, &right))
        {
            continue;
        }
        if !tokens.contains(&joined) {
            tokens.push(joined.clone());
        }
        merges.push([left, right, joined]);
    }
    random.shuffle(&mut merges);
    if alphabet != Alphabet::Bytes {
        tokens.extend((!random.one_in(4)).then(|| "<unk>".to_owned()));
        tokens.extend(random.one_in(3).then(|| "<0x63>".to_owned()));
    }
    let tokens = numbered(tokens, random);
    let merge = |parts: &[String; 3]| {
        let [left, right, result] = parts.each_ref().map(|token| id_of(&tokens, token));
        Merge { left, right, result }
    };
    let merges = Merges::listed(merges.iter().map(merge).collect::<Vec<_>>());
    let whole_pretokens = prefix.is_empty() && random.one_in(4);
    BpeDescription { whole_pretokens, ..BpeDescription::plain(alphabet, tokens, merges) }
}

/// Few scores, so that there are equal ones, and pieces of every kind.
fn scored(random: &mut Random) -> BpeDescription {
    let mut tokens = vec!["<unk>".to_owned()];
    tokens.extend(random.one_in(3).then(|| "<0x63>".to_owned()));
    tokens.extend(random.letters());
    tokens.extend(random.words(14));
    let tokens = in_order(tokens, random);
    let plain = random.one_in(2);
    let mut kind = |bytes: &[u8]| match (bytes, random.below(10)) {
        (b"<unk>", _) => PieceKind::Unknown,
        (b"<0x63>", _) => PieceKind::Byte,
        (_, 0) if !plain => PieceKind::UserDefined,
        (_, 1 | 2) if !plain => PieceKind::Unused,
        (_, 3) if !plain => PieceKind::Control,
        _ => PieceKind::Normal,
    };
    let kinds = tokens.iter().map(|(_, bytes)| kind(bytes)).collect();
    let scores = tokens.iter().map(|_| -f32::from(random.below(5) as u16)).collect();
    let unk = Some(id_of(&tokens, "<unk>"));
    let (fuse_unk, byte_fallback) = (random.one_in(2), random.one_in(2));
    let alphabet = Alphabet::Chars { end_of_word: None };
    let plain = BpeDescription::plain(alphabet, tokens, Merges::ByScore { scores, kinds });
    BpeDescription { unk, fuse_unk, byte_fallback, ..plain }
}

/// Few scores, so that there are ties, and sometimes a piece that is listed twice.
fn unigram(random: &mut Random) -> UnigramDescription {
    let mut tokens = [vec!["<unk>".to_owned()], random.letters(), random.words(12)].concat();
    let repeated = tokens[random.below(tokens.len())].clone();
    tokens.extend(random.one_in(4).then_some(repeated).filter(|piece| piece != "<unk>"));
    let tokens = in_order(tokens, random);
    let steps = if random.one_in(3) { 0.1 } else { 1.0 };
    let scores: Vec<f64> =
        tokens.iter().map(|_| f64::from(-(f32::from(random.below(12) as u16) * steps))).collect();
    // In single precision, as formats have it.
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    #[allow(clippy::cast_possible_truncation)]
    let unk_score = f64::from(lowest as f32 - UnigramDescription::UNK_PENALTY);
    let unk = Some(id_of(&tokens, "<unk>"));
    UnigramDescription {
        tokens: Arc::new(tokens),
        scores,
        kinds: Vec::new(),
        unk,
        unk_score,
        byte_fallback: false,
        single_precision: random.one_in(2),
    }
}
