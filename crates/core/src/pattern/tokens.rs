//! The tokens of a regular expression.
//!
//! The parser of the scanner's subset, the check for the linear engine and both translations read them. In:
//! the text of a pattern. Out: tokens with their byte positions. No pattern is refused here: a construct that is
//! not understood becomes [`Token::Unknown`]. The two dialects are read alike but for a `+` after an interval. All
//! other differences are differences of meaning, which the reader of the tokens has to handle.

/// The dialect of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The dialect of this library and of fancy-regex: any quantifier followed by `+` is possessive.
    Ours,
    /// The Ruby syntax of Oniguruma: in `{n,m}+` the `+` is a second quantifier.
    Oniguruma,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'p> {
    /// A character that matches itself.
    Char(char),
    /// A backslash and this character. The character is not a digit and does not begin one of the escapes below.
    Escape(char),
    /// `\x41`, `\x{41}`, `\u0041`, `\u{41}`: the character with this code point.
    CodePoint(char),
    /// `\p{name}`, `\P{name}` and their short forms.
    Property { name: &'p str, negated: bool },
    /// A whole class: `[...]`.
    Class(&'p str),
    /// `(` and the kind of group that it opens.
    Open(Group<'p>),
    /// `)`
    Close,
    /// `|`
    Bar,
    /// `.`
    Dot,
    /// `^`
    Caret,
    /// `$`
    Dollar,
    /// A quantifier, which applies to the expression before it.
    Repeat(Repeat),
    /// Any other construct. Only a regex engine knows what it means.
    Unknown,
}

/// A quantifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) min: u32,
    /// `None` for no limit.
    pub(super) max: Option<u32>,
    /// Is it written as `{...}`?
    pub(super) interval: bool,
    pub(super) mode: Mode,
}

/// Does a quantifier prefer more or fewer repetitions, and may it give any back?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Greedy,
    Lazy,
    Possessive,
}

/// The kind of group that a parenthesis opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group<'p> {
    Capture,
    Named(&'p str),
    Plain,
    Atomic,
    LookAhead,
    NegativeLookAhead,
    LookBehind,
    NegativeLookBehind,
    /// `(?i-s:`: flags that are on and flags that are off inside the group.
    Flags {
        on: &'p str,
        off: &'p str,
    },
    /// `(?i)`: flags that hold until the end of the enclosing group. This group has no closing parenthesis.
    BareFlags {
        on: &'p str,
        off: &'p str,
    },
    /// Comments, conditions, verbs and calls.
    Other,
}

/// The tokens of a pattern with their byte positions.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'p> {
    pattern: &'p str,
    at: usize,
    dialect: Dialect,
}

impl<'p> Tokens<'p> {
    pub(super) fn new(pattern: &'p str, dialect: Dialect) -> Self {
        Self { pattern, at: 0, dialect }
    }

    fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    fn eat(&mut self, bytes: usize) -> &'p str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        taken
    }

    /// Skips `text` if the pattern continues with it. Returns whether it does.
    pub(super) fn pass(&mut self, text: &str) -> bool {
        let is_here = self.rest().starts_with(text);
        self.at += if is_here { text.len() } else { 0 };
        is_here
    }

    fn next_token(&mut self) -> Option<Token<'p>> {
        let c = self.rest().chars().next()?;
        Some(match c {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.open(),
            '*' | '+' | '?' | '{' => self.quantifier(c),
            _ => {
                self.eat(c.len_utf8());
                match c {
                    ')' => Token::Close,
                    '|' => Token::Bar,
                    '.' => Token::Dot,
                    '^' => Token::Caret,
                    '$' => Token::Dollar,
                    c => Token::Char(c),
                }
            }
        })
    }

    fn escape(&mut self) -> Token<'p> {
        self.eat(1);
        let Some(c) = self.rest().chars().next() else { return Token::Unknown };
        self.eat(c.len_utf8());
        match c {
            'p' | 'P' => self.property(c == 'P'),
            'x' => self.code_point(2),
            'u' => self.code_point(4),
            c if c.is_ascii_digit() => Token::Unknown,
            c => Token::Escape(c),
        }
    }

    fn property(&mut self, negated: bool) -> Token<'p> {
        if self.rest().starts_with('{') {
            let Some(end) = self.rest().find('}') else { return Token::Unknown };
            let name = &self.eat(end + 1)[1..end];
            return match name.strip_prefix('^') {
                Some(name) => Token::Property { name, negated: !negated },
                None => Token::Property { name, negated },
            };
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_alphabetic() => Token::Property { name: self.eat(1), negated },
            _ => Token::Unknown,
        }
    }

    fn code_point(&mut self, digits: usize) -> Token<'p> {
        let rest = self.rest();
        let hex = if let Some(inner) = rest.strip_prefix('{') {
            let Some(end) = inner.find('}') else { return Token::Unknown };
            self.eat(end + 2);
            &inner[..end]
        } else {
            let Some(hex) = rest.get(..digits) else { return Token::Unknown };
            self.eat(digits);
            hex
        };
        let plain = !hex.is_empty() && hex.len() <= 8 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        match u32::from_str_radix(hex, 16).ok().and_then(char::from_u32) {
            Some(c) if plain => Token::CodePoint(c),
            _ => Token::Unknown,
        }
    }

    fn class(&mut self) -> Token<'p> {
        let bytes = self.rest().as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'[' => {
                    depth += 1;
                    if bytes.get(at) == Some(&b'^') {
                        at += 1;
                    }
                    // A `]` directly after the opening bracket is a member of the class.
                    if bytes.get(at) == Some(&b']') {
                        at += 1;
                    }
                }
                b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Token::Class(self.eat(at));
                    }
                }
                _ => {}
            }
        }
        self.eat(self.rest().len());
        Token::Unknown
    }

    fn open(&mut self) -> Token<'p> {
        const PLAIN: [(&str, Group<'static>); 6] = [
            ("(?:", Group::Plain),
            ("(?>", Group::Atomic),
            ("(?=", Group::LookAhead),
            ("(?!", Group::NegativeLookAhead),
            ("(?<=", Group::LookBehind),
            ("(?<!", Group::NegativeLookBehind),
        ];
        for (text, group) in PLAIN {
            if self.rest().starts_with(text) {
                self.eat(text.len());
                return Token::Open(group);
            }
        }
        for text in ["(?<", "(?P<"] {
            if let Some(inner) = self.rest().strip_prefix(text) {
                return match inner.find('>') {
                    Some(end) if end > 0 && inner[..end].bytes().all(|b| b.is_ascii_alphabetic()) => {
                        self.eat(text.len() + end + 1);
                        Token::Open(Group::Named(&inner[..end]))
                    }
                    _ => {
                        self.eat(1);
                        Token::Open(Group::Other)
                    }
                };
            }
        }
        let Some(inner) = self.rest().strip_prefix("(?") else {
            let verb = self.rest().starts_with("(*");
            self.eat(1);
            return Token::Open(if verb { Group::Other } else { Group::Capture });
        };
        let end = inner.bytes().take_while(|b| b.is_ascii_alphabetic() || *b == b'-').count();
        let (on, off) = inner[..end].split_once('-').unwrap_or((&inner[..end], ""));
        let closing = inner.as_bytes().get(end);
        if end == 0 || off.contains('-') || on.len() + off.len() == 0 {
            self.eat(1);
            return Token::Open(Group::Other);
        }
        match closing {
            Some(b':') => {
                self.eat(2 + end + 1);
                Token::Open(Group::Flags { on, off })
            }
            Some(b')') => {
                self.eat(2 + end + 1);
                Token::Open(Group::BareFlags { on, off })
            }
            _ => {
                self.eat(1);
                Token::Open(Group::Other)
            }
        }
    }

    fn quantifier(&mut self, sign: char) -> Token<'p> {
        let (min, max) = match sign {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => {
                let Some(bounds) = self.interval() else {
                    self.eat(1);
                    return Token::Unknown;
                };
                bounds
            }
        };
        let interval = sign == '{';
        if !interval {
            self.eat(1);
        }
        let mode = match self.rest().as_bytes().first() {
            Some(b'?') => Mode::Lazy,
            Some(b'+') if !interval || self.dialect == Dialect::Ours => Mode::Possessive,
            _ => Mode::Greedy,
        };
        if mode != Mode::Greedy {
            self.eat(1);
        }
        Token::Repeat(Repeat { min, max, interval, mode })
    }

    /// `{n}`, `{n,}`, `{n,m}`, `{,m}` without blanks.
    fn interval(&mut self) -> Option<(u32, Option<u32>)> {
        let inner = &self.rest()[1..];
        let inner = &inner[..inner.find('}')?];
        if !inner.bytes().all(|b| b.is_ascii_digit() || b == b',') {
            return None;
        }
        let bounds = match inner.split_once(',') {
            None => {
                let n = inner.parse().ok()?;
                (n, Some(n))
            }
            Some(("", max)) => (0, Some(max.parse().ok()?)),
            Some((min, "")) => (min.parse().ok()?, None),
            Some((min, max)) => (min.parse().ok()?, Some(max.parse().ok()?)),
        };
        self.eat(inner.len() + 2);
        Some(bounds)
    }
}

