//! The parser for the regular expressions that the scanner and the automaton may be able to run.
//!
//! In: the text of a pattern. Out: its tree, or `None` if the pattern is outside of the subset, valid or
//! not. Such a pattern goes to a regex engine, which reports any error. A pattern that is accepted must mean the
//! same as in fancy-regex.
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::dialect_tables;
use super::tokens::{Dialect, Group, Member, Mode, Token, Tokens, members};

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// One character from this class.
    Set(ClassUnicode),
    /// These nodes one after the other. An empty list matches the empty text.
    Concat(Vec<Node>),
    /// The first of these nodes that leads to a match.
    Alt(Vec<Node>),
    /// A greedy repetition.
    Repeat { node: Box<Node>, min: u32, max: Option<u32> },
    /// A repetition that prefers to end early.
    LazyRepeat { node: Box<Node>, min: u32, max: Option<u32> },
    /// Does not give back any characters once the node has matched.
    Atomic(Box<Node>),
    /// `(?=x)`
    LookAhead(Box<Node>),
    /// `(?!x)`
    NegativeLookAhead(Box<Node>),
    /// `(?<=x)`
    LookBehind(Box<Node>),
    /// `(?<!x)`
    NegativeLookBehind(Box<Node>),
    /// The start of the text.
    Start,
    /// The end of the text.
    End,
    /// `\b`, or `\B` if `negated`: exactly one of the two neighbours is in `word`, or not.
    WordBoundary { word: ClassUnicode, negated: bool },
}

/// Deeper groups are left to the regex engines, which have limits of their own.
const MAX_DEPTH: usize = 16;

/// So are longer patterns: neither a scanner nor an automaton would take them.
const MAX_TOKENS: usize = 4096;

/// The tree of `pattern`. `None` if the pattern is outside of the subset.
pub(super) fn parse(pattern: &str) -> Option<Node> {
    let mut parser = Parser { tokens: Tokens::new(pattern, Dialect::Ours), depth: 0, count: 0 };
    let (node, closed) = parser.alternation(Flags::default())?;
    (!closed).then_some(node)
}

struct Parser<'p> {
    tokens: Tokens<'p>,
    depth: usize,
    /// The tokens that were read.
    count: usize,
}

/// The flags that hold inside a group.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    /// `i`: letters match without regard to case.
    fold: bool,
    /// `m`: `^` and `$` match at the ends of lines.
    lines: bool,
    /// `s`: `.` matches `\n` too.
    dot_all: bool,
}

impl Flags {
    /// These flags with those of a group. `None` for a flag that is not known here.
    fn with(mut self, on: &str, off: &str) -> Option<Self> {
        for (flag, value) in on.bytes().map(|flag| (flag, true)).chain(off.bytes().map(|flag| (flag, false)))
        {
            match flag {
                b'i' => self.fold = value,
                b'm' => self.lines = value,
                b's' => self.dot_all = value,
                _ => return None,
            }
        }
        Some(self)
    }
}

