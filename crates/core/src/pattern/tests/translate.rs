//! Both translations: what is rewritten, copied and refused.
use crate::error::{Kind, Result};
use crate::pattern::dialect_tables::{GRAPHEME, ONIGURUMA_CLASS_WORD, ONIGURUMA_WORD, WORD};
use crate::pattern::{from_portable, portable};
use proptest::prelude::*;

fn position(result: Result<String>) -> Option<usize> {
    match result.unwrap_err().into_kind() {
        Kind::Pattern { position, reason, .. } => {
            assert!(reason.contains("cannot be translated"), "{reason}");
            position
        }
        other => panic!("another kind: {other:?}"),
    }
}

#[test]
fn what_differs_is_written_in_another_way() {
    for (ours, theirs) in [
        (r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"),
        (r"a(?:bc){2,}+d", r"a(?>(?:bc){2,})d"),
        (r"[ab]{2}?c{1,2}?", r"[ab]{2}c{1,2}?"),
        (r"a{,3}", r"a{0,3}"),
        (r"\s++$", r"\s++\z"),
        (r"^a", r"\Aa"),
        (r"(?m:^a$).", r"(?:(?<![^\n])a(?![^\n]))."),
        (r"(?s:.)|.", r"(?m:.)|."),
        (r"(?s:.{3}a)", r"(?:(?m:.){3}a)"),
        (r"(?s:(?<=.)a)", r"(?:(?<=[\s\S])a)"),
        (r"(?im:a$)", r"(?i:a(?=\n|\z))"),
        (r"(?s).", r"(?m:.)"),
        (r"(?i)a|b", r"(?i:a|b)"),
        (r"(?i:a(?-i:b))", r"(?i:a(?-i:b))"),
        (r"\Z", r"(?=\n*\z)"),
        (r"\pL\u0041\x41\p{^N}", r"\p{L}\x{41}\x{41}\P{N}"),
        (r"(?P<n>a)", r"(?<n>a)"),
        (r"[[:punct:]a]", r"[!-/:-@\[-`\{-~a]"),
        (r"[[:^alpha:]]", r"[[^A-Za-z]]"),
    ] {
        assert_eq!(portable(ours).unwrap(), theirs);
    }
    for (theirs, ours) in [
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        (r"a{2}?", r"(?:a{2})?"),
        (r"a{2,2}?b{02,2}??", r"a{2}(?:b{2})?"),
        (r"a+*b", r"(?:a+)*b"),
        (r"a{2}+?", r"(?:a{2})+?"),
        (r"^a$", r"(?:\A|(?<=\n)(?!\z))a(?![^\n])"),
        (r"(?m:.).", r"(?s:.)."),
        (r"(?i:a$)", r"(?i:a(?=\n|\z))"),
        (r"\Z", r"(?=\n?\z)"),
        (r"\<", "<"),
        (r"\X", GRAPHEME),
        (r"a\X+", &format!("a{GRAPHEME}+")),
        (r"\N\O", r"[^\n](?s:.)"),
        (r"[[:punct:]a]", r"[\p{P}\p{S}a]"),
        (r"[^[:^space:]]", r"[^[^\s]]"),
    ] {
        assert_eq!(from_portable(theirs).unwrap(), ours);
    }
}

#[test]
fn words_are_spelled_out() {
    assert_eq!(portable(r"\w").unwrap(), format!("[{WORD}]"));
    assert_eq!(portable(r"[\w']+").unwrap(), format!("[{WORD}']+"));
    assert_eq!(from_portable(r"\W").unwrap(), format!("[^{ONIGURUMA_WORD}]"));
    assert_eq!(from_portable(r"[^\w\s]").unwrap(), format!(r"[^{ONIGURUMA_CLASS_WORD}\s]"));
    assert_eq!(from_portable(r"[\W_]").unwrap(), format!(r"[[^{ONIGURUMA_CLASS_WORD}]_]"));
    // The classes are those of the engine.
    let word = fancy_regex::Regex::new(r"\A\w\z").unwrap();
    let spelt = fancy_regex::Regex::new(&format!(r"\A[{WORD}]\z")).unwrap();
    for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
        let text = c.encode_utf8(&mut [0; 4]).to_owned();
        assert_eq!(word.is_match(&text).unwrap(), spelt.is_match(&text).unwrap(), "{c:?}");
    }
    assert!(from_portable(r"a\bc").unwrap().starts_with("a(?:(?<=["));
}