impl<'p> Iterator for Tokens<'p> {
    /// A byte position and the token that starts there.
    type Item = (usize, Token<'p>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        self.next_token().map(|token| (at, token))
    }
}

/// One member of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member<'p> {
    /// A character, including the `-` of a range and a leading `^`.
    Char(char),
    /// An escape, a code point or a property. [`Token::Unknown`] if it cannot be read.
    Token(Token<'p>),
    /// `[` or `[^` inside the class.
    Nested,
    /// The `]` of a nested class.
    NestedEnd,
    /// `[:name:]` or `[:^name:]`. The name is empty if this is malformed.
    Posix { name: &'p str, negated: bool },
    /// `&&`
    And,
    /// `--` or `~~`, which are operators in our dialect and characters in Oniguruma.
    Operator,
}

/// The members of `class`, which is given with its brackets, each with its text in the pattern.
pub(super) fn members(class: &str) -> impl Iterator<Item = (&str, Member<'_>)> {
    let inner = &class[1..class.len() - 1];
    let mut tokens = Tokens::new(inner, Dialect::Ours);
    let mut first = true;
    std::iter::from_fn(move || {
        let start = tokens.at;
        let rest = tokens.rest();
        let c = rest.chars().next()?;
        let was_first = std::mem::replace(&mut first, false);
        let member = match c {
            '\\' => Member::Token(tokens.escape()),
            '^' if was_first => {
                // A `]` directly after the caret is a member of the class, too.
                first = true;
                tokens.eat(1);
                Member::Char(c)
            }
            ']' if !was_first => {
                tokens.eat(1);
                Member::NestedEnd
            }
            '[' if rest.starts_with("[:") => {
                let name = rest["[:".len()..].split(":]").next().unwrap_or_default();
                let (negated, plain) = match name.strip_prefix('^') {
                    Some(plain) => (true, plain),
                    None => (false, name),
                };
                let is_name = plain.bytes().all(|byte| byte.is_ascii_lowercase())
                    && rest["[:".len() + name.len()..].starts_with(":]");
                tokens.eat(if is_name { name.len() + 4 } else { 2 });
                Member::Posix { name: if is_name { plain } else { "" }, negated }
            }
            '[' => {
                tokens.eat(if rest.starts_with("[^") { 2 } else { 1 });
                first = true;
                Member::Nested
            }
            _ => {
                let operator = rest.starts_with("--") || rest.starts_with("~~");
                if rest.starts_with("&&") || operator {
                    tokens.eat(2);
                    if operator { Member::Operator } else { Member::And }
                } else {
                    tokens.eat(c.len_utf8());
                    Member::Char(c)
                }
            }
        };
        Some((&inner[start..tokens.at], member))
    })
}