impl Parser<'_> {
    /// Parses branches up to a closing parenthesis or the end of the pattern. The flag is true for a parenthesis.
    fn alternation(&mut self, mut flags: Flags) -> Option<(Node, bool)> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut branches = Vec::new();
        let mut items: Vec<Node> = Vec::new();
        // May a quantifier follow? Not after an assertion or another quantifier.
        let mut may_repeat = false;
        let closed = loop {
            let Some((at, token)) = self.tokens.next() else { break false };
            self.count += 1;
            if self.count > MAX_TOKENS {
                return None;
            }
            let node = match token {
                Token::Close => break true,
                Token::Bar => {
                    branches.push(Node::Concat(std::mem::take(&mut items)));
                    may_repeat = false;
                    continue;
                }
                Token::Repeat(repeat) => {
                    if !may_repeat || repeat.max.is_some_and(|max| max < repeat.min || max == 0) {
                        return None;
                    }
                    let (node, min, max) = (Box::new(items.pop()?), repeat.min, repeat.max);
                    items.push(match repeat.mode {
                        Mode::Greedy => Node::Repeat { node, min, max },
                        Mode::Lazy => Node::LazyRepeat { node, min, max },
                        Mode::Possessive => Node::Atomic(Box::new(Node::Repeat { node, min, max })),
                    });
                    may_repeat = false;
                    continue;
                }
                Token::Dollar | Token::Caret | Token::Escape('A' | 'z' | 'b' | 'B') => {
                    items.push(position(token, flags)?);
                    may_repeat = false;
                    continue;
                }
                // In the middle of a group, fancy-regex would apply the flags beyond the end of the group.
                Token::Open(Group::BareFlags { on, off }) if at == 0 => {
                    flags = flags.with(on, off)?;
                    may_repeat = false;
                    continue;
                }
                Token::Open(group) => self.group(group, flags)?,
                Token::Dot if flags.dot_all => Node::Set(class(r"[\s\S]", false)?),
                Token::Dot => Node::Set(class(r"[^\n]", false)?),
                token => Node::Set(set(token, flags.fold)?),
            };
            may_repeat = !node.is_look_around();
            items.push(node);
        };
        self.depth -= 1;
        let last = Node::Concat(items);
        if branches.is_empty() {
            return Some((last, closed));
        }
        branches.push(last);
        Some((Node::Alt(branches), closed))
    }

    fn group(&mut self, group: Group<'_>, flags: Flags) -> Option<Node> {
        let inner_flags = match group {
            Group::Flags { on, off } => flags.with(on, off)?,
            Group::BareFlags { .. } | Group::Other => return None,
            _ => flags,
        };
        let (node, closed) = self.alternation(inner_flags)?;
        if !closed {
            return None;
        }
        Some(match group {
            Group::Atomic => Node::Atomic(Box::new(node)),
            Group::LookAhead => Node::LookAhead(Box::new(node)),
            Group::NegativeLookAhead => Node::NegativeLookAhead(Box::new(node)),
            Group::LookBehind => Node::LookBehind(Box::new(node)),
            Group::NegativeLookBehind => Node::NegativeLookBehind(Box::new(node)),
            _ => node,
        })
    }
}

impl Node {
    fn is_look_around(&self) -> bool {
        matches!(
            self,
            Self::LookAhead(_)
                | Self::NegativeLookAhead(_)
                | Self::LookBehind(_)
                | Self::NegativeLookBehind(_)
        )
    }
}

/// What an assertion without a group says about a position.
fn position(token: Token<'_>, flags: Flags) -> Option<Node> {
    let set = |text| Some(Box::new(Node::Set(class(text, false)?)));
    Some(match token {
        Token::Caret if flags.lines => Node::Alt(vec![Node::Start, Node::LookBehind(set(r"[\n]")?)]),
        Token::Caret | Token::Escape('A') => Node::Start,
        Token::Dollar if flags.lines => Node::Alt(vec![Node::End, Node::LookAhead(set(r"[\n]")?)]),
        Token::Dollar | Token::Escape('z') => Node::End,
        Token::Escape(c @ ('b' | 'B')) => {
            Node::WordBoundary { word: class(r"\w", false)?, negated: c == 'B' }
        }
        _ => return None,
    })
}

/// The characters that a token matches, if it matches a single character.
fn set(token: Token<'_>, fold: bool) -> Option<ClassUnicode> {
    match token {
        Token::Char(c) | Token::CodePoint(c) => one(c, fold),
        Token::Escape(c) => match c {
            'n' => one('\n', fold),
            'r' => one('\r', fold),
            't' => one('\t', fold),
            'f' => one('\x0C', fold),
            'v' => one('\x0B', fold),
            's' | 'S' | 'd' | 'D' | 'w' | 'W' => class(&format!("\\{c}"), fold),
            c if c.is_ascii_punctuation() && c != '<' && c != '>' => one(c, fold),
            _ => None,
        },
        Token::Property { name, negated } if dialect_tables::is_known_property(name) => {
            class(&format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }), fold)
        }
        Token::Class(text) => {
            let plain = members(text).all(|(_, member)| match member {
                Member::Char(_) => true,
                Member::Token(token) => set(token, false).is_some(),
                Member::Nested | Member::NestedEnd | Member::And => !fold,
                Member::Posix { .. } | Member::Operator => false,
            });
            if plain { class(text, fold) } else { None }
        }
        _ => None,
    }
}

fn one(c: char, fold: bool) -> Option<ClassUnicode> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    if fold {
        class.try_case_fold_simple().ok()?;
    }
    Some(class)
}

fn class(text: &str, fold: bool) -> Option<ClassUnicode> {
    let hir = ParserBuilder::new().case_insensitive(fold).build().parse(text).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) if !class.ranges().is_empty() => Some(class),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let c = chars.next()?;
            if chars.next().is_some() { None } else { one(c, false) }
        }
        _ => None,
    }
}
