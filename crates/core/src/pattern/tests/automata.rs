//! Automata against backtracking.
use std::fmt::Write;

use super::is_slow;
use crate::pattern::automaton::Automaton;
use crate::pattern::engines::Backtracking;
use crate::pattern::syntax;
use crate::span::Span;

type Matches = Vec<(usize, usize, bool)>;

fn automaton(pattern: &str) -> Option<Automaton> {
    syntax::parse(pattern).and_then(|node| Automaton::compile(&node))
}

fn of_automaton(automaton: &Automaton, text: &str) -> Matches {
    let mut all = Vec::new();
    let mut push = |span: Span, is_match| {
        all.push((span.start, span.end, is_match));
        Ok(())
    };
    automaton.for_each_match(text, &mut push).unwrap();
    all
}

/// The ends of the pretokens, which a search for each match and the split table have to agree on.
fn check_ends(automaton: &Automaton, pattern: &str, text: &str) -> bool {
    let mut ends = Vec::new();
    let mut push = |more: &[usize]| {
        ends.extend_from_slice(more);
        Ok(())
    };
    let Some(result) = automaton.for_each_ends(text, &mut push) else { return false };
    result.unwrap();
    let matches = of_automaton(automaton, text);
    let expected: Vec<usize> = matches.iter().filter(|(start, end, _)| start < end).map(|m| m.1).collect();
    assert_eq!(ends, expected, "{pattern:?} on {text:?}");
    true
}

/// No match has a character that is ignored.
fn check_ignored(automaton: &Automaton, pattern: &str, text: &str, matches: &Matches) {
    for &(start, end, _) in matches.iter().filter(|(_, _, is_match)| *is_match) {
        let found = &text[start..end];
        let ignored = found.chars().find(|c| automaton.ignores(c.encode_utf8(&mut [0; 4])));
        assert_eq!(ignored, None, "{pattern:?} on {text:?}");
        assert!(start < end || !automaton.ignores("a"), "{pattern:?} on {text:?}");
    }
}

