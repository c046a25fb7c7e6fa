//! Lowering turns the syntax tree of a pattern into arms, provided that arms can express exactly the same matches.
//!
//! An arm is one alternative of the pattern in a form that the scanner can run ([`arms`](super::arms)). An atom is
//! a class of characters that every arm takes or leaves as a whole ([`atoms`](super::atoms)).
//!
//! In: a tree and a table of atoms. Out: the arms, or the obstacle that prevents lowering. Lowering looks at
//! the structure of the tree and never compares pattern texts, so possessive and greedy spellings and users'
//! variants of a known pattern become the same arms. A form is refused if no arm would match exactly the same, or
//! if a hostile text could make its arm slow.
use std::cell::RefCell;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::arms::{Arm, Case, Literals, Run};
use super::atoms::{AtomSet, Atoms};
use super::syntax::Node;

/// The scanner keeps a set of arms in the bits of a `u32`. Patterns with more arms are left to the regex engines.
pub(super) const MAX_ARMS: usize = 32;
/// The most members of a class inside a literal. Such a class is small: both cases of a letter, or a few letters.
const MAX_CHOICES: usize = 16;
const MAX_LITERALS: usize = 64;
/// The most characters of a sequence. A sequence that fails at its last character has read all the others for
/// nothing, and this can happen at every position of a text.
const MAX_SEQUENCE: usize = 16;

/// Why a pattern cannot be lowered.
pub(super) enum Obstacle {
    /// Each of these classes contains a part of some atom but not all of it. A finer table of atoms may help.
    Classes(Vec<ClassUnicode>),
    /// The pattern has an alternative that no arm can express.
    Form,
}

/// Lowers a pattern to arms over these atoms.
pub(super) fn lower(node: &Node, atoms: &dyn Atoms) -> Result<Vec<Arm>, Obstacle> {
    let lowering = Lowering { atoms, cut_through: RefCell::default() };
    let mut branches = Vec::new();
    collect(node, &mut branches);
    let mut arms: Vec<Arm> = Vec::new();
    let mut obstacles = Vec::new();
    for branch in branches {
        match (arms.last_mut(), lowering.branch(branch)) {
            // Adjacent literal branches become one arm, `'s|'t|'re`. The first text that matches still wins.
            (Some(Arm::Literal(last)), Some(Arm::Literal(next))) => {
                let mut texts = std::mem::take(&mut last.texts);
                texts.extend(next.texts);
                *last = Literals::new(texts);
            }
            (_, Some(arm)) => arms.push(arm),
            (_, None) => {
                let classes = lowering.cut_through.take();
                if classes.is_empty() {
                    return Err(Obstacle::Form);
                }
                obstacles.extend(classes);
            }
        }
        lowering.cut_through.take();
    }
    if !obstacles.is_empty() {
        return Err(Obstacle::Classes(obstacles));
    }
    let partnered = arms.iter().enumerate().all(|(i, arm)| match arm {
        Arm::Case(case) => arms.get(i + 1).is_some_and(|next| is_partner(case, next)),
        _ => true,
    });
    let few = arms.iter().all(|arm| match arm {
        Arm::Literal(literals) => literals.texts.len() <= MAX_LITERALS,
        _ => true,
    });
    if partnered && few && arms.len() <= MAX_ARMS { Ok(arms) } else { Err(Obstacle::Form) }
}

/// Collects the alternatives of a pattern, nested ones included, into one list.
fn collect<'n>(node: &'n Node, branches: &mut Vec<&'n Node>) {
    match node {
        Node::Alt(nodes) => nodes.iter().for_each(|node| collect(node, branches)),
        Node::Concat(nodes) if matches!(nodes[..], [Node::Alt(_)]) => collect(&nodes[0], branches),
        node => branches.push(node),
    }
}

fn is_partner(case: &Case, next: &Arm) -> bool {
    let same = Run {
        prefix: case.prefix,
        needs_prefix: false,
        body: case.upper,
        max: usize::MAX,
        tail: case.lower,
        suffix: case.suffix.clone(),
    };
    *next == Arm::Run(same)
}

/// One item of a branch. A branch is an alternative of the pattern, and its items are matched one after the other.
enum Item<'n> {
    Set {
        class: &'n ClassUnicode,
        min: u32,
        max: Option<u32>,
        possessive: bool,
    },
    Literals {
        texts: Vec<Vec<Vec<char>>>,
        optional: bool,
    },
    /// `(?!x)`: the next character is not in this class.
    NotFollowedBy(&'n ClassUnicode),
    End,
}

/// Lowers the branches of a pattern over one table of atoms.
struct Lowering<'a> {
    atoms: &'a dyn Atoms,
    /// The classes of the current branch that divide an atom, for [`Obstacle::Classes`].
    cut_through: RefCell<Vec<ClassUnicode>>,
}

