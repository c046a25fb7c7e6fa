//! Findings for engines whose weaknesses are known.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, BpeDescription, Description, Merges, ModelDescription, Normalizer, Pattern, Split,
    TokenList, UnicodeTables, WordLevelDescription,
};
use crate::error::Kind;
use crate::watch::{Unwatched, cancelled};

const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

fn described(split: &str) -> Description {
    let mut tokens: Vec<(u32, Vec<u8>)> = (0..=255).map(|byte| (byte, vec![byte as u8])).collect();
    for token in ["ab", "abab", "th", "the", " the", "  "] {
        tokens.push((tokens.len() as u32, token.as_bytes().to_vec()));
    }
    let plain = BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::ById);
    let mut description = Description::of_bpe(&Split::Pattern(split.to_owned()), plain);
    description.added_tokens = vec![AddedToken::special(300, "<|end|>"), AddedToken::special(301, "<|")];
    description
}

fn audit(description: Description, seconds: u64) -> Vec<StageAudit> {
    let options = AuditOptions { time: Duration::from_secs(seconds), ..AuditOptions::default() };
    compile(description).unwrap().audit(options, &Unwatched).unwrap()
}

fn finding(findings: Vec<StageAudit>, stage: &str) -> StageAudit {
    findings.into_iter().find(|finding| finding.stage == stage).unwrap()
}

#[test]
fn every_stage_of_a_plan_is_audited_and_counts_linear_work() {
    let mut description = described(GPT2);
    description.normalizer = vec![Normalizer::Nfc(UnicodeTables::Reference)];
    // How a text that grows is encoded is no stage.
    let mut plan = compile(description.clone()).unwrap().plan();
    assert_eq!(plan.pop().unwrap().stage, "appending");
    let findings = audit(description, 3);
    assert_eq!(findings.len(), plan.len());
    for (finding, step) in findings.iter().zip(plan) {
        assert_eq!((finding.stage, &finding.path), (step.stage, &step.path));
        let worst = finding.worst.as_ref().unwrap();
        assert!(finding.texts > 0 && worst.error.is_none() && !worst.text.is_empty(), "{finding:?}");
        if worst.measure == Some(Measure::Work) {
            assert!(worst.slope.unwrap() < 1.3, "{} {:?} {:?}", finding.stage, worst.kind, worst.slope);
        }
        let logarithmic = matches!(finding.stage, "normalization" | "model");
        let want = if logarithmic { Guarantee::LinearTimesLog } else { Guarantee::Linear };
        assert_eq!(finding.guarantee, want, "{}", finding.stage);
    }
}

#[test]
fn a_search_that_reads_far_beyond_its_match_is_found() {
    let split = finding(audit(described("a*b|a"), 3), "pre-tokenization");
    // The slope is one of time: `bench/limits.py` prints it.
    assert_eq!(split.guarantee, Guarantee::Quadratic);
    assert!(split.texts > 0);
}

#[test]
fn a_text_that_meets_the_limit_on_backtracking_is_the_worst() {
    let split = finding(audit(described(r"(?:a|aa)+(?:$|(b)\1)|."), 3), "pre-tokenization");
    assert_eq!(split.guarantee, Guarantee::Bounded);
    let worst = split.worst.unwrap();
    assert!(worst.error.unwrap().contains("limit on backtracking"));
    assert!(worst.text.starts_with("aaaa") && !worst.text.ends_with('a'));
}

#[test]
fn what_a_text_makes_go_wrong_is_a_finding() {
    let mut description = described(GPT2);
    let tokens = TokenList::from_entries(vec![(0, b"word".to_vec())]);
    description.model =
        ModelDescription::WordLevel(WordLevelDescription { tokens: Arc::new(tokens), unk: None });
    description.normalizer = vec![Normalizer::Replace {
        pattern: Pattern::Regex("a*b|a".to_owned()),
        content: "words".to_owned(),
    }];
    let findings = audit(description, 1);
    assert_eq!(findings[1].guarantee, Guarantee::Quadratic);
    let model = finding(findings, "model");
    let worst = model.worst.unwrap();
    assert!(model.texts > 0 && worst.slope.is_none() && worst.error.is_some());
}

#[test]
fn blanks_beside_added_tokens_are_looked_at_once() {
    let beside = |rstrip: bool| AddedToken { lstrip: !rstrip, rstrip, ..AddedToken::special(300, "\n") };
    for rstrip in [false, true] {
        let mut description = described(GPT2);
        description.added_tokens = vec![beside(rstrip)];
        let added = finding(audit(description, 2), "added tokens");
        let worst = added.worst.unwrap();
        if worst.measure == Some(Measure::Work) {
            assert!(worst.slope.unwrap() < 1.5, "{:?} {:?}", worst.kind, worst.slope);
        }
    }
}

/// Cancels after some polls.
struct Impatient(AtomicUsize);

impl Watch for Impatient {
    fn poll(&self) -> Result<()> {
        if self.0.fetch_add(1, Relaxed) < 100 { Ok(()) } else { Err(cancelled()) }
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

#[test]
fn a_wish_to_stop_is_heard_and_impossible_options_are_errors() {
    let engine = compile(described(GPT2)).unwrap();
    let error = engine.audit(AuditOptions::default(), &Impatient(AtomicUsize::new(0))).unwrap_err();
    assert!(matches!(error.kind, Kind::Cancelled), "{error:?}");
    for max_bytes in [0, 1000, usize::MAX] {
        let options = AuditOptions { max_bytes, ..AuditOptions::default() };
        assert!(matches!(engine.audit(options, &Unwatched).unwrap_err().kind, Kind::Argument(_)));
    }
    let nothing = AuditOptions { time: Duration::ZERO, ..AuditOptions::default() };
    assert!(engine.audit(nothing, &Unwatched).unwrap().iter().all(|finding| finding.texts == 0));
}
