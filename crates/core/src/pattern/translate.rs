//! Translation between the dialect of this library and that of Oniguruma, which tokenizer.json files use.
//!
//! In: a pattern of one dialect. Out: a pattern of the other, or an error that names the construct which
//! cannot be translated. The pattern is read token by token. A token is copied if it means the same in both
//! dialects, rewritten if the other dialect can express its meaning, and refused otherwise, also if its meaning is
//! uncertain. Translated back and forth, a pattern stays the same, so that saving does not change a file.
//!
//! The two dialects look alike and differ in many ways:
//!
//! | this library | Oniguruma (Ruby syntax) |
//! | --- | --- |
//! | `x{1,3}+` is possessive | `x{1,3}+` is a quantifier of a quantifier |
//! | `x{2}?` means `x{2}` | `x{2}?` means `(?:x{2})?` |
//! | `^` and `$` match at the ends of the text | at the ends of lines, but `^` not after a final `\n` |
//! | `\Z` matches before any number of final `\n` | before at most one final `\n` |
//! | `(?s:.)` matches any character | `(?m:.)` does |
//! | `\w` contains the joiners U+200C and U+200D | does not, but outside of classes contains `²³¹¼½¾` |
//! | `(?i:ss)` matches two characters | matches `ß` too |
use std::fmt::Write as _;

use super::dialect_tables::{self, GRAPHEME, ONIGURUMA_CLASS_WORD, ONIGURUMA_WORD, WORD};
use super::tokens::{Dialect, Group, Member, Mode, Repeat, Token, Tokens, members};
use crate::error::{Error, Result};

/// Translates a pattern of this library's dialect into an Oniguruma pattern with the same matches, to be written
/// into a tokenizer.json. Known patterns are returned unchanged.
///
/// The pattern itself is not checked; [`Splitter::compile`](super::Splitter::compile) does that.
///
/// # Errors
/// [`Kind::Pattern`](crate::error::Kind::Pattern) with the position of the first construct that
/// cannot be translated with certainty.
pub fn portable(regex: &str) -> Result<String> {
    Translator::new(regex, Dialect::Ours).run()
}

/// Translates an Oniguruma pattern, as a tokenizer.json contains it, into this library's dialect.
///
/// # Errors
/// As [`portable`].
pub fn from_portable(regex: &str) -> Result<String> {
    Translator::new(regex, Dialect::Oniguruma).run()
}

/// The largest count that Oniguruma accepts.
const MAX_COUNT: u32 = 100_000;

struct Translator<'p> {
    pattern: &'p str,
    from: Dialect,
    out: String,
    /// Where the last expression starts in `out`, if a quantifier may follow it.
    atom: Option<usize>,
    /// Was the last token a quantifier?
    repeated: bool,
    /// The last character inside `(?i:...)`, to detect pairs of letters that Oniguruma folds to one character.
    folded: Option<char>,
    flags: Flags,
    open: Vec<Frame>,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    /// `.` matches any character, `\n` included.
    any: bool,
    /// `^` and `$` match at the ends of lines. Used for our dialect only, because Oniguruma always does this.
    lines: bool,
}

