//! What holds for every tokenizer and every text or ids, whatever they are.
use std::sync::Arc;

use tokenmill_core::description::{Alphabet, Decoding};
use tokenmill_core::engine::explain::ExplainedSegment;
use tokenmill_core::engine::{
    DecodeOptions, DecodeStream, Encoding, Engine, Source, Special, Text, Undefined, UntrustedRanges,
    char_offsets,
};
use tokenmill_core::error::{Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::Splitter;
use tokenmill_core::span::Span;

use crate::patience::{Patience, checked};

/// The same kind of error, whatever it says.
fn is_alike<A, B>(a: &Result<A>, b: &Result<B>) -> bool {
    match (a, b) {
        (Ok(_), Ok(_)) => true,
        (Err(a), Err(b)) => std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind),
        _ => false,
    }
}

/// Encoding a text, in every way there is.
///
/// # Panics
/// Where two ways differ, or a law is broken.
pub fn encode(engine: &Engine, text: &str) {
    for special in [Special::Text, Special::Parse, Special::Raise] {
        let patience = Patience::default();
        let mut ids = Vec::new();
        let encoded = engine.encode(Text::Str(text), &special, 1, &patience, &mut ids);
        let mut again = Vec::new();
        let encoded_again = engine.encode(Text::Str(text), &special, 1, &Patience::default(), &mut again);
        let counted = engine.count(Text::Str(text), &special, 1, &Patience::default());
        let bytes = Text::Bytes(text.as_bytes());
        let mut of_bytes = Vec::new();
        let encoded_bytes = engine.encode(bytes, &special, 1, &Patience::default(), &mut of_bytes);
        let recognizer = engine.recognizer(&special).expect("a policy that names no tokens");
        let spans = engine.encode_with_offsets(Text::Str(text), &recognizer, UntrustedRanges::none(), &Patience::default());
        let explained = engine.explain(Text::Str(text), &special, &Patience::default());
        let rows = [Text::Str(text), bytes].map(|text| Some(Source::Text(text)));
        let batch = engine.encode_batch(&rows, &special, true, 1, &Patience::default());
        assert!(is_alike(&encoded, &encoded_again), "encoding twice: {encoded:?} {encoded_again:?}");
        assert!(is_alike(&encoded, &counted), "count: {encoded:?} {counted:?}");
        assert!(is_alike(&encoded, &encoded_bytes), "bytes: {encoded:?} {encoded_bytes:?}");
        assert!(is_alike(&encoded, &spans), "offsets: {encoded:?} {spans:?}");
        assert!(is_alike(&encoded, &explained), "explain: {encoded:?} {explained:?}");
        assert!(is_alike(&encoded, &batch), "batch: {encoded:?} {batch:?}");
        let Some(()) = checked("encode", encoded) else { continue };
        assert_eq!(ids, again, "encoding twice");
        assert_eq!(counted.ok(), Some(ids.len()), "count");
        assert_eq!(ids, of_bytes, "bytes");
        let surrounded = checked("batch", batch).map(|(rows, ends)| {
            let middle = rows.len() / 2;
            assert_eq!(ends, [0, middle as i64, rows.len() as i64], "rows of a batch");
            assert_eq!(rows[..middle], rows[middle..], "equal rows of a batch");
            middle
        });
        assert_eq!(
            surrounded,
            Some(engine.count_with_special_tokens(ids.len(), true)),
            "count with what is around"
        );
        let spans = checked("offsets", spans).unwrap_or_default();
        assert_eq!(spans.ids, ids, "ids with offsets");
        offsets(engine, text, &spans);
        let explained = checked("explain", explained).unwrap_or_default();
        assert_eq!(ids_of(&explained), ids, "ids explained");
        if special != Special::Parse {
            nothing_forged(engine, &ids);
        }
        round_trip(engine, text, &ids);
    }
}

fn ids_of(segments: &[ExplainedSegment]) -> Vec<TokenId> {
    let of = |segment: &ExplainedSegment| match segment {
        ExplainedSegment::Added(token) => vec![token.id],
        ExplainedSegment::Ordinary(text) => {
            text.pretokens.iter().flat_map(|pretoken| &pretoken.tokens).map(|token| token.id).collect()
        }
    };
    segments.iter().flat_map(of).collect()
}

fn offsets(engine: &Engine, text: &str, encoding: &Encoding) {
    let spans = &encoding.byte_offsets;
    assert_eq!(spans.len(), encoding.ids.len());
    assert!(spans.iter().all(|span| span.start <= span.end && span.end <= text.len()), "outside: {spans:?}");
    let by_start = spans.windows(2).all(|pair| pair[0].start <= pair[1].start);
    assert!(by_start, "offsets go back: {spans:?} of {text:?}");
    if is_plain(engine) {
        // Ids that share a character of a vocabulary over characters share its span.
        let mut done = 0;
        for span in spans {
            assert!(span.start <= done && span.end >= done, "offsets do not tile {text:?}: {spans:?}");
            done = span.end;
        }
        assert!(done == text.len(), "offsets do not cover {text:?}: {spans:?}");
    }
    let characters = text.chars().count();
    let offsets = checked("character offsets", char_offsets(Text::Str(text), spans, &Patience::default()));
    let offsets = offsets.unwrap_or_default();
    assert_eq!(offsets.len(), spans.len());
    assert!(offsets.iter().all(|&(start, end)| start <= end && end <= characters), "characters: {offsets:?}");
}

