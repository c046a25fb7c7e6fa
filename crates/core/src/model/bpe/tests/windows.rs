//! Long pretokens merged by windows, compared with the heap.
use proptest::prelude::*;
use proptest::sample::Index;

use super::Compiled;
use super::canonical::by_id;
use crate::model::bpe::canonical::table::SymbolTable;
use crate::model::bpe::canonical::windows::{MAX_WORK, merge_by_windows};
use crate::model::bpe::{BpeScratch, heap};
use crate::watch::{Ticker, Unwatched};

/// The symbols of a text, and the work that was spent.
fn by_windows(table: &SymbolTable, text: &[u8], max_work: usize) -> (Vec<u32>, usize) {
    let (scratch, ticker) = (&mut BpeScratch::default(), &mut Ticker::new(&Unwatched));
    merge_by_windows(table, text, max_work, scratch, ticker).unwrap();
    (scratch.symbols.clone(), ticker.spent())
}

fn by_heap(table: &SymbolTable, text: &[u8]) -> Vec<u32> {
    let (scratch, ticker) = (&mut BpeScratch::default(), &mut Ticker::new(&Unwatched));
    scratch.symbols = text.iter().copied().map(u32::from).collect();
    heap::merge(&table.merges, scratch, ticker).unwrap();
    heap::compact(scratch);
    scratch.symbols.clone()
}

/// Tokens of a few letters, up to a length, each joined from two earlier ones.
fn tokens(letters: usize, most: usize, longest: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any::<(Index, Index)>(), 1..most).prop_map(move |joined| {
        let mut tokens: Vec<String> =
            ["a", "b", "c"][..letters].iter().map(|&letter| letter.to_owned()).collect();
        for (left, right) in joined {
            let token = format!("{}{}", left.get(&tokens), right.get(&tokens));
            if token.len() <= longest && !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        tokens.split_off(letters)
    })
}

