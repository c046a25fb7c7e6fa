//! Between the dialect of this library and the Oniguruma patterns of tokenizer.json files.
//!
//! In comes a pattern of one dialect, out goes a pattern of the other, or an error that names the construct. A
//! pattern is read token by token: each is known to mean the same, or written in another way that does, or
//! refused. Nothing is translated that might mean something else. Translating a translation back and forth gives
//! the same text again, so that a file which is read and saved does not change.
//!
//! What surprises is how much differs between two dialects that look alike:
//!
//! | here | Oniguruma (Ruby syntax) |
//! | --- | --- |
//! | `x{1,3}+` is possessive | a quantifier of a quantifier |
//! | `x{2}?` is `x{2}` | `(?:x{2})?` |
//! | `^`, `$` are the ends of the text | of lines, and `^` does not match after a last `\n` |
//! | `\Z` is before all last `\n` | before one |
//! | `(?s:.)` is any character | `(?m:.)` |
//! | `\w` has the joiners U+200C and U+200D | has not, but has `²³¹¼½¾` outside of classes |
//! | `(?i:ss)` is two characters | `ß` too |
use std::fmt::Write as _;

use super::error::pattern_error;
use super::properties;
use super::spelled_out::{GRAPHEME, ONIGURUMA_CLASS_WORD, ONIGURUMA_WORD, WORD, folds_alone, posix};
use super::tokens::{Dialect, Group, Member, Mode, Repeat, Token, Tokens, members};
use crate::error::{Error, Result};

/// A pattern of this library's dialect as an Oniguruma pattern with the same matches, for
/// writing into a tokenizer.json. Known patterns come out unchanged.
///
/// The pattern itself is not checked; [`Splitter::compile`](super::Splitter::compile) does that.
///
/// # Errors
/// [`Kind::Pattern`](crate::error::Kind::Pattern) with the position of the first construct that
/// cannot be translated with certainty.
pub fn portable(regex: &str) -> Result<String> {
    Translator::new(regex, Dialect::Ours).run()
}

/// An Oniguruma pattern, as a tokenizer.json holds it, in this library's dialect.
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
    /// Where the last expression that can be quantified starts in `out`.
    atom: Option<usize>,
    /// Was the last token a quantifier?
    repeated: bool,
    /// The last character under case folding, to detect pairs that fold together.
    folded: Option<char>,
    flags: Flags,
    open: Vec<Frame>,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    /// `.` is any character.
    any: bool,
    /// `^` and `$` are line anchors; in Oniguruma they always are.
    lines: bool,
}

struct Frame {
    /// Where the group starts in `out`.
    start: usize,
    /// Flags outside of it.
    flags: Flags,
    /// Can it be quantified? Look-around cannot.
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
            // The spelling of a token of the other dialect becomes that token again.
            if self.ours() && tokens.pass(GRAPHEME) {
                self.atom(r"\X");
                continue;
            }
            let Some((at, token)) = tokens.next() else { break };
            if let Token::Open(Group::BareFlags { on, off }) = token {
                // Elsewhere the two disagree on where the flags end.
                if at != 0 {
                    return Err(self.refuse(at, "flags without a group behind the start of the pattern"));
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
        pattern_error(self.pattern, Some(at), reason)
    }

    fn ours(&self) -> bool {
        self.from == Dialect::Ours
    }

    /// Is this inside a look-behind? As it contains no groups, the innermost group tells.
    fn in_look_behind(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.is_look_behind)
    }

    /// Writes an expression that can be quantified.
    fn atom(&mut self, text: &str) {
        self.atom = Some(self.out.len());
        self.repeated = false;
        self.out.push_str(text);
    }

    /// Writes one that cannot.
    fn assertion(&mut self, text: &str) {
        self.atom = None;
        self.repeated = false;
        self.out.push_str(text);
    }

