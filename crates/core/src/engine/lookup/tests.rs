//! Batches against pretoken by pretoken, with caches of all sizes.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use proptest::prelude::*;
use tokenmill_kernels::short_table::{hash, key_at};

use crate::aligned::{AlignedText, Origins};
use crate::compile::compile;
use crate::description::{AddedToken, Alphabet, BpeDescription, Description, Merges, Split, TokenList};
use crate::engine::Engine;
use crate::engine::sink::{PretokenSink, SinkResult};
use crate::engine::{Special, Text, UntrustedRanges};
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::{Unwatched, Watch, cancelled};

/// A sink that takes pretokens one by one, so that the cache is never used.
#[derive(Default)]
pub(in crate::engine) struct OneByOne(pub(in crate::engine) Vec<TokenId>);

impl PretokenSink for OneByOne {
    fn take(&mut self, _pretoken: &[u8], _: Origins<'_>, ids: &[TokenId], _ends: &[u32]) -> SinkResult {
        self.0.extend_from_slice(ids);
        Ok(())
    }

    fn added(&mut self, _found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.0.push(id);
        Ok(())
    }
}

/// An engine with all bytes, and tokens of two to twenty bytes, some of which cannot be merged from others. An
/// empty pattern means no split.
fn engine(pattern: &str, cache_bytes: usize, whole_pretokens: bool) -> Engine {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for token in [
        "ab",
        "abc",
        "bc",
        " a",
        "abab",
        "zzzz",
        "abababab",
        "cccccccccccccccccccc",
        "  ",
        "中",
        "中文",
        "文字中文字中",
        "ж",
        "жж",
        "яжя",
        "\u{10007}\u{10007}",
    ] {
        tokens.push(token.as_bytes().to_vec());
    }
    let tokens =
        TokenList::from_entries(tokens.into_iter().enumerate().map(|(id, t)| (id as u32, t)).collect());
    let plain =
        BpeDescription { whole_pretokens, ..BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById) };
    let split = if pattern.is_empty() { Split::Whole } else { Split::Pattern(pattern.to_owned()) };
    let mut description = Description::of_bpe(&split, plain);
    description.added_tokens = vec![AddedToken::special(300, "<s>")];
    compile(description).unwrap().with_cache_bytes(Some(cache_bytes))
}

fn agree(engine: &Engine, text: &str) {
    let (text, special) = (Text::Str(text), &Special::Parse);
    let mut want = OneByOne(vec![]);
    let recognizer = engine.recognizer(special).unwrap();
    engine.encode_pretokens(text, &recognizer, UntrustedRanges::none(), &Unwatched, &mut want).unwrap();
    // Pretokens cached in the first pass are hits in the second.
    for _ in 0..2 {
        let mut ids = vec![];
        engine.encode(text, special, 1, &Unwatched, &mut ids).unwrap();
        assert_eq!(ids, want.0);
        assert_eq!(engine.count(text, special, 1, &Unwatched).unwrap(), want.0.len());
    }
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[ab c]{1,4}",
        2 => "[abc]{1,40}",
        2 => "[ab中文字é]{1,30}",
        2 => "[жя\u{10000}-\u{10040} ]{1,30}",
        1 => "[a-z ]{1,6}",
        1 => prop::sample::select(vec!["<s>", "é中", "\u{1F600}", "\n", "cccccccccccccccccccc", "zzzzz"]).prop_map(str::to_owned),
        1 => (prop::sample::select(vec!["a", "ab", "c", " "]), 10..300_usize).prop_map(|(part, n)| part.repeat(n)),
    ];
    prop::collection::vec(piece, 0..600).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_cache_of_any_size_changes_nothing() {
    let engines: Vec<Engine> = [0, 1000, 30_000, 200_000, 32 << 20]
        .into_iter()
        .flat_map(|bytes| {
            [r"\S+|\s+", r" ?\S+|\s", "[a-z]+", r"(?=c)|\s", ""].map(|pattern| (pattern, bytes))
        })
        .flat_map(|(pattern, bytes)| [false, true].map(|whole| engine(pattern, bytes, whole)))
        .collect();
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in texts())| {
        for engine in &engines {
            agree(engine, &text);
        }
    });
    for engine in &engines {
        let usage = engine.memory_usage();
        assert!(usage.caches <= usage.cache_bytes && usage.misses <= usage.lookups, "{usage:?}");
    }
}