fn compiled(tokens: &[String]) -> Compiled {
    by_id(&tokens.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Texts of tokens, of letters, and of repetitions of both.
fn texts() -> impl Strategy<Value = Vec<(Index, usize)>> {
    let times = prop_oneof![12 => Just(1_usize), 2 => 2..60_usize, 1 => 100..400_usize];
    prop::collection::vec((any::<Index>(), times), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn windows_leave_what_the_heap_leaves(
        vocabulary in (1..=3_usize, 2..40_usize, prop_oneof![2..6_usize, 6..70_usize])
            .prop_flat_map(|(letters, most, longest)| tokens(letters, most, longest)),
        texts in prop::collection::vec(texts(), 1..6),
    ) {
        let compiled = compiled(&vocabulary);
        let Some(table) = compiled.model.canonical.as_ref().map(|canonical| &canonical.table) else { return Ok(()) };
        let parts: Vec<&str> = ["a", "b", "c", "a", "b"].into_iter().chain(vocabulary.iter().map(String::as_str)).collect();
        for text in texts {
            let text: String = text.iter().map(|(part, times)| part.get(&parts).repeat(*times)).collect();
            let want = by_heap(table, text.as_bytes());
            for max_work in [MAX_WORK, 9, 0] {
                prop_assert_eq!(&by_windows(table, text.as_bytes(), max_work).0, &want, "{:?}", text);
            }
        }
    }
}

#[test]
fn all_work_of_windows_is_told_and_linear() {
    let compiled = by_id(&["ab", "abc", "ca"]);
    let table = &compiled.model.canonical.as_ref().unwrap().table;
    let work = |times: usize| by_windows(table, "abcabx".repeat(times).as_bytes(), MAX_WORK).1 / times;
    let one = work(1000);
    assert!((6..60).contains(&one), "{one}");
    for times in [10_000, 100_000] {
        assert!(work(times).abs_diff(one) <= 1, "{}", work(times));
    }
}

#[test]
fn windows_that_hardly_agree_take_linear_work() {
    // Every run of a is a token, and none but the shortest stays apart from what follows.
    let mut products: Vec<String> = (2..=600).map(|length| "a".repeat(length)).collect();
    products.push("ab".to_owned());
    let compiled = compiled(&products);
    let table = &compiled.model.canonical.as_ref().unwrap().table;
    let work = |times: usize| {
        let text = format!("{}b", "a".repeat(2_000)).repeat(times);
        let (found, work) = by_windows(table, text.as_bytes(), MAX_WORK);
        assert_eq!(found, by_heap(table, text.as_bytes()));
        work / text.len()
    };
    let (few, many) = (work(10), work(100));
    assert!(many <= few + few / 4, "{few} {many}");
    // The work of the windows, and of the heap in each: one for a byte, eight for each merge and for each entry
    // that is out of date.
    assert!(many < MAX_WORK * (2 + 3 * 8), "{many}");
}

/// Windows over this part agree when they are long, and do not agree when they become short again.
#[test]
fn a_stretch_in_which_windows_do_not_agree_costs_nothing_elsewhere() {
    let tokens = "ac ba cba acba bb bc aacba acbacba babc aacbaaacba bcba acbaaacba cbaa acbacbaaacba \
        acbacbaaacbaac bcbaa bcbaabc aacbaaacbaaacba bbbcba acbacbaaacbab bcbaaacba bbbcbaacbacba \
        acbacbaaacbaacbacbaaacbaac cbacba cbaabcbaaacba aacbaaacbaac acbaaacbac \
        aacbaaacbaacaacbaaacbaaacba cbaaa bbcbaa bcbaaacbacbaaacbaac cacbaaacba babcbcbaaacba \
        bbbcbaabc cbabbbcba cbabbbcbaacba bcbaaacbabc bcbaabcaacbaaacbaacaacbaaacbaaacba \
        acbaaacbabcbaa bcbacbacba aacbaaacbaacaacbaaacbaaacbabcbaaacba acbacbaaacbaacc \
        bbbcbaacbacbabbbcbaacbacba acbacbaaacbaaacbaaacba aacbaaacbaacaacbaaacbaaacbabcbaaacbabc \
        bcbaaacbabcaacbaaacbaacaacbaaacbaaacbabcbaaacbabc acbacbaaacbaacbabcbcbaaacba \
        cbacbaaacbaaacbaac cbabbbcbaacbabcba aacbaaacbacba \
        aacbaaacbaacaacbaaacbaaacbabcbaaacbabcbbbcbaacbacbabbbcbaacbacba acbabc \
        acbacbaaacbaacbacbaaacbaacaacbaaacbaaacba baacbacbaaacba \
        bbcbaabcbaaacbabcaacbaaacbaacaacbaaacbaaacbabcbaaacbabc acaacba aacbaaacbaacbacbaaacbaac \
        aacbaaacbaacbacbaaacbaacc acbaaacbacbcba";
    let stretch = "bcbaaacbabccbaaacbaaabbcbaabcbaaacbabcaacbaaacbaacaacbaaacbaaacbabcbaaacbabcbbcbaabcbaaacbabca\
        acbaaacbaacaacbaaacbaaacbabcbaaacbabcbbcbaabcbaaacbabcaacbaaacbaacaacbaaacbaaacbabcbaaacbabcbb\
        cbaabcbaaacbabcaacbaaacbaacaacbaaacbaaacbabcbaaacbabcbbcbaabcbaaacbabcaacbaaacbaacaacbaaacbaaa\
        cbabcbaaacbabcacbacbaaacbaacbabcbcbaaacbacbaabcbaabcaacbaaacbaacaacbaaacbaaacbabcbaabcaacbaaac\
        baacaacbaaacbaaacbabaacbacbaaacbabaacbacbaaacbabaacbacbaaacbabaacbacbaaacbabaacbacbaaacbacbabb\
        bcbaacbacbabbbcbaacbacbabbbcbaacbacbabbbcbaacbacbabbbcbaacbaaaaaaaaaacbaaacbacbaaacbaaacbacbaa\
        acbaaacbacbaaacbaaacbacbaaacbaaacbacbaacbacbaaacbaacbabcbcbaaacbaacbacbaaacbaacbabcbcbaaacbaaa\
        cbaaacbaacaacbaaacbaaacbabbbcbabbbcbabbbcb";
    let mut products: Vec<String> = tokens.split(' ').map(str::to_owned).collect();
    let others = "xyz"
        .chars()
        .flat_map(|b| "abcxyz".chars().flat_map(move |a| [format!("{a}{b}"), format!("{b}{a}")]));
    for token in others {
        if !products.contains(&token) {
            products.push(token);
        }
    }
    let compiled = compiled(&products);
    let table = &compiled.model.canonical.as_ref().unwrap().table;
    let filler: String = (0..60_000_usize).map(|i| ['x', 'y', 'z'][(i * i / 7 + i / 3) % 3]).collect();
    let (_, of_filler) = by_windows(table, filler.as_bytes(), MAX_WORK);
    let text = format!("{stretch}{filler}");
    let (found, work) = by_windows(table, text.as_bytes(), MAX_WORK);
    assert_eq!(found, by_heap(table, text.as_bytes()));
    assert!(of_filler < 6 * filler.len(), "{of_filler}");
    assert!(work < of_filler + 100 * stretch.len(), "{work} {of_filler}");
}