/// `None` if the limit on backtracking is exceeded.
fn of_backtracking(engine: &Backtracking, text: &str) -> Option<Matches> {
    let mut all = Vec::new();
    let mut push = |span: Span, is_match| {
        all.push((span.start, span.end, is_match));
        Ok(())
    };
    engine.for_each_match(text, &mut push).ok()?;
    Some(all)
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const CHARS: [char; 14] = ['a', 'a', 'b', 'b', 'A', 'B', 'é', 'É', ' ', '\n', '1', '中', '\u{200D}', '😀'];

fn text(random: &mut Random, limit: usize) -> String {
    let length = random.below(limit);
    let mut text = String::new();
    while text.len() < length {
        let c = random.one_of(&CHARS);
        (0..=random.below(3) * random.below(2)).for_each(|_| text.push(c));
    }
    text
}

/// A pattern of all forms that the parser knows, and some that automata refuse.
fn pattern(random: &mut Random, depth: usize, into: &mut String) {
    for branch in 0..=random.below(3) * random.below(2) {
        into.push_str(if branch > 0 { "|" } else { "" });
        for _ in 0..=random.below(3) {
            term(random, depth, into);
        }
    }
}

fn term(random: &mut Random, depth: usize, into: &mut String) {
    const ATOMS: [&str; 18] = [
        "a",
        "b",
        "B",
        "1",
        " ",
        "[ab]",
        "[^a]",
        r"\w",
        r"\s",
        r"\d",
        ".",
        r"\p{L}",
        r"\p{Lu}",
        "(?i:a)",
        "(?s:.)",
        r"[a-zé]",
        r"\n",
        r"[^\s\p{L}]",
    ];
    const QUANTIFIERS: [&str; 10] = ["", "", "", "?", "*", "+", "{1,2}", "{2}", "{0,3}", "{1,}"];
    const POSITIONS: [&str; 8] = ["^", "$", r"\b", r"\B", "(?m:^)", "(?m:$)", r"\A", r"\z"];
    const AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    match random.below(if depth > 0 { 14 } else { 9 }) {
        0 => return into.push_str(random.one_of(&POSITIONS)),
        1 => {
            let (around, atom) = (random.one_of(&AROUND), random.one_of(&ATOMS));
            return write!(into, "{around}{atom})").unwrap();
        }
        10 => {
            into.push_str(random.one_of(&AROUND[..2]));
            pattern(random, depth - 1, into);
            return into.push(')');
        }
        11 => {
            into.push_str(random.one_of(&AROUND[2..]));
            if random.below(3) == 0 {
                pattern(random, depth - 1, into);
            } else {
                (0..2).for_each(|_| into.push_str(random.one_of(&ATOMS)));
            }
            return into.push(')');
        }
        12.. => {
            into.push_str(if random.below(4) == 0 { "(?>" } else { "(?:" });
            pattern(random, depth - 1, into);
            into.push(')');
        }
        _ => into.push_str(random.one_of(&ATOMS)),
    }
    let quantifier = random.one_of(&QUANTIFIERS);
    into.push_str(quantifier);
    if !quantifier.is_empty() {
        into.push_str(random.one_of(&["", "", "?", "+"]));
    }
}

#[test]
fn automata_agree_with_backtracking() {
    let mut random = Random(7);
    let (mut with, mut bounded, mut with_passes, mut by_table) = (0, 0, 0, 0);
    let count = if is_slow() { 60_000 } else { 3_000 };
    for _ in 0..count {
        let mut pattern = String::new();
        self::pattern(&mut random, 2, &mut pattern);
        let automaton = automaton(&pattern);
        let backtracking = match Backtracking::compile(&pattern) {
            Ok(backtracking) => backtracking,
            Err(error) => {
                assert!(automaton.is_none(), "{pattern:?} is refused: {error}");
                continue;
            }
        };
        let Some(automaton) = automaton else { continue };
        with += 1;
        bounded += usize::from(!automaton.reads_past_match());
        with_passes += usize::from(pattern.contains("(?="));
        for limit in [6, 12, 12, 30, 30, 80] {
            let text = text(&mut random, limit);
            let Some(expected) = of_backtracking(&backtracking, &text) else { continue };
            assert_eq!(of_automaton(&automaton, &text), expected, "{pattern:?} on {text:?}");
            check_ignored(&automaton, &pattern, &text, &expected);
            by_table += usize::from(check_ends(&automaton, &pattern, &text));
        }
    }
    let counts = format!("{count} {with} {bounded} {with_passes} {by_table}");
    assert!(with > count / 2 && bounded > with / 4 && bounded < with, "{counts}");
    assert!(with_passes > with / 20 && by_table > with / 2 && by_table < 5 * with, "{counts}");
}

#[test]
fn characters_that_no_match_can_have_are_ignored() {
    for (pattern, ignored, others) in [
        (" {2,}", "ab語\u{3000}", " "),
        ("a(?=b)|c", "bd", "ac"),
        ("(?<!x)[0-9]+", "x.", "07"),
        ("a*", "", "ab"),
    ] {
        let automaton = automaton(pattern).unwrap();
        assert!(ignored.is_empty() || automaton.ignores(ignored), "{pattern:?}");
        assert!(others.chars().all(|c| !automaton.ignores(&c.to_string())), "{pattern:?}");
    }
}

/// Patterns that users write, with what most of them have: look-around of one character and of more, words by case,
/// digits in threes, possessive runs.
const WRITTEN: [(&str, bool); 14] = [
    (r"\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|\s+|[^\s\p{L}\p{N}]+", false),
    (r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})", false),
    (r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", false),
    (r"\w+(?=\s|$)|\S", true),
    (r"\p{Han}+|\p{Hiragana}+|\p{Katakana}+|\p{Latin}+|\s+|.", false),
    (r"\w+(?:'\w+)?|[^\w\s]|\s+", false),
    (r"^.+$", false),
    (r"(?m:^)[ \t]+|\S+|\s", false),
    (r"\b", false),
    (r"\w++(?!\()|\w+|\W", false),
    (r"(?>\d{1,3}+)(?!\d)|\d|\D+", false),
    (r"a*b|a", true),
    (r".*?(?:\n|$)", false),
    (r#"(?<!\\)"|\\.|[^"\\]+"#, false),
];

#[test]
fn written_patterns_have_automata() {
    let mut random = Random(3);
    for (pattern, reads_past_match) in WRITTEN {
        let automaton = automaton(pattern).unwrap_or_else(|| panic!("{pattern}"));
        assert_eq!(automaton.reads_past_match(), reads_past_match, "{pattern}");
        let backtracking = Backtracking::compile(pattern).unwrap();
        let english = "HTTPServer isn't getFooBar(1234567) \"x\\\"y\"\n  \tCafé 東京タワー, 12 345\n";
        let texts: Vec<String> = (0..300).map(|_| text(&mut random, 60)).collect();
        for text in texts.iter().map(String::as_str).chain(["", english]) {
            let expected = of_backtracking(&backtracking, text).unwrap();
            assert_eq!(of_automaton(&automaton, text), expected, "{pattern} on {text:?}");
            check_ends(&automaton, pattern, text);
        }
        let long = text(&mut random, 100_000);
        check_ends(&automaton, pattern, &long);
    }
}

#[test]
fn what_is_not_regular_has_none() {
    for pattern in [
        r"(a)\1",
        r"(?>a|ab)c",
        r"(?:ab)++b",
        r"\Ka",
        r"(?:a*)*",
        r"(?>a+?)b",
        r"(?:ax){1,3000}",
        r"\X",
        "(",
        "a(?i)b",
    ] {
        assert!(automaton(pattern).is_none(), "{pattern}");
    }
    // Nothing after it can fail.
    assert!(automaton(r"c(?:ab)++|(?>a|ab)").is_some());
}

#[test]
fn hostile_patterns_are_refused_at_once() {
    // Each would take seconds, or hundreds of megabytes.
    let bars = format!("(?:a{}){{1000}}", "|".repeat(4000));
    let looks = (4000..4090).map(|n| format!("(?=a{{{n}}})")).collect::<Vec<_>>().concat();
    let boundaries = r"\b".repeat(30_000);
    let letters: String = ('一'..).take(20_000).collect();
    let spans = (0..60).map(|n| format!("[a-z]{{0,{n}}}")).collect::<Vec<_>>().concat();
    let work = format!("(?:{spans}){{60}}");
    for pattern in [bars, looks, boundaries, letters, work, "(?:[ab]*a[ab]{18})c|b".to_owned()] {
        assert!(automaton(&pattern).is_none(), "{}", &pattern[..20]);
    }
}

#[test]
fn searches_that_read_past_their_match_are_not_called_linear() {
    for (pattern, reads_past_match) in [("a{1,15}b|a", false), ("a{1,40}b|a", true), ("a{1,1000}!|b", false)]
    {
        assert_eq!(automaton(pattern).unwrap().reads_past_match(), reads_past_match, "{pattern}");
    }
    // Many characters in vain, at each place: then the places where matches start are looked up.
    let text = "a".repeat(300_000) + "b!";
    assert!(check_ends(&automaton("a{1,1000}!|b").unwrap(), "", &text));
}

#[test]
fn searches_that_find_nothing_take_linear_time() {
    // Each search would read to the end of the text: a million characters, a million times.
    let automaton = automaton(r"[ab]+!|c").unwrap();
    assert!(!automaton.reads_past_match());
    let text = "ab".repeat(500_000) + "c" + &"ba".repeat(500_000) + "!";
    let found = of_automaton(&automaton, &text);
    assert!(check_ends(&automaton, "", &text));
    assert_eq!(found, [(0, 1_000_000, false), (1_000_000, 1_000_001, true), (1_000_001, 2_000_002, true)]);
}

#[test]
fn a_state_knows_all_that_is_asked_of_the_character_before_it() {
    // Each letter is asked for twice, and a state has 64 bits.
    let pattern = |letters: usize| {
        let letters = ('a'..='z').chain('A'..='Z').take(letters);
        letters.map(|c| format!("(?<={c})1|(?<!{c})2{c}")).collect::<Vec<_>>().join("|")
    };
    let (few, many) = (pattern(30), pattern(40));
    assert!(automaton(&many).is_none());
    let (automaton, backtracking) = (automaton(&few).unwrap(), Backtracking::compile(&few).unwrap());
    let mut random = Random(5);
    for _ in 0..2_000 {
        let text: String =
            (0..random.below(20)).map(|_| random.one_of(&['a', 'b', 'z', 'D', 'Z', '1', '2'])).collect();
        let expected = of_backtracking(&backtracking, &text).unwrap();
        assert_eq!(of_automaton(&automaton, &text), expected, "{text:?}");
    }
}