#[test]
fn what_means_the_same_passes_through() {
    for pattern in [
        r"",
        r"a|b",
        r"(?:a|(b))++",
        r"[^\r\n\p{L}]?+",
        r"\s+(?!\S)",
        r"(?<=a|bc)d",
        r"(?<!a)b",
        r"[a&&[^b]]",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"'(?i:[sdmt]|ll|ve|re)",
        r"\x{1F600}",
        r"\h\H\d\D\n\-",
        r"(?i:’s)",
        r"[一-龥぀-ゟ゠-ヿ]+",
        r"[!-/:-~]?[A-Za-z]+",
        r"[]a]",
        r"[^]a]",
        r"\s++\z",
        r"(?>\p{N}{1,3})",
        r"a\Kb|\R+",
        r"\p{Bengali}\P{Uppercase_Letter}\p{Zl}",
    ] {
        assert_eq!(portable(pattern).unwrap(), pattern);
        assert_eq!(from_portable(pattern).unwrap(), pattern);
    }
}

#[test]
fn what_cannot_be_translated_is_refused_with_its_place() {
    for (pattern, at) in [
        (r"ab(?i)c", 2),
        (r"(a)\1", 3),
        (r"(?=a\Kb)", 4),
        (r"(?i:a\X)", 5),
        (r"(?<=\R)", 4),
        (r"(?x: a )", 0),
        (r"a[[:no:]]", 1),
        (r"a[[:punct]", 1),
        (r"(?i:[[:upper:]])", 4),
        (r"[a--b]", 0),
        (r"(?i:ss)", 5),
        (r"(?i:s\x73)", 5),
        (r"(?i:s{2})", 5),
        (r"(?i:st)", 5),
        (r"(?i:f(?:i|x))", 8),
        (r"(?i:ß)", 4),
        (r"(?i:[^x])", 4),
        (r"(?i:\p{L})", 4),
        (r"(?i:\S)", 4),
        (r"\p{Script=Han}", 0),
        (r"a{3,1}", 1),
        (r"(?<=a+)b", 5),
        (r"(?=a)+", 5),
        (r"(?<=\Z)", 4),
        (r"x{", 1),
        (r"(?#c)", 0),
        (r"(?(1)a|b)", 0),
        (r"(a", 2),
        (r"a)", 1),
        (r"*", 0),
        (r"a{100001}", 1),
        (r"\G", 0),
        (r"[a", 0),
    ] {
        assert_eq!(position(portable(pattern)), Some(at), "{pattern}");
        assert_eq!(position(from_portable(pattern)), Some(at), "{pattern}");
    }
    assert_eq!(position(portable(r"a++*")), Some(3));
    assert_eq!(position(portable(r"\<a")), Some(0));
    assert_eq!(position(portable(r"(?m:(?<=$))")), Some(8));
    assert_eq!(position(from_portable(r"(?s:.)")), Some(0));
    assert_eq!(position(from_portable(r"\xE9")), Some(0));
    assert_eq!(position(from_portable(r"[\xE9]")), Some(0));
}

#[test]
fn there_and_back_again_means_the_same() {
    let patterns = [
        r"\p{N}{1,3}+|\s++$|\w+",
        r"^\s*|\b\w",
        r"(?m:^.+$)",
        r"(?s:.)a",
        r"a{2}?b",
        r"\B.",
        r"\Z|a",
        r"(?m:$)\n|x",
        r"\W{1,2}+\w",
        r"(?i)a[b-d]|1",
    ];
    let texts = ["", "a\nb\n", "12345 a1\n\n", "aab ab\u{200D}c", "x²y ½", " \n a\n b", "Abc aBd\r\n"];
    for pattern in patterns {
        let back = from_portable(&portable(pattern).unwrap()).unwrap();
        let (one, other) =
            (fancy_regex::Regex::new(pattern).unwrap(), fancy_regex::Regex::new(&back).unwrap());
        for text in texts {
            let found = |regex: &fancy_regex::Regex| -> Vec<_> {
                regex.find_iter(text).map(|m| m.unwrap().range()).collect()
            };
            assert_eq!(found(&one), found(&other), "{pattern} as {back} on {text:?}");
        }
    }
}

/// Reads what was written and writes it again; `false` where the pattern is refused.
fn settles(pattern: &str) -> bool {
    let Ok(written) = portable(pattern) else { return false };
    let read = from_portable(&written).unwrap_or_else(|e| panic!("{pattern} as {written}: {e}"));
    assert_eq!(portable(&read).unwrap(), written, "{pattern} as {read}");
    true
}