    fn token(&mut self, at: usize, token: Token<'_>) -> Result<()> {
        // A string of characters continues through groups and, to be safe, after quantifiers.
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
                    // `(?s:.)` is `(?m:.)`; a group around it would be added again by each
                    // translation.
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
                // Look-behind contains no groups.
                (true, true) => r"[\s\S]",
            }),
            Token::Caret => match (self.from, self.flags.lines) {
                (Dialect::Ours, false) => self.assertion(r"\A"),
                (Dialect::Ours, true) => self.look_behind(at, r"(?<![^\n])")?,
                (Dialect::Oniguruma, _) => self.assertion(r"(?:\A|(?<=\n)(?!\z))"),
            },
            Token::Dollar => match (self.from, self.flags.lines) {
                (Dialect::Ours, false) => self.assertion(r"\z"),
                // Negated classes do not fold alike.
                _ if self.flags.fold => self.look_ahead(at, r"(?=\n|\z)")?,
                _ => self.look_ahead(at, r"(?![^\n])")?,
            },
            Token::Repeat(repeat) => self.repeat(at, repeat)?,
            Token::Unknown => return Err(self.refuse(at, "this construct")),
        }
        Ok(())
    }

    /// Oniguruma folds whole strings: `ss` and `ß` are the same there, `ﬁ` and `fi` too. Apart
    /// from these pairs of letters every such string has a letter or mark beyond ASCII.
    fn check_fold(&mut self, at: usize, c: char) -> Result<()> {
        if !self.flags.fold {
            return Ok(());
        }
        let c = c.to_ascii_lowercase();
        if !folds_alone(c) {
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
        // In Oniguruma `\xE9` is a byte, and `\u{...}` something else.
        let is_byte = written.starts_with(r"\x") && !written.starts_with(r"\x{") && !c.is_ascii();
        if !self.ours() && (is_byte || written.starts_with(r"\u{")) {
            return Err(self.refuse(at, "this escape"));
        }
        Ok(format!(r"\x{{{:X}}}", u32::from(c)))
    }

    fn property(&self, at: usize, name: &str, negated: bool) -> Result<String> {
        if !properties::is_known(name) || self.flags.fold {
            return Err(self.refuse(at, &format!("the property {name:?}")));
        }
        Ok(format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' }))
    }

    /// A `.` that is any character. Other dots keep their meaning, because no group around
    /// them gets the flag.
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
            // In look-around, `\K` means something else in each dialect.
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

    /// An escape for a character or a class of them that means the same in both dialects.
    fn plain_escape(&self, at: usize, c: char) -> Result<String> {
        match c {
            'n' | 'r' | 't' | 'f' | 'v' | 'a' | 'e' | 's' | 'd' => Ok(format!("\\{c}")),
            // Under case folding they would match letters.
            'S' | 'D' | 'h' | 'H' if !self.flags.fold => Ok(format!("\\{c}")),
            '<' | '>' if self.ours() => Err(self.refuse(at, "a word boundary")),
            '<' | '>' => Ok(c.to_string()),
            ' ' => Ok("\\ ".to_owned()),
            c if c.is_ascii_punctuation() => Ok(format!("\\{c}")),
            c => Err(self.refuse(at, &format!(r#""\{c}""#))),
        }
    }

    fn look_behind(&mut self, at: usize, text: &str) -> Result<()> {
        // Under case folding it would have no fixed length in Oniguruma, and look-behind cannot be nested.
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
                    // A negated class contains everything else, and so do its folds.
                    if self.flags.fold && (!folds_alone(c) || c == '^') {
                        return refused("this class in a group that ignores case");
                    }
                    inner.push(c);
                }
                Member::Token(Token::CodePoint(c)) => {
                    if self.flags.fold && !folds_alone(c) {
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
                Member::Posix { name, negated } => match posix(name, self.from) {
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
        // Oniguruma may expand a counted string, whose parts then fold together.
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
            // `{2,2}?` is lazy in Oniguruma, too; only after a single number is the `?` a quantifier.
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

    /// Has the interval at this position two bounds?
    fn has_comma(&self, at: usize) -> bool {
        self.pattern[at..].split('}').next().is_some_and(|interval| interval.contains(','))
    }

    /// Puts what was written from `start` on into a group.
    fn wrap(&mut self, start: usize, open: &str) {
        self.out.insert_str(start, open);
        self.out.push(')');
    }
}