fn flatten<'n>(node: &'n Node, items: &mut Vec<Item<'n>>) -> Option<()> {
    let once = |class, min, max, possessive| Item::Set { class, min, max, possessive };
    match node {
        Node::Set(class) => items.push(once(class, 1, Some(1), false)),
        Node::Repeat { node, min, max } => match (single(node), min, max) {
            (Some(class), _, _) => items.push(once(class, *min, *max, false)),
            (None, 0, Some(1)) => items.push(Item::Literals { texts: texts_of(node)?, optional: true }),
            _ => return None,
        },
        Node::Atomic(inner) => match &**inner {
            Node::Repeat { node, min, max } => match single(node) {
                Some(class) => items.push(once(class, *min, *max, true)),
                None => return None,
            },
            // `(?>\s+)`: the parser turns the content of a group into a `Concat`, here with one member.
            Node::Concat(nodes) if nodes.len() == 1 => match &nodes[0] {
                Node::Repeat { node, min, max } => items.push(once(single(node)?, *min, *max, true)),
                _ => return None,
            },
            _ => return None,
        },
        Node::Concat(nodes) => {
            for node in nodes {
                flatten(node, items)?;
            }
        }
        Node::Alt(_) => items.push(Item::Literals { texts: texts_of(node)?, optional: false }),
        Node::NegativeLookAhead(inner) => {
            items.push(Item::NotFollowedBy(single(inner)?));
        }
        Node::End => items.push(Item::End),
        Node::LazyRepeat { .. }
        | Node::LookAhead(_)
        | Node::LookBehind(_)
        | Node::NegativeLookBehind(_)
        | Node::Start
        | Node::WordBoundary { .. } => return None,
    }
    Some(())
}

fn single(node: &Node) -> Option<&ClassUnicode> {
    match node {
        Node::Set(class) => Some(class),
        Node::Concat(nodes) if nodes.len() == 1 => single(&nodes[0]),
        _ => None,
    }
}

/// The texts that `node` matches, in order of preference. `None` if there are too many, or if one of them is
/// empty.
fn texts_of(node: &Node) -> Option<Vec<Vec<Vec<char>>>> {
    let texts = match node {
        Node::Set(class) => vec![vec![choices(class)?]],
        Node::Concat(nodes) if nodes.len() == 1 => texts_of(&nodes[0])?,
        Node::Concat(nodes) => {
            let mut texts = vec![Vec::new()];
            for node in nodes {
                texts = join(&texts, &texts_of(node)?)?;
            }
            texts
        }
        Node::Alt(nodes) => {
            let mut texts = Vec::new();
            for node in nodes {
                texts.extend(texts_of(node)?);
            }
            texts
        }
        _ => return None,
    };
    let fits = texts.len() <= MAX_LITERALS && texts.iter().all(|text| !text.is_empty());
    (fits && !texts.is_empty()).then_some(texts)
}

fn join(left: &[Vec<Vec<char>>], right: &[Vec<Vec<char>>]) -> Option<Vec<Vec<Vec<char>>>> {
    if left.len() * right.len() > MAX_LITERALS {
        return None;
    }
    Some(left.iter().flat_map(|a| right.iter().map(move |b| [&a[..], &b[..]].concat())).collect())
}

fn choices(class: &ClassUnicode) -> Option<Vec<char>> {
    let count: usize = class.iter().map(ClassUnicodeRange::len).sum();
    (count <= MAX_CHOICES).then(|| class.iter().flat_map(|range| range.start()..=range.end()).collect())
}