#[test]
fn a_text_that_is_not_split_is_known_by_its_segments() {
    let engine = engine("", 1 << 20, false);
    agree(&engine, "abc abc qrs tuvwx 中文 bc abc");
    let before = engine.memory_usage();
    agree(&engine, "bc abc tuvwx 中文 qrs abc tuvwx");
    let after = engine.memory_usage();
    assert_eq!((after.misses, after.caches), (before.misses, before.caches));
}

#[test]
fn a_text_that_is_not_split_is_kept_whole_if_a_segment_is_long() {
    let engine = engine("", 1 << 20, false);
    let text = format!("abc qrs {} bc abc", "ab".repeat(10));
    (0..2).for_each(|_| agree(&engine, &text));
    let before = engine.memory_usage();
    engine.encode(Text::Str(&text), &Special::Parse, 1, &Unwatched, &mut vec![]).unwrap();
    let after = engine.memory_usage();
    assert_eq!((after.misses, after.lookups), (before.misses, before.lookups + 1));
}

#[test]
fn long_pretokens_alone_are_what_they_are_among_others() {
    for whole in [false, true] {
        for pattern in [r"\S+|\s", ""] {
            let engine = engine(pattern, 1 << 20, whole);
            for length in 1..70 {
                for part in ["ab", "xabc", "b中文", "cccccccccccccccccccc"] {
                    let text: String = part.chars().cycle().take(length).collect();
                    agree(&engine, &text);
                    agree(&engine, &format!("{text} {text}{text} a"));
                }
            }
        }
    }
}

#[test]
fn what_stays_the_bytes_that_it_is_takes_no_room_from_what_repeats() {
    for whole in [false, true] {
        let engine = engine(r"\S+|\s", 1 << 20, whole);
        let words = |from: u32| -> Vec<String> {
            let letter = |n: u32| char::from_u32(0x10000 + n).unwrap();
            (from..from + 30_000).map(|n| [letter(n % 199), letter(n / 199)].iter().collect()).collect()
        };
        agree(&engine, &words(0)[..300].join(" "));
        let before = engine.memory_usage();
        agree(&engine, &words(300).join(" "));
        let after = engine.memory_usage();
        assert_eq!(after.caches, before.caches);
        // Characters of up to three bytes are cached when they come a second time.
        let engine = self::engine(r"\S+|\s", 1 << 20, whole);
        let letter = |n: u32| char::from_u32(0x710 + n).unwrap();
        let syriac: Vec<String> =
            (0..900).map(|n| [letter(n % 30), letter(n / 30)].iter().collect()).collect();
        agree(&engine, &syriac.join(" "));
        let before = engine.memory_usage();
        agree(&engine, &syriac.join(" "));
        assert_eq!(engine.memory_usage().misses, before.misses);
        // Next to other bytes they are cached.
        let engine = self::engine(r"\S+|\s", 1 << 20, whole);
        let mixed: Vec<String> = words(0)[..40].iter().map(|word| format!("{word} qxyzqxyz")).collect();
        agree(&engine, &mixed.join(" "));
        let before = engine.memory_usage();
        agree(&engine, &mixed.join(" "));
        assert_eq!(engine.memory_usage().misses, before.misses);
    }
}

