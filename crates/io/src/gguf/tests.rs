use tokenmill_core::description::{
    Decoding, Description, Merges, ModelDescription, PieceKind, PostProcessor, Split,
};
use tokenmill_core::error::{Kind, Result};

use crate::report::Report;

/// Parses strictly.
fn parse(bytes: &[u8], split: Option<&Split>) -> Result<Description> {
    super::parse(bytes, split, &mut Report::new(true))
}

/// A file under construction.
struct File(Vec<(String, Vec<u8>)>);

fn text(value: &str) -> Vec<u8> {
    [&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat()
}

fn list(kind: u32, count: usize, items: &[u8]) -> Vec<u8> {
    [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &(count as u64).to_le_bytes(), items].concat()
}

fn texts(items: &[&str]) -> Vec<u8> {
    list(8, items.len(), &items.iter().flat_map(|item| text(item)).collect::<Vec<u8>>())
}

fn string(value: &str) -> Vec<u8> {
    [&8_u32.to_le_bytes()[..], &text(value)].concat()
}

fn number(value: u32) -> Vec<u8> {
    [4_u32.to_le_bytes(), value.to_le_bytes()].concat()
}

fn flag(value: bool) -> Vec<u8> {
    [&7_u32.to_le_bytes()[..], &[value.into()]].concat()
}

fn types(items: &[i32]) -> Vec<u8> {
    list(5, items.len(), &items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<u8>>())
}

fn floats(items: &[f32]) -> Vec<u8> {
    list(6, items.len(), &items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<u8>>())
}

impl File {
    fn set(mut self, key: &str, value: Vec<u8>) -> Self {
        let key = format!("tokenizer.ggml.{key}");
        self.0.retain(|(known, _)| *known != key);
        self.0.push((key, value));
        self
    }

    fn without(mut self, key: &str) -> Self {
        self.0.retain(|(known, _)| *known != format!("tokenizer.ggml.{key}"));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = [b"GGUF", &3_u32.to_le_bytes()[..], &7_u64.to_le_bytes()].concat();
        out.extend((self.0.len() as u64).to_le_bytes());
        for (key, value) in &self.0 {
            out.extend(text(key));
            out.extend(value);
        }
        out
    }

    fn fault(&self) -> (String, &'static str) {
        fault(&self.bytes())
    }
}

fn fault(bytes: &[u8]) -> (String, &'static str) {
    let error = parse(bytes, None).unwrap_err();
    let Kind::Format { defect, .. } = &error.kind else { panic!("{error}") };
    (error.field.to_string(), defect.as_str())
}

fn gpt2() -> File {
    File(vec![("general.name".to_owned(), string("Small"))])
        .set("model", string("gpt2"))
        .set("pre", string("gpt-2"))
        .set("tokens", texts(&["a", "b", "ab", "Ġ", "<|endoftext|>", "<user>"]))
        .set("token_type", types(&[1, 1, 1, 1, 3, 4]))
        .set("merges", texts(&["a b"]))
        .set("bos_token_id", number(4))
}

fn llama() -> File {
    File(Vec::new())
        .set("model", string("llama"))
        .set("tokens", texts(&["<unk>", "<s>", "</s>", "<0x41>", "▁a"]))
        .set("scores", floats(&[0.0, 0.0, 0.0, 0.0, -1.5]))
        .set("token_type", types(&[2, 3, 3, 6, 1]))
        .set("bos_token_id", number(1))
        .set("eos_token_id", number(2))
}

#[test]
fn byte_level_files_are_read() {
    let description = parse(&gpt2().bytes(), None).unwrap();
    let model = description.model.as_bpe().unwrap();
    assert!(matches!(&model.merges, Merges::Listed(merges) if merges.len() == 1));
    assert_eq!(model.tokens.bytes(3), b" ");
    assert_eq!(model.tokens.len(), 4);
    let added: Vec<_> = description.added_tokens.iter().map(|t| (t.content.as_str(), t.is_special)).collect();
    assert_eq!(added, [("<|endoftext|>", true), ("<user>", false)]);
    assert!(description.post_processor.is_empty());
    let with_bos = parse(&gpt2().set("add_bos_token", flag(true)).bytes(), None).unwrap();
    assert!(matches!(with_bos.post_processor.as_slice(), [PostProcessor::Template(_)]));
}

#[test]
fn a_split_of_the_caller_is_for_files_without_one() {
    let split = Split::Pattern(r"\s|\S+".to_owned());
    assert!(parse(&gpt2().without("pre").bytes(), Some(&split)).is_ok());
    assert!(parse(&gpt2().bytes(), Some(&split)).is_err());
    assert_eq!(gpt2().without("pre").fault(), ("tokenizer.ggml.pre".to_owned(), "unknown"));
}

#[test]
fn of_a_merge_that_is_listed_twice_the_first_place_counts() {
    let file = gpt2().set("merges", texts(&["a b", "a b"]));
    let mut report = Report::new(false);
    let description = super::parse(&file.bytes(), None, &mut report).unwrap();
    assert_eq!(description, parse(&gpt2().bytes(), None).unwrap());
    assert_eq!(report.tolerated()[0].field, "tokenizer.ggml.merges[1]");
    assert_eq!(file.fault(), ("tokenizer.ggml.merges[1]".to_owned(), "duplicate"));
}

#[test]
fn pieces_by_score_are_read() {
    let description = parse(&llama().bytes(), None).unwrap();
    let model = description.model.as_bpe().unwrap();
    let Merges::ByScore { scores, kinds } = &model.merges else { panic!() };
    assert_eq!(scores[4].to_bits(), (-1.5_f32).to_bits());
    assert_eq!(kinds[3], PieceKind::Byte);
    assert!(model.byte_fallback);
    assert_eq!((model.unk, description.roles.bos, description.roles.eos), (Some(0), Some(1), Some(2)));
    assert!(matches!(&description.decoding, Decoding::Steps(steps) if steps.len() == 4));
}

#[test]
fn word_pieces_are_written_as_bert_has_them() {
    let file = File(Vec::new())
        .set("model", string("bert"))
        .set("tokens", texts(&["[UNK]", "[CLS]", "[SEP]", "▁a", "b", "[unused0]"]))
        .set("token_type", types(&[3, 3, 3, 1, 1, 1]))
        .set("unknown_token_id", number(0))
        .set("cls_token_id", number(1))
        .set("seperator_token_id", number(2));
    let description = parse(&file.bytes(), None).unwrap();
    let ModelDescription::WordPiece(model) = &description.model else { panic!() };
    let written: Vec<&[u8]> = model.tokens.iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(written, [&b"a"[..], b"##b", b"[unused0]"]);
    assert_eq!(description.post_processor.len(), 1);
}

#[test]
fn the_container_is_checked_before_anything_is_taken() {
    let whole = gpt2().bytes();
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        fault(&file)
    };
    let place = |field: &str, kind| (field.to_owned(), kind);
    assert_eq!(changed(0, b"GGUX"), place("", "wrong-kind"));
    assert_eq!(changed(4, &[0]), place("version", "version"));
    assert_eq!(changed(4, &[1]), place("version", "version"));
    assert_eq!(changed(4, &[99]), place("version", "version"));
    assert_eq!(changed(4, &[0, 0, 0, 3]), place("version", "unsupported"));
    assert_eq!(changed(16, &(1_u64 << 63).to_le_bytes()), place("kv_count", "limit"));
    assert_eq!(changed(24, &u64::MAX.to_le_bytes()), place("", "truncated"));
    for end in 0..whole.len() {
        assert_eq!(fault(&whole[..end]).1, "truncated", "{end}");
    }
    let damaged = [&whole[..], &[0xff; 100]].concat();
    assert!(parse(&damaged, None).is_ok());
    let tokens = "tokenizer.ggml.tokens";
    let huge = |kind: u32, count: u64| {
        let value = [&9_u32.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes()].concat();
        gpt2().set("tokens", value).fault()
    };
    assert_eq!(huge(8, u64::MAX), place(tokens, "truncated"));
    assert_eq!(huge(10, 1 << 61), place(tokens, "truncated"));
    assert_eq!(huge(99, 1), place(tokens, "type"));
    let nested: Vec<u8> = [&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat().repeat(100);
    let value = [&9_u32.to_le_bytes()[..], &nested].concat();
    assert_eq!(gpt2().set("tokens", value).fault(), place(tokens, "limit"));
    let twice = File([gpt2().0, vec![("tokenizer.ggml.pre".to_owned(), string("gpt-2"))]].concat());
    assert_eq!(twice.fault(), place("tokenizer.ggml.pre", "duplicate"));
}

#[test]
fn faults_have_a_place_and_a_kind() {
    let case = |file: File, field: &str, kind: &str| {
        let (found_field, found_kind) = file.fault();
        assert_eq!((found_field.as_str(), found_kind), (&*format!("tokenizer.ggml.{field}"), kind));
    };
    case(gpt2().without("model"), "model", "missing");
    case(gpt2().set("model", string("rwkv")), "model", "unsupported");
    case(gpt2().set("pre", string("of tomorrow")), "pre", "unsupported");
    case(gpt2().set("tokens", types(&[1])), "tokens", "type");
    case(gpt2().set("tokens", texts(&[])), "tokens", "empty");
    case(gpt2().without("tokens"), "tokens", "missing");
    case(gpt2().set("token_type", list(0, 6, &[1; 6])), "token_type", "type");
    case(gpt2().set("token_type", types(&[1])), "token_type", "inconsistent");
    case(llama().set("scores", floats(&[0.0])), "scores", "inconsistent");
    case(llama().set("scores", floats(&[0.0, 0.0, f32::NAN, 0.0, 0.0])), "scores[2]", "range");
    case(gpt2().without("merges"), "merges", "missing");
    case(gpt2().set("merges", texts(&["a b", "ab"])), "merges[1]", "merge");
    case(gpt2().set("merges", texts(&["a x"])), "merges[0]", "merge");
    case(gpt2().set("merges", texts(&["b a"])), "merges[0]", "merge");
    case(gpt2().set("bos_token_id", number(6)), "bos_token_id", "range");
    case(gpt2().set("bos_token_id", string("4")), "bos_token_id", "type");
    case(gpt2().set("add_bos_token", number(1)), "add_bos_token", "type");
    case(llama().set("tokens", texts(&["<unk>", "<s>", "</s>", "<0x-1>", "a"])), "tokens[3]", "type");
    case(llama().set("tokens", texts(&["<unk>", "<s>", "</s>", "<0x41>", "<s>"])), "tokens[4]", "duplicate");
    let invalid = list(8, 1, &[&1_u64.to_le_bytes()[..], &[0xff]].concat());
    case(gpt2().set("tokens", invalid), "tokens[0]", "encoding");
    case(gpt2().set("tokens", texts(&[&"a".repeat(70 << 10)])), "tokens[0]", "limit");
}

#[test]
fn an_id_that_stands_for_none_is_none() {
    let description = parse(&gpt2().set("bos_token_id", number(u32::MAX)).bytes(), None).unwrap();
    assert_eq!(description.roles.bos, None);
    let negative = [&5_u32.to_le_bytes()[..], &(-1_i32).to_le_bytes()].concat();
    assert_eq!(parse(&gpt2().set("bos_token_id", negative).bytes(), None).unwrap().roles.bos, None);
}

#[test]
fn an_empty_token_is_called_by_its_number() {
    let file = gpt2().set("tokens", texts(&["a", "b", "ab", "", "<|endoftext|>", "<user>"]));
    let description = parse(&file.bytes(), None).unwrap();
    assert_eq!(description.model.tokens().bytes(3), b"[EMPTY_3]");
}

/// The templates, and the fields of tolerated defects.
fn chat(keys: &[(&str, Vec<u8>)]) -> (Vec<(String, String)>, Vec<String>) {
    let mut file = gpt2();
    file.0.extend(keys.iter().map(|(key, value)| (format!("tokenizer.{key}"), value.clone())));
    let mut report = Report::new(false);
    let description = super::parse(&file.bytes(), None, &mut report).unwrap();
    let templates = description.chat_templates.iter();
    let templates = templates.map(|(name, source)| (name.to_owned(), source.to_owned())).collect();
    (templates, report.tolerated().iter().map(|finding| finding.field.clone()).collect())
}

#[test]
fn chat_templates_are_read_in_the_order_of_their_list() {
    let pair = |name: &str, source: &str| (name.to_owned(), source.to_owned());
    assert_eq!(chat(&[]), (vec![], vec![]));
    let keys = [
        ("chat_template.b", string("2")),
        ("chat_template.a", string("3")),
        ("chat_template", string("1\r\n")),
        ("chat_template.z", string("4")),
        ("chat_templates", texts(&["z", "b"])),
    ];
    let read = vec![pair("default", "1\r\n"), pair("z", "4"), pair("b", "2"), pair("a", "3")];
    assert_eq!(chat(&keys), (read, vec![]));
}

#[test]
fn bad_chat_templates_are_tolerated_with_their_key_and_a_long_one_is_not() {
    let is_bad = |key: &str, value: Vec<u8>| {
        let (templates, tolerated) = chat(&[(key, value)]);
        assert_eq!((templates, tolerated), (vec![], vec![format!("tokenizer.{key}")]));
    };
    is_bad("chat_template", number(5));
    is_bad("chat_template.a", texts(&["a"]));
    is_bad("chat_template", [&8_u32.to_le_bytes()[..], &1_u64.to_le_bytes(), b"\xff"].concat());
    is_bad("chat_templates", number(5));
    is_bad("chat_templates", texts(&["a"]));
    let mut file = gpt2();
    file.0.push(("tokenizer.chat_template".to_owned(), string(&"a".repeat((1 << 20) + 1))));
    assert_eq!(file.fault(), ("tokenizer.chat_template".to_owned(), "limit"));
}