fn literal(items: &[Item<'_>]) -> Option<Vec<Vec<Vec<char>>>> {
    let mut texts = vec![Vec::new()];
    for item in items {
        texts = match item {
            Item::Set { class, min: 1, max: Some(1), .. } => join(&texts, &[vec![choices(class)?]])?,
            Item::Literals { texts: more, optional: false } => join(&texts, more)?,
            _ => return None,
        };
    }
    texts.iter().all(|text| !text.is_empty()).then_some(texts)
}

impl Lowering<'_> {
    fn set_of(&self, class: &ClassUnicode) -> Option<AtomSet> {
        let set = self.atoms.set_of(class);
        if set.is_none() {
            self.cut_through.borrow_mut().push(class.clone());
        }
        set
    }

    fn branch(&self, node: &Node) -> Option<Arm> {
        let mut items = Vec::new();
        flatten(node, &mut items)?;
        if let [Item::Set { class, min: 1, max: Some(1), .. }] = items[..]
            && let Some(body) = self.set_of(class)
        {
            let run = Run { prefix: 0, needs_prefix: false, body, max: 1, tail: 0, suffix: None };
            return Some(Arm::Run(run));
        }
        if let Some(texts) = literal(&items) {
            return Some(Arm::Literal(Literals::new(texts)));
        }
        self.white(&items).or_else(|| self.word(&items)).or_else(|| self.sequence(&items))
    }

    /// Lowers a branch that begins with a run of white space and has a rule for where the run ends.
    fn white(&self, items: &[Item<'_>]) -> Option<Arm> {
        let sets = self.atoms.sets();
        let [Item::Set { class, min, max, possessive }, rest @ ..] = items else { return None };
        if *max == Some(1) || self.set_of(class) != Some(sets.white) {
            return None;
        }
        match (rest, min, max, possessive) {
            ([Item::NotFollowedBy(class)], 1, None, _) => match self.set_of(class)? {
                // A possessive `\s++` gives nothing back, so `\S` or the end of the text follows it. `(?!\S)` then
                // holds only at the end.
                text if text == sets.all & !sets.white => {
                    Some(if *possessive { Arm::AtEnd } else { Arm::BeforeText })
                }
                text if text == sets.all & !sets.line_feed && !possessive => Some(Arm::BeforeLineEnd),
                _ => None,
            },
            ([Item::End], 1, None, _) => Some(Arm::AtEnd),
            // `\s*[\r\n]` or `\s*[\r\n]+`: the greedy `\s*` takes all white space and gives characters back until
            // a line end is next, which is the last line end of the run.
            ([Item::Set { class, min: 1, max: Some(1) | None, .. }], 0, None, false)
                if self.set_of(class) == Some(sets.newlines) =>
            {
                Some(Arm::ThroughNewline)
            }
            _ => None,
        }
    }

    /// Lowers `prefix? body+ tail* suffix?` and `prefix? upper* lower+ suffix?`.
    fn word(&self, items: &[Item<'_>]) -> Option<Arm> {
        let (mut prefix, mut needs_prefix, mut sticky, mut rest) = (0, false, false, items);
        match rest {
            [Item::Set { class, min: 0, max: Some(1), possessive }, more @ ..] => {
                (prefix, sticky, rest) = (self.set_of(class)?, *possessive, more);
            }
            // A prefix that must be there: `[!-/][A-Za-z]+`.
            [Item::Set { class, min: 1, max: Some(1), .. }, more @ ..]
                if matches!(more, [Item::Set { min: 1, .. }, ..]) =>
            {
                (prefix, needs_prefix, rest) = (self.set_of(class)?, true, more);
            }
            _ => {}
        }
        let [Item::Set { class, min, max, possessive }, more @ ..] = rest else { return None };
        let (first, rest) = (self.set_of(class)?, more);
        if *min == 0 {
            let [Item::Set { class, min: 1, max: None, .. }, rest @ ..] = rest else { return None };
            let lower = self.set_of(class)?;
            // `upper*` has to give characters back only if some of them are in `lower` too. A possessive run never
            // does, so the arm would match more than the pattern.
            let gives_back = *possessive && first & lower != 0;
            if max.is_some() || gives_back || !prefix_is_exact(prefix, sticky, first | lower) {
                return None;
            }
            let case = Case { prefix, upper: first, lower, suffix: literals(suffix(rest)?) };
            return Some(Arm::Case(case));
        }
        let (mut tail, mut rest) = (0, rest);
        if let [Item::Set { class, min: 0, max: None, .. }, more @ ..] = rest {
            (tail, rest) = (self.set_of(class)?, more);
        }
        if *min != 1 || !prefix_is_exact(prefix, sticky, first) {
            return None;
        }
        let max = max.map_or(usize::MAX, |max| max as usize);
        let suffix = literals(suffix(rest)?);
        Some(Arm::Run(Run { prefix, needs_prefix, body: first, max, tail, suffix }))
    }

    /// Lowers a fixed number of characters, each from one set.
    fn sequence(&self, items: &[Item<'_>]) -> Option<Arm> {
        let mut sets = Vec::new();
        for item in items {
            let Item::Set { class, min, max, .. } = item else { return None };
            if *max != Some(*min) || sets.len() + *min as usize > MAX_SEQUENCE {
                return None;
            }
            sets.extend(std::iter::repeat_n(self.set_of(class)?, *min as usize));
        }
        (!sets.is_empty()).then_some(Arm::Sequence(sets))
    }
}

/// Does an arm express this prefix exactly? A possessive prefix is never left out if it matches, which an arm may
/// do. The difference matters only if a character can be both prefix and body.
fn prefix_is_exact(prefix: AtomSet, sticky: bool, body: AtomSet) -> bool {
    !sticky || prefix & body == 0
}

/// The texts of the one remaining item, which is an optional suffix. Empty if no item remains.
fn suffix(items: &[Item<'_>]) -> Option<Vec<Vec<Vec<char>>>> {
    match items {
        [] => Some(Vec::new()),
        [Item::Literals { texts, optional: true }] => Some(texts.clone()),
        [Item::Set { class, min: 0, max: Some(1), .. }] => Some(vec![vec![choices(class)?]]),
        _ => None,
    }
}

fn literals(texts: Vec<Vec<Vec<char>>>) -> Option<Literals> {
    (!texts.is_empty()).then(|| Literals::new(texts))
}