#[test]
fn what_comes_again_while_it_waits_is_asked_for_once() {
    let words: Vec<String> = (1..60).map(|length| "qxyz".repeat(15)[..length].to_owned()).collect();
    let engine = engine(r"\S+|\s", 1 << 20, false);
    let mut ids = vec![];
    let text = format!("{0} {0} {0}", words[1..6].join(" "));
    engine.encode(Text::Str(&text), &Special::Parse, 1, &Unwatched, &mut ids).unwrap();
    assert_eq!(engine.memory_usage().misses, 5);
    // Misses of all lengths, in any order, and enough of them that some are merged before all are known.
    let all: Vec<&str> = (0..400).map(|at| words[at * 37 % 59].as_str()).collect();
    agree(&engine, &all.join(" "));
}

#[test]
fn pretokens_that_are_not_kept_are_asked_for_each_time() {
    // Some bytes are not tokens, so there are no cuts, and long pretokens are encoded whole.
    let tokens = (0..250).map(|byte| (byte, vec![byte as u8])).collect();
    let plain = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::ById);
    for pattern in [r"\S+|\s", r"(?=b)|\s"] {
        let split = Split::Pattern(pattern.to_owned());
        for bytes in [0, 1 << 20] {
            let once = Description::of_bpe(&split, plain.clone());
            let mut twice = once.clone();
            twice.pre_tokenizer.extend(once.pre_tokenizer.clone());
            for description in [once, twice] {
                let engine = compile(description).unwrap().with_cache_bytes(Some(bytes));
                agree(&engine, &format!("a {} b {} 中文", "x".repeat(200), "中".repeat(20)));
            }
        }
    }
}

#[test]
fn what_is_learnt_stays_within_its_bytes_and_is_found_again() {
    let engine = engine(r"\S+|\s", 1 << 20, false);
    let words: Vec<String> = (0..200_000).map(|n| format!("{n} q{n}{}", "x".repeat(27))).collect();
    let words = words.join(" ");
    agree(&engine, &words);
    let usage = engine.memory_usage();
    assert!(usage.caches > 500_000 && usage.caches <= 1 << 20, "{usage:?}");
    let few = "one two three four five six seven eight nine ten eleven-twelve-thirteen ".repeat(100);
    agree(&engine, &few);
    let before = engine.memory_usage();
    agree(&engine, &few);
    let after = engine.memory_usage();
    assert!(after.lookups > before.lookups);
    assert_eq!(after.misses, before.misses);
}

#[test]
fn an_error_before_a_split_fails_comes_first() {
    let byte_tokens = (0..128).map(|byte| (byte, vec![byte as u8])).collect();
    let plain = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(byte_tokens), Merges::ById);
    let split = Split::Pattern(r"(?:a|aa)+(b)\1|.".to_owned());
    let engine = compile(Description::of_bpe(&split, plain)).unwrap();
    let text = format!("xx\u{FF}{}c", "a".repeat(5_000));
    let error = engine.count(Text::Str(&text), &Special::Text, 1, &Unwatched).unwrap_err();
    assert!(matches!(error.kind, crate::error::Kind::UnknownToken { .. }), "{error:?}");
    // Nothing of the failed text is left over for the next one.
    assert_eq!(engine.count(Text::Str("xx"), &Special::Text, 1, &Unwatched).unwrap(), 2);
}

/// Cancels at one poll only.
struct Once(AtomicUsize);

