//! Split patterns: compiling any, splitting any text, translating to the other dialect and back.
//! Where the plan is a scanner or a linear engine, fancy-regex says what is right.
#![no_main]

use tokenmill_core::description::Split;
use tokenmill_core::pattern::{Plan, Splitter, from_portable, portable};
use tokenmill_core::span::Span;
use tokenmill_fuzz::laws;
use tokenmill_fuzz::making::Splitting;
use tokenmill_fuzz::patience::checked;

libfuzzer_sys::fuzz_target!(|made: Splitting| {
    let Splitting { pattern, text } = made;
    if let Some(translated) = checked("translating", portable(&pattern))
        && let Some(back) = checked("translating back", from_portable(&translated))
    {
        split(&back, &text);
    }
    let _ = checked("translating from the other dialect", from_portable(&pattern));
    split(&pattern, &text);
});

fn split(pattern: &str, text: &str) {
    let compiled = Splitter::compile(&Split::Pattern(pattern.to_owned()));
    let Some(splitter) = checked("compiling a pattern", compiled) else { return };
    let Some(spans) = laws::split(&splitter, text) else { return };
    if splitter.plan() == Plan::Backtracking {
        return;
    }
    let regex = fancy_regex::Regex::new(pattern);
    let regex = regex.unwrap_or_else(|error| panic!("the plan of {pattern:?} refuses nothing: {error}"));
    let mut cuts = vec![0, text.len()];
    for found in regex.find_iter(text) {
        // Beyond its limit it says nothing.
        let Ok(found) = found else { return };
        cuts.extend([found.start(), found.end()]);
    }
    cuts.sort_unstable();
    cuts.dedup();
    let expected: Vec<Span> = cuts.windows(2).map(|pair| Span::new(pair[0], pair[1])).collect();
    assert!(
        spans == expected || is_rewritten(pattern),
        "{pattern:?} on {text:?}, by {}: {spans:?}, not {expected:?}",
        splitter.plan()
    );
}

/// Does fancy-regex rewrite the pattern before it runs it? It then takes `b+a?b+` for `b+(?:ab+)?`, which
/// is not the same, and is no witness.
fn is_rewritten(pattern: &str) -> bool {
    let Ok(mut tree) = fancy_regex::Expr::parse_tree(pattern) else { return false };
    let before = tree.expr.clone();
    fancy_regex::internal::optimize(&mut tree);
    tree.expr != before
}
