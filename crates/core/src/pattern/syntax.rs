//! The parser for the subset of regular expressions that the scanner may be able to run.
//!
//! In: the text of a pattern. Out: its tree, or `None` if the pattern is outside of the subset, valid or
//! not. Such a pattern goes to a regex engine, which reports any error. A pattern that is accepted must mean the
//! same as in fancy-regex.
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::dialect_tables;
use super::tokens::{Dialect, Group, Member, Mode, Token, Tokens, members};

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// One character from this class.
    Set(ClassUnicode),
    /// These nodes one after the other. An empty list matches the empty text.
    Concat(Vec<Node>),
    /// The first of these nodes that leads to a match.
    Alt(Vec<Node>),
    /// A greedy repetition.
    Repeat { node: Box<Node>, min: u32, max: Option<u32> },
    /// Does not give back any characters once the node has matched.
    Atomic(Box<Node>),
    /// `(?!x)`
    NegativeLookAhead(Box<Node>),
    /// The end of the text.
    End,
}

/// Deeper groups are left to the regex engines, which have limits of their own.
const MAX_DEPTH: usize = 16;

/// The tree of `pattern`. `None` if the pattern is outside of the subset.
pub(super) fn parse(pattern: &str) -> Option<Node> {
    let mut parser = Parser { tokens: Tokens::new(pattern, Dialect::Ours), depth: 0 };
    let (node, closed) = parser.alternation(false)?;
    (!closed).then_some(node)
}

struct Parser<'p> {
    tokens: Tokens<'p>,
    depth: usize,
}

impl Parser<'_> {
    /// Parses branches up to a closing parenthesis or the end of the pattern. The flag is true for a parenthesis.
    fn alternation(&mut self, fold: bool) -> Option<(Node, bool)> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut branches = Vec::new();
        let mut items: Vec<Node> = Vec::new();
        // May a quantifier follow? Not after an assertion or another quantifier.
        let mut may_repeat = false;
        let closed = loop {
            let Some((_, token)) = self.tokens.next() else { break false };
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
                    let node = Box::new(items.pop()?);
                    let node = Node::Repeat { node, min: repeat.min, max: repeat.max };
                    items.push(match repeat.mode {
                        Mode::Greedy => node,
                        Mode::Possessive => Node::Atomic(Box::new(node)),
                        Mode::Lazy => return None,
                    });
                    may_repeat = false;
                    continue;
                }
                Token::Dollar | Token::Escape('z') => {
                    items.push(Node::End);
                    may_repeat = false;
                    continue;
                }
                Token::Open(group) => self.group(group, fold)?,
                token => Node::Set(set(token, fold)?),
            };
            may_repeat = !matches!(node, Node::NegativeLookAhead(_));
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

    fn group(&mut self, group: Group<'_>, fold: bool) -> Option<Node> {
        let inner_fold = match group {
            Group::Capture | Group::Named(_) | Group::Plain | Group::Atomic | Group::NegativeLookAhead => {
                fold
            }
            Group::Flags { on: "i", off: "" } => true,
            Group::Flags { on: "", off: "i" } => false,
            _ => return None,
        };
        let (node, closed) = self.alternation(inner_fold)?;
        if !closed {
            return None;
        }
        Some(match group {
            Group::Atomic => Node::Atomic(Box::new(node)),
            Group::NegativeLookAhead => Node::NegativeLookAhead(Box::new(node)),
            _ => node,
        })
    }
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