#[test]
fn what_was_translated_stays_as_it_is() {
    for pattern in [
        r"(?s:.){3}",
        r"(?s:.)",
        r"(?s).{3}|a",
        r"(?s:(?:.)+)",
        r"(?s:(?s:.))",
        r"(?s:a.(?-s:.))",
        r"(?is:.|s)",
        r"(?is).a(?-i:.)",
        r"(?s:(?<=a.|.)b)",
        r"\w+|\s",
        r"\W[\w\W][^\w']",
        r"^a|b$",
        r"$",
        r".",
        r"(?m:^x)",
        r"(?m:x$)",
        r"(?im:x$)",
        r"(?m)^.*$",
        r"\A\z\Z",
        r"a\b|\B",
        r"\h\H",
        r"[a-c&&[^b]]|[^]\-\]]|[\x2d\u0041]",
        r"\p{N}{1,2}+",
        r"(?>\p{N}{1,2})",
        r"a?+b*+c++",
        r"a{2}?b{3,3}?c{1,2}?d{,4}",
        r"(?:a{2})?",
        r"(?>(?:a+)*)+",
        r"(?:(?:a{1,2}+)+?)*+",
        r"(?P<n>a)(b)",
        r"(?i)a|b(?-i:c(?i:d))",
        r"(?<=\w)(?<!^a)(?=$)(?!.)",
    ] {
        assert!(settles(pattern), "{pattern}");
    }
}

/// Patterns of both dialects, and some of neither: quantifiers are mostly where they are allowed.
fn patterns() -> impl Strategy<Value = String> {
    const ATOMS: [&str; 28] = [
        "a", "s", "t", "f", "é", "}", "-", ".", ".", ".", r"\w", r"\W", r"\s", r"\S", r"\d", r"\h", r"\H",
        r"\n", r"\.", r"\<", r"\ ", r"\x41", r"\x{E9}", r"\u0041", r"\pL", r"\p{^N}", r"\P{Han}", r"\pM",
    ];
    const ASSERTIONS: [&str; 12] = ["^", "$", "$", r"\A", r"\z", r"\Z", r"\b", r"\B", "|", "|", "|", ""];
    const CLASSES: [&str; 4] = ["[", "[^", "[]", "[^]"];
    const MEMBERS: [&str; 20] = [
        "a", "-", "b-y", "^", "&", ":", "é", "[b]", "[^a]", "&&", r"\w", r"\W", r"\s", r"\D", r"\]", r"\<",
        r"\x2D", r"\x{E9}", r"\pL", r"\P{N}",
    ];
    const GROUPS: [&str; 16] = [
        "(", "(?:", "(?:", "(?>", "(?<n>", "(?P<n>", "(?i:", "(?-i:", "(?s:", "(?s:", "(?-s:", "(?m:",
        "(?-m:", "(?is:", "(?im-s:", "(?s-i:",
    ];
    const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    const QUANTIFIERS: [&str; 20] = [
        "", "", "", "", "", "", "", "", "?", "*", "+", "?+", "*?", "{2}", "{2,2}?", "{,2}", "{1,}+",
        "{0,1}?", "{2}+", "{1,3}+",
    ];
    const TWICE: [&str; 5] = ["+*", "{2}?+", "*{1,2}", "{2}{3}", "??*"];
    const FLAGS: [&str; 8] = ["", "", "", "(?i)", "(?s)", "(?m)", "(?is)", "(?-i)"];
    fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
        prop::sample::select(texts).prop_map(str::to_owned)
    }

    let class = (one_of(&CLASSES), prop::collection::vec(one_of(&MEMBERS), 1..4))
        .prop_map(|(open, members)| format!("{open}{}]", members.concat()));
    let quantifier = prop_oneof![30 => one_of(&QUANTIFIERS), 1 => one_of(&TWICE)];
    let atom = prop_oneof![4 => one_of(&ATOMS), 1 => class];
    let quantified = (atom, quantifier.clone()).prop_map(|(atom, quantifier)| atom + &quantifier);
    let leaf = prop_oneof![3 => quantified, 1 => one_of(&ASSERTIONS)];
    let tree = leaf.prop_recursive(4, 12, 3, move |inner| {
        let inner = prop::collection::vec(inner, 1..4).prop_map(|inner| inner.concat());
        let group = (one_of(&GROUPS), inner.clone(), quantifier.clone());
        prop_oneof![
            4 => group.prop_map(|(open, inner, quantifier)| format!("{open}{inner}){quantifier}")),
            1 => (one_of(&LOOK_AROUND), inner).prop_map(|(open, inner)| format!("{open}{inner})")),
        ]
    });
    (one_of(&FLAGS), prop::collection::vec(tree, 1..3)).prop_map(|(flags, trees)| flags + &trees.concat())
}

#[test]
fn every_translation_settles() {
    let config = ProptestConfig { cases: 8192, ..ProptestConfig::default() };
    let translated = std::cell::Cell::new(0);
    proptest!(config, |(pattern in patterns())| {
        translated.set(translated.get() + usize::from(settles(&pattern)));
        if let Ok(read) = from_portable(&pattern) && let Ok(written) = portable(&read) {
            prop_assert_eq!(from_portable(&written).unwrap(), read, "{} as {}", pattern, written);
        }
    });
    assert!(translated.get() > 1000, "only {} were translated", translated.get());
}