impl Watch for Once {
    fn poll(&self) -> Result<()> {
        if self.0.fetch_add(1, Relaxed) == 4 { Err(cancelled()) } else { Ok(()) }
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

#[test]
fn a_wish_to_stop_ends_the_call_at_once() {
    let once = Once(AtomicUsize::new(0));
    // A pretoken of many segments, and one that is a single segment.
    let long = ["abcbacab".repeat(100_000), "ab".repeat(400_000)];
    let text = "abcab zzz ".repeat(1000) + &long.join(" ");
    for pattern in [r"\S+|\s", r"(?=c)|\s"] {
        let engine = engine(pattern, 1 << 20, false);
        once.0.store(0, Relaxed);
        assert!(engine.count(Text::Str(&text), &Special::Text, 1, &once).is_err());
        assert_eq!(once.0.load(Relaxed), 5, "work went on after the wish");
        assert!(engine.count(Text::Str("abc"), &Special::Text, 1, &Unwatched).is_ok());
    }
}

#[test]
fn long_segments_of_long_pretokens_take_no_room_from_what_repeats() {
    let engine = engine(r"\S+|\s", 1 << 20, false);
    engine.count(Text::Str("abc abc"), &Special::Text, 1, &Unwatched).unwrap();
    let before = engine.memory_usage();
    // There is no cut within `abab..`, and the whole is not cached, because it begins with an ideograph.
    let text: Vec<String> = (63..1000).map(|n| format!("中{}", "ab".repeat(n))).collect();
    agree(&engine, &text.join(" "));
    assert_eq!(engine.memory_usage().caches, before.caches);
}

#[test]
fn long_segments_and_long_words_are_spelled_once() {
    let engine = engine(r"\S+|\s", 1 << 20, false);
    // The segments of sentences without spaces, and words of a script that has characters of three bytes.
    let sentences = (8..30).map(|n| format!("中{}文{}", "ab".repeat(n), "abc".repeat(n / 2)));
    let words = (6..40).map(|n| "कमल".chars().cycle().take(n).collect::<String>());
    let text = sentences.chain(words).collect::<Vec<_>>().join(" ");
    let misses = || {
        agree(&engine, &text);
        engine.memory_usage().misses
    };
    let first = misses();
    assert!(first > 0);
    assert_eq!(misses(), first);
}

#[test]
fn what_waits_does_not_grow_with_the_text() {
    let engine = engine(r"\S+|\s", 1 << 10, false);
    // Hardly any pretoken is in the cache, and some misses wait at the end of each batch.
    let words: Vec<String> = (0..8000).map(|n| format!("{n:x}")).collect();
    agree(&engine, &words.join(""));
    agree(&engine, &words.join(" "));
    // One miss waits, and the hits after it have many ids.
    let long: Vec<String> = (0..60).map(|n| format!("{n:x}{}", "xyz".repeat(700))).collect();
    agree(&engine, &format!("qq {}", long.join(" ")));
    let held = engine.workers.with(|worker| worker.batch.misses.memory());
    assert!((1..1 << 17).contains(&held), "{held}");
}

#[test]
fn a_worker_at_rest_gives_back_what_a_text_made_large() {
    let engine = engine(r"\S+|\s", 1 << 20, false);
    engine.count(Text::Str(&"ab".repeat(4 << 20)), &Special::Text, 1, &Unwatched).unwrap();
    let held = engine.workers.with(|worker| worker.memory());
    assert!(held < 1 << 20, "{held}");
}

#[test]
fn every_short_token_of_a_large_vocabulary_is_known_beforehand() {
    let letters = || (b'a'..=b'z').map(char::from);
    let two: Vec<String> = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}"))).collect();
    let three = two.iter().flat_map(|two| letters().map(move |c| format!("{two}{c}")));
    let tokens = (0..=255).map(|byte| vec![byte]);
    let tokens: Vec<Vec<u8>> =
        tokens.chain(two.iter().cloned().chain(three).map(String::into_bytes)).collect();
    let list = TokenList::from_entries((0..).zip(tokens.iter().cloned()).collect());
    let plain = BpeDescription {
        whole_pretokens: true,
        ..BpeDescription::plain(Alphabet::Bytes, list, Merges::ById)
    };
    let engine = compile(Description::of_bpe(&Split::Pattern(r"\S+|\s".to_owned()), plain)).unwrap();
    for (token, id) in tokens.iter().zip(0..) {
        let key = key_at(token, 0, token.len());
        let value = engine.static_table.get(key, hash(key)).unwrap();
        assert_eq!(value.ids(), [id]);
    }
    let absent = key_at(b"abcd", 0, 4);
    assert!(engine.static_table.get(absent, hash(absent)).is_none());
}