struct Frame {
    /// Where the group starts in `out`.
    start: usize,
    /// The flags outside of the group.
    flags: Flags,
    /// May a quantifier follow the group? None may follow look-around.
    is_atom: bool,
    is_look_behind: bool,
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p str, from: Dialect) -> Self {
        let out = String::with_capacity(pattern.len());
        let flags = Flags::default();
        Self { pattern, from, out, atom: None, repeated: false, folded: None, flags, open: Vec::new() }
    }

    fn run(mut self) -> Result<String> {
        let mut wrapped = false;
        let mut tokens = Tokens::new(self.pattern, self.from);
        loop {
            // Our dialect spells the `\X` of Oniguruma out as `GRAPHEME`. This turns it back into `\X`.
            if self.ours() && tokens.pass(GRAPHEME) {
                self.atom(r"\X");
                continue;
            }
            let Some((at, token)) = tokens.next() else { break };
            if let Token::Open(Group::BareFlags { on, off }) = token {
                // Only at the start of a pattern do the two dialects agree on where bare flags end.
                if at != 0 {
                    return Err(self.refuse(at, "flags without a group after the start of the pattern"));
                }
                let before = self.flags;
                self.set_flags(at, on, off)?;
                wrapped = before.fold != self.flags.fold;
                self.out.push_str(if wrapped { "(?i:" } else { "" });
                continue;
            }
            self.token(at, token)?;
        }
        if !self.open.is_empty() {
            return Err(self.refuse(self.pattern.len(), "a group that is not closed"));
        }
        self.out.push_str(if wrapped { ")" } else { "" });
        Ok(self.out)
    }

    fn refuse(&self, at: usize, what: &str) -> Error {
        let target = match self.from {
            Dialect::Ours => "the Oniguruma syntax of tokenizer.json",
            Dialect::Oniguruma => "this library's dialect",
        };
        let reason =
            format!("{what} cannot be translated with certainty into {target}; write it in another way");
        Error::pattern(self.pattern, Some(at), reason)
    }

    fn ours(&self) -> bool {
        self.from == Dialect::Ours
    }

    /// Is the current position inside look-behind? Groups inside look-behind are refused, so the innermost group
    /// decides.
    fn in_look_behind(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.is_look_behind)
    }

    /// Writes an expression that a quantifier may follow.
    fn atom(&mut self, text: &str) {
        self.atom = Some(self.out.len());
        self.repeated = false;
        self.out.push_str(text);
    }

    /// Writes text that no quantifier may follow.
    fn assertion(&mut self, text: &str) {
        self.atom = None;
        self.repeated = false;
        self.out.push_str(text);
    }

    fn token(&mut self, at: usize, token: Token<'_>) -> Result<()> {
        // Case folding of Oniguruma sees a string of characters through the bounds of groups. It is assumed to do
        // so past quantifiers too.
        let continues = matches!(token, Token::Char(_) | Token::CodePoint(_) | Token::Repeat(_));
        if !continues && !matches!(token, Token::Open(_) | Token::Close) {
            self.folded = None;
        }
        match token {
            Token::Char(c) => {
                self.check_fold(at, c)?;
                self.atom(c.encode_utf8(&mut [0; 4]));
            }
            Token::CodePoint(c) => {
                self.check_fold(at, c)?;
                let text = self.code_point(at, c)?;
                self.atom(&text);
            }
            Token::Escape(c) => self.escape(at, c)?,
            Token::Property { name, negated } => {
                let text = self.property(at, name, negated)?;
                self.atom(&text);
            }
            Token::Class(text) => self.class(at, text)?,
            Token::Open(group) => self.open(at, group)?,
            Token::Close => {
                let Some(frame) = self.open.pop() else {
                    return Err(self.refuse(at, "a parenthesis that closes nothing"));
                };
                if self.out[frame.start..].strip_prefix("(?:") == Some(self.any_char()) {
                    // `(?s:.)` has become `(?:(?m:.)`, or the other way round. The outer group is dropped, as
                    // otherwise every translation back and forth would add one.
                    self.out.drain(frame.start..frame.start + "(?:".len());
                } else {
                    self.out.push(')');
                }
                self.flags = frame.flags;
                self.atom = frame.is_atom.then_some(frame.start);
                self.repeated = false;
            }
            Token::Bar => self.assertion("|"),
            Token::Dot => self.atom(match (self.flags.any, self.in_look_behind()) {
                (false, _) => ".",
                (true, false) => self.any_char(),
                // The other spelling is a group, and look-behind must not contain groups.
                (true, true) => r"[\s\S]",
            }),
            Token::Caret => match (self.from, self.flags.lines) {
                (Dialect::Ours, false) => self.assertion(r"\A"),
                (Dialect::Ours, true) => self.look_behind(at, r"(?<![^\n])")?,
                (Dialect::Oniguruma, _) => self.assertion(r"(?:\A|(?<=\n)(?!\z))"),
            },
            Token::Dollar => match (self.from, self.flags.lines) {
                (Dialect::Ours, false) => self.assertion(r"\z"),
                // The dialects fold the case of negated classes differently.
                _ if self.flags.fold => self.look_ahead(at, r"(?=\n|\z)")?,
                _ => self.look_ahead(at, r"(?![^\n])")?,
            },
            Token::Repeat(repeat) => self.repeat(at, repeat)?,
            Token::Unknown => return Err(self.refuse(at, "this construct")),
        }
        Ok(())
    }

    /// Refuses strings that Oniguruma folds as a whole: there, `ss` matches `ß` and `fi` matches `ﬁ` in a group
    /// that ignores case. All such strings other than the pairs of ASCII letters below contain a letter or mark
    /// beyond ASCII.
    fn check_fold(&mut self, at: usize, c: char) -> Result<()> {
        if !self.flags.fold {
            return Ok(());
        }
        let c = c.to_ascii_lowercase();
        if !dialect_tables::folds_alone(c) {
            return Err(self.refuse(at, &format!("{c:?} in a group that ignores case")));
        }
        if let Some(before) = self.folded.replace(c)
            && matches!((before, c), ('s', 's' | 't') | ('f', 'f' | 'i' | 'l'))
        {
            let pair =
                format!("\"{before}{c}\" in a group that ignores case, which there is a ligature too,");
            return Err(self.refuse(at, &pair));
        }
        Ok(())
    }

    fn code_point(&self, at: usize, c: char) -> Result<String> {
        let written = &self.pattern[at..];
        // In Oniguruma `\xE9` is a byte, and `\u{...}` means something else.
        let is_byte = written.starts_with(r"\x") && !written.starts_with(r"\x{") && !c.is_ascii();
        if !self.ours() && (is_byte || written.starts_with(r"\u{")) {
            return Err(self.refuse(at, "this escape"));
        }
        Ok(format!(r"\x{{{:X}}}", u32::from(c)))
    }

    fn property(&self, at: usize, name: &str, negated: bool) -> Result<String> {
        if !dialect_tables::is_known_property(name) || self.flags.fold {
            return Err(self.refuse(at, &format!("the property {name:?}")));
        }
        Ok(format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' }))
    }

    /// An expression for any character, `\n` included. The flag is set for this one dot, so no other dot changes
    /// its meaning.
    fn any_char(&self) -> &'static str {
        if self.ours() { "(?m:.)" } else { "(?s:.)" }
    }

    fn word(&self) -> &'static str {
        if self.ours() { WORD } else { ONIGURUMA_WORD }
    }

    fn class_word(&self) -> &'static str {
        if self.ours() { WORD } else { ONIGURUMA_CLASS_WORD }
    }

    fn escape(&mut self, at: usize, c: char) -> Result<()> {
        match c {
            'w' | 'W' if !self.flags.fold => {
                let not = if c == 'W' { "^" } else { "" };
                let text = format!("[{not}{}]", self.word());
                self.atom(&text);
            }
            'b' | 'B' => {
                let word = self.word();
                let text = if c == 'b' {
                    format!("(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))")
                } else {
                    format!("(?:(?<=[{word}])(?=[{word}])|(?<![{word}])(?![{word}]))")
                };
                self.look_behind(at, &text)?;
            }
            // Inside look-around the dialects give `\K` different meanings.
            'K' if self.open.iter().all(|frame| frame.is_atom) => self.assertion(r"\K"),
            'R' if !self.in_look_behind() => self.atom(r"\R"),
            'X' if !self.ours() && !self.flags.fold && !self.in_look_behind() => self.atom(GRAPHEME),
            'N' if !self.flags.fold => self.atom(r"[^\n]"),
            'O' if self.in_look_behind() => self.atom(r"[\s\S]"),
            'O' => self.atom(self.any_char()),
            'A' | 'z' => self.assertion(if c == 'A' { r"\A" } else { r"\z" }),
            'Z' => self.look_ahead(at, if self.ours() { r"(?=\n*\z)" } else { r"(?=\n?\z)" })?,
            _ => {
                let text = self.plain_escape(at, c)?;
                if c.is_ascii_punctuation() {
                    self.check_fold(at, c)?;
                }
                self.atom(&text);
            }
        }
        Ok(())
    }

    /// Translates an escape that means the same character or the same class of characters in both dialects.
    fn plain_escape(&self, at: usize, c: char) -> Result<String> {
        match c {
            'n' | 'r' | 't' | 'f' | 'v' | 'a' | 'e' | 's' | 'd' => Ok(format!("\\{c}")),
            // These contain letters, so case folding could change what they match, and not alike in both dialects.
            'S' | 'D' | 'h' | 'H' if !self.flags.fold => Ok(format!("\\{c}")),
            '<' | '>' if self.ours() => Err(self.refuse(at, "a word boundary")),
            '<' | '>' => Ok(c.to_string()),
            ' ' => Ok("\\ ".to_owned()),
            c if c.is_ascii_punctuation() => Ok(format!("\\{c}")),
            c => Err(self.refuse(at, &format!(r#""\{c}""#))),
        }
    }

    fn look_behind(&mut self, at: usize, text: &str) -> Result<()> {
        // Inside `(?i:...)` Oniguruma cannot give the look-behind a fixed length. Look-behind cannot be nested.
        if self.flags.fold || self.in_look_behind() {
            return Err(self.refuse(at, "this assertion within look-behind or a group that ignores case"));
        }
        self.assertion(text);
        Ok(())
    }

    fn look_ahead(&mut self, at: usize, text: &str) -> Result<()> {
        if self.in_look_behind() {
            return Err(self.refuse(at, "this assertion within look-behind"));
        }
        self.assertion(text);
        Ok(())
    }

    fn class(&mut self, at: usize, text: &str) -> Result<()> {
        let mut inner = String::with_capacity(text.len());
        for (source, member) in members(text) {
            let refused = |what: &str| Err(self.refuse(at, what));
            match member {
                Member::Char(c) => {
                    // A negated class contains characters that fold to several characters, which the dialects
                    // treat differently. A `^` that is a plain member is refused along with it.
                    if self.flags.fold && (!dialect_tables::folds_alone(c) || c == '^') {
                        return refused("this class in a group that ignores case");
                    }
                    inner.push(c);
                }
                Member::Token(Token::CodePoint(c)) => {
                    if self.flags.fold && !dialect_tables::folds_alone(c) {
                        return refused("this class in a group that ignores case");
                    }
                    let byte = source.starts_with(r"\x") && !source.starts_with(r"\x{") && !c.is_ascii();
                    if !self.ours() && (byte || source.starts_with(r"\u{")) {
                        return refused("an escape in this class");
                    }
                    let _ = write!(inner, r"\x{{{:X}}}", u32::from(c));
                }
                Member::Token(Token::Property { name, negated }) => {
                    inner.push_str(&self.property(at, name, negated)?);
                }
                Member::Token(Token::Escape('w')) if !self.flags.fold => inner.push_str(self.class_word()),
                Member::Token(Token::Escape('W')) if !self.flags.fold => {
                    let _ = write!(inner, "[^{}]", self.class_word());
                }
                Member::Token(Token::Escape(c)) => inner.push_str(&self.plain_escape(at, c)?),
                Member::Token(_) => return refused("an escape in this class"),
                Member::Nested if self.flags.fold => {
                    return refused("this class in a group that ignores case");
                }
                Member::Nested | Member::NestedEnd | Member::And => inner.push_str(source),
                Member::Posix { name, negated } => match dialect_tables::posix(name, self.from) {
                    Some(text) if !self.flags.fold => {
                        let _ = if negated { write!(inner, "[^{text}]") } else { write!(inner, "{text}") };
                    }
                    _ => return refused(&format!("the class [:{name}:]")),
                },
                Member::Operator => return refused("\"--\" or \"~~\" in a class"),
            }
        }
        self.atom(&format!("[{inner}]"));
        Ok(())
    }

    fn open(&mut self, at: usize, group: Group<'_>) -> Result<()> {
        if self.in_look_behind() {
            return Err(self.refuse(at, "a group within look-behind"));
        }
        let (start, flags) = (self.out.len(), self.flags);
        let (mut is_atom, mut is_look_behind) = (true, false);
        match group {
            Group::Capture => self.out.push('('),
            Group::Named(name) => {
                self.out.push_str("(?<");
                self.out.push_str(name);
                self.out.push('>');
            }
            Group::Plain => self.out.push_str("(?:"),
            Group::Atomic => self.out.push_str("(?>"),
            Group::LookAhead | Group::NegativeLookAhead => {
                self.out.push_str(if group == Group::LookAhead { "(?=" } else { "(?!" });
                is_atom = false;
            }
            Group::LookBehind | Group::NegativeLookBehind => {
                if self.flags.fold {
                    return Err(self.refuse(at, "look-behind in a group that ignores case"));
                }
                self.out.push_str(if group == Group::LookBehind { "(?<=" } else { "(?<!" });
                is_atom = false;
                is_look_behind = true;
            }
            Group::Flags { on, off } => {
                self.set_flags(at, on, off)?;
                self.out.push_str(match (flags.fold, self.flags.fold) {
                    (false, true) => "(?i:",
                    (true, false) => "(?-i:",
                    _ => "(?:",
                });
            }
            Group::BareFlags { .. } | Group::Other => return Err(self.refuse(at, "this group")),
        }
        self.open.push(Frame { start, flags, is_atom, is_look_behind });
        self.atom = None;
        self.repeated = false;
        Ok(())
    }

    fn set_flags(&mut self, at: usize, on: &str, off: &str) -> Result<()> {
        for (flags, value) in [(on, true), (off, false)] {
            for flag in flags.chars() {
                match (flag, self.from) {
                    ('i', _) => self.flags.fold = value,
                    ('s', Dialect::Ours) | ('m', Dialect::Oniguruma) => self.flags.any = value,
                    ('m', Dialect::Ours) => self.flags.lines = value,
                    _ => return Err(self.refuse(at, &format!("the flag {flag:?}"))),
                }
            }
        }
        Ok(())
    }

    fn repeat(&mut self, at: usize, repeat: Repeat) -> Result<()> {
        let Some(start) = self.atom else {
            return Err(self.refuse(at, "a quantifier of this"));
        };
        if self.in_look_behind() {
            return Err(self.refuse(at, "a quantifier within look-behind"));
        }
        let Repeat { min, max, interval, mode } = repeat;
        if max.is_some_and(|max| max < min) || min.max(max.unwrap_or(0)) > MAX_COUNT {
            return Err(self.refuse(at, "this interval"));
        }
        if self.repeated {
            if self.ours() {
                return Err(self.refuse(at, "a quantifier of a quantifier"));
            }
            self.wrap(start, "(?:");
        }
        // Oniguruma may expand `s{2}` to `ss`, which then folds to `ß`.
        if interval && self.flags.fold {
            return Err(self.refuse(at, "an interval in a group that ignores case"));
        }
        let exact = interval && max == Some(min);
        let bounds = match (min, max) {
            (0, Some(1)) if !interval => "?".to_owned(),
            (0, None) if !interval => "*".to_owned(),
            (1, None) if !interval => "+".to_owned(),
            (min, Some(max)) if min == max => format!("{{{min}}}"),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        self.out.push_str(&bounds);
        match mode {
            Mode::Greedy => {}
            // A lazy exact count matches the same as a greedy one, so the `?` is dropped. In Oniguruma `{2,2}?` is
            // lazy too, whereas the `?` of `{2}?` is a quantifier of its own.
            Mode::Lazy if exact && (self.ours() || self.has_comma(at)) => {}
            Mode::Lazy if exact => {
                self.wrap(start, "(?:");
                self.out.push('?');
            }
            Mode::Lazy => self.out.push('?'),
            Mode::Possessive if interval => self.wrap(start, "(?>"),
            Mode::Possessive => self.out.push('+'),
        }
        self.repeated = true;
        Ok(())
    }

    /// Does the interval at this position have two bounds?
    fn has_comma(&self, at: usize) -> bool {
        self.pattern[at..].split('}').next().is_some_and(|interval| interval.contains(','))
    }

    /// Puts everything written since `start` into a group.
    fn wrap(&mut self, start: usize, open: &str) {
        self.out.insert_str(start, open);
        self.out.push(')');
    }
}