/// Nothing is done to the text but cutting it, and every byte has a token and every token an id of its own.
fn is_plain(engine: &Engine) -> bool {
    let description = engine.description();
    description.split().is_some()
        && engine.is_byte_complete()
        && engine.vocabulary().tokens().first_shared_id().is_none()
        && description.model.alphabet() == Some(&Alphabet::Bytes)
        && !engine.post_processors().trims_offsets()
        && description.added_tokens.iter().all(|token| !token.lstrip && !token.rstrip)
}

fn nothing_forged(engine: &Engine, ids: &[TokenId]) {
    let unk = engine.description().model.unk();
    for &id in ids {
        let is_special = engine.vocabulary().added_by_id(id).is_some_and(|token| token.is_special);
        assert!(!is_special || Some(id) == unk, "id {id} of a special token came from plain text");
    }
}

fn round_trip(engine: &Engine, text: &str, ids: &[TokenId]) {
    let description = engine.description();
    if is_plain(engine) && description.decoding == Decoding::Bytes && !description.defaults.clean_up_spaces {
        let decoded = engine.decode(ids, DecodeOptions::default(), &Patience::default());
        assert_eq!(checked("decode", decoded), Some(text.as_bytes().to_vec()), "round trip");
    }
}

/// Decoding ids that need not exist, in every way there is.
///
/// # Panics
/// Where two ways differ, or a law is broken.
pub fn decode(engine: &Engine, ids: &[TokenId], options: DecodeOptions) {
    let decoded = engine.decode(ids, options, &Patience::default());
    let again = engine.decode(ids, options, &Patience::default());
    assert!(is_alike(&decoded, &again), "decoding twice: {decoded:?} {again:?}");
    let undefined = ids.iter().position(|&id| !engine.vocabulary().contains(id));
    if options.undefined == Undefined::Error {
        let named = match &decoded {
            Err(error) => match error.kind {
                Kind::Vocabulary { position, .. } => position,
                _ => undefined,
            },
            Ok(_) => None,
        };
        assert_eq!(named, undefined, "the first id that does not exist");
    }
    let (Some(decoded), Some(again)) = (checked("decode", decoded), checked("decode", again)) else { return };
    assert_eq!(decoded, again, "decoding twice");
    let description = engine.description();
    if description.decoding == Decoding::Bytes && !description.defaults.clean_up_spaces {
        // Each id stands for its own bytes.
        let alone = |&id: &TokenId| engine.decode(&[id], options, &Patience::default()).unwrap_or_default();
        assert_eq!(ids.iter().flat_map(alone).collect::<Vec<u8>>(), decoded, "one id at a time");
    } else {
        assert!(std::str::from_utf8(&decoded).is_ok(), "steps make text");
    }
}

/// Decoding id by id, with pieces of these lengths, against decoding at once.
///
/// # Panics
/// Where they differ, or a piece ends inside a character.
pub fn stream(engine: &Arc<Engine>, ids: &[TokenId], lengths: &[usize], options: DecodeOptions) {
    let whole = engine.decode(ids, options, &Patience::default());
    let mut stream = DecodeStream::new(engine.clone(), options);
    let is_text = whole.as_ref().is_ok_and(|whole| std::str::from_utf8(whole).is_ok());
    // The second time the stream was used before.
    for _ in 0..2 {
        let mut joined = Vec::new();
        let mut failed = false;
        let mut rest = ids;
        let mut lengths = lengths.iter().copied().chain(std::iter::repeat(1));
        while !rest.is_empty() {
            let (now, later) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
            rest = later;
            let mut piece = Vec::new();
            let taken = match now {
                [id] => stream.step(*id, &mut piece, &Patience::default()),
                _ => stream.extend(now, &mut piece, &Patience::default()),
            };
            if checked("a step of a stream", taken).is_none() {
                failed = true;
                break;
            }
            assert!(!is_text || std::str::from_utf8(&piece).is_ok(), "a piece ends inside a character");
            joined.extend(piece);
        }
        if failed {
            assert!(whole.is_err(), "a stream fails where decoding does not");
            stream.reset();
            continue;
        }
        let mut piece = Vec::new();
        let finished = checked("the end of a stream", stream.finish(&mut piece, &Patience::default()));
        assert!(!is_text || std::str::from_utf8(&piece).is_ok(), "the last piece begins inside a character");
        joined.extend(piece);
        if let Ok(whole) = &whole {
            assert!(finished.is_some(), "a stream fails where decoding does not");
            assert_eq!(&joined, whole, "joined pieces");
        } else {
            assert!(finished.is_none(), "decoding fails where a stream does not");
        }
    }
}

/// Splitting a text: the pretokens tile it, and parting it at a safe cut changes none.
///
/// # Panics
/// Where they do not, or it does.
pub fn split(splitter: &Splitter, text: &str) -> Option<Vec<Span>> {
    let split = |text: &str| {
        let mut spans = Vec::new();
        let done = splitter.for_each(text, |span| {
            spans.push(span);
            Ok(())
        });
        checked("split", done).map(|()| spans)
    };
    let spans = split(text)?;
    let mut done = 0;
    for span in &spans {
        assert!(span.start == done && span.end > done, "pretokens do not tile: {spans:?}");
        assert!(text.is_char_boundary(span.end), "a pretoken ends inside a character: {spans:?}");
        done = span.end;
    }
    assert_eq!(done, text.len(), "pretokens do not cover the text: {spans:?}");
    for from in [1, text.len() / 2] {
        let Some(cut) = splitter.safe_cut(text, from) else { continue };
        assert!(cut >= from && cut < text.len(), "a cut at {cut} from {from} on");
        let mut parts = split(&text[..cut])?;
        let rest = split(&text[cut..])?;
        parts.extend(rest.iter().map(|span| Span::new(span.start + cut, span.end + cut)));
        assert_eq!(parts, spans, "parted at {cut}");
    }
    Some(spans)
}
