use super::*;
use proptest::prelude::*;
use serde_json::Value;
use tokenmill_core::watch::Unwatched;

fn text(line: &[u8], field: &str) -> Result<Option<String>> {
    let found = find(line, &JsonField::new(field).unwrap(), &mut Ticker::new(&Unwatched))?;
    Ok(match found {
        Found::Text(string) => Some(string.text()),
        _ => None,
    })
}

fn error(line: &str, field: &str) -> String {
    text(line.as_bytes(), field).unwrap_err().to_string()
}

#[test]
fn a_field_is_found_wherever_it_stands() {
    let cases = [
        (r#"{"text":"a"}"#, "text", Some("a")),
        (" { \"id\" : [1, {\"text\": \"no\"}, []], \"text\" :\t\"a\" , \"x\": {} } \r", "text", Some("a")),
        (r#"{"text":"first","text":"last"}"#, "text", Some("last")),
        (r#"{"text":1,"text":"last"}"#, "text", Some("last")),
        (r#"{"t\u0065xt":"a"}"#, "text", Some("a")),
        (r#"{"meta":{"body":{"de":"ä"}},"body":"no"}"#, "meta.body.de", Some("ä")),
        (r#"{"meta":{"body":"first"},"meta":{"body":"last"}}"#, "meta.body", Some("last")),
        (r#"{"text":"\"\\\/\b\f\n\r\t\u00e9\ud83e\udd8a"}"#, "text", Some("\"\\/\u{8}\u{c}\n\r\té🦊")),
        (r#"{"text":null}"#, "text", None),
        (r#"{"meta":null}"#, "meta.body", None),
        (r#"{"n":[-0,-1.5e+3,2E-2,NaN,Infinity,-Infinity,true,false],"text":"a"}"#, "text", Some("a")),
        (" \t\r", "text", None),
        ("", "text", None),
        (r#"{"":"a","é":"b"}"#, "é", Some("b")),
    ];
    for (line, field, expected) in cases {
        assert_eq!(text(line.as_bytes(), field).unwrap().as_deref(), expected, "{line}");
    }
}

#[test]
fn what_is_there_in_its_place_is_said() {
    let cases = [
        (
            r#"{"id":1,"bo\u0064y":"a"}"#,
            "text",
            r#"has no field "text": it has "id", "body"; name another one with field="#,
        ),
        ("{}", "text", r#"has no field "text": it is empty; name"#),
        (r#"{"a":{"x":{"k":1},"y":2}}"#, "a.x.b", r#"has no field "a.x.b": "a.x" has "k"; name"#),
        (r#"{"a":{"b":"c"},"a":{"d":1}}"#, "a.b", r#"has no field "a.b": "a" has "d"; name"#),
        (r#"{"text":17}"#, "text", r#"field "text" is a number, not a string; name"#),
        (r#"{"text":{"a":"b"}}"#, "text", r#"field "text" is an object, not a string"#),
        (r#"{"a":[]}"#, "a.b", r#"field "a" is an array, not an object with "b""#),
        (r#"["a"]"#, "text", r#"is an array, where a line of JSONL is an object with the key "text""#),
        (r#""a""#, "text", "is a string, where"),
    ];
    for (line, field, said) in cases {
        let found = error(line, field);
        assert!(found.starts_with(said), "{found}");
    }
    let many: Vec<String> = (0..30).map(|n| format!("\"{n:050}\":0")).collect();
    let found = error(&format!("{{{}}}", many.join(",")), "text");
    assert!(found.contains(&format!("\"{:040}\", ...;", 0)) && found.len() < 1200, "{found}");
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    let cases = [
        ("{", 1),
        (r#"{"text""#, 7),
        (r#"{"text":"#, 8),
        (r#"{"text":"a"#, 10),
        (r#"{"text":"a""#, 11),
        (r#"{"text":"a",}"#, 12),
        (r#"{"text":"a"} x"#, 13),
        (r#"{"text":"\x"}"#, 9),
        (r#"{"text":"\u12g4"}"#, 9),
        ("{\"text\":\"a\tb\"}", 10),
        (r#"{"a":01,"text":"a"}"#, 6),
        (r#"{"a":1.,"text":"a"}"#, 7),
        (r#"{"a":-,"text":"a"}"#, 6),
        (r#"{"a":nul,"text":"a"}"#, 5),
        (r#"{"a":[1,],"text":"a"}"#, 8),
        (r#"{"a":[1},"text":"a"}"#, 7),
        (r#"{'text':"a"}"#, 1),
    ];
    for (line, place) in cases {
        let error = text(line.as_bytes(), "text").unwrap_err();
        assert!(
            matches!(error.kind, Kind::Training { byte: Some(byte), .. } if byte == place),
            "{line}: {error}"
        );
        assert!(error.to_string().contains("is no JSON"), "{error}");
    }
}

#[test]
fn depth_and_length_are_bounded_by_memory_alone() {
    let deep = format!("{{\"a\":{}{},\"text\":\"b\"}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_eq!(text(deep.as_bytes(), "text").unwrap().as_deref(), Some("b"));
    let long = "x".repeat(3 * PART + 5);
    let line = format!("{{\"a\":\"{long}\\n\",\"text\":\"{long}\"}}");
    assert!(text(line.as_bytes(), "text").unwrap() == Some(long));
}

#[test]
fn fields_have_keys() {
    for name in ["", ".", "a.", ".a", "a..b"] {
        assert!(JsonField::new(name).unwrap_err().to_string().contains("empty key"));
    }
    assert!(JsonField::new(&["a"; MOST_KEYS + 1].join(".")).is_err());
    assert!(JsonField::new(&["a"; MOST_KEYS].join(".")).is_ok());
}

#[test]
fn escapes_are_read() {
    assert_eq!(Escape::read(b"\\ud83e\\udd8a"), (Escape::Char('🦊'), 12));
    assert_eq!(Escape::read(b"\\ud83e\\u0041"), (Escape::LoneSurrogate(0xd83e), 6));
    assert_eq!(Escape::read(b"\\udd8a\\ud83e"), (Escape::LoneSurrogate(0xdd8a), 6));
    assert_eq!(Escape::read(b"\\ud83e\\n"), (Escape::LoneSurrogate(0xd83e), 6));
}

fn json() -> impl Strategy<Value = String> {
    let string = prop::collection::vec(
        prop::sample::select(vec!["a", "text", "\\n", "\\\"", "\\u00e9", "é", "\\\\", " ", "0123456789"]),
        0..4,
    )
    .prop_map(|parts| format!("\"{}\"", parts.concat()));
    let key = prop_oneof![Just("\"text\"".to_owned()), Just("\"a\"".to_owned()), string.clone()];
    let leaf = prop_oneof![
        string,
        prop::sample::select(vec!["0", "-1.5", "1e9", "true", "false", "null"]).prop_map(str::to_owned),
    ];
    let value = leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|pairs| {
                let pairs: Vec<String> =
                    pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    });
    prop::collection::vec(value, 1..3).prop_map(|values| {
        let pairs: Vec<String> = values.iter().map(|value| format!("\"text\" : {value}")).collect();
        format!("{{\"a\": {}, {}}}", values[0], pairs.join(","))
    })
}

proptest! {
    #[test]
    fn lines_are_read_as_a_tree_would_be(line in json(), change in any::<Option<(prop::sample::Index, u8)>>()) {
        let mut line = line.into_bytes();
        if let Some((index, byte)) = change {
            let at = index.index(line.len());
            line[at] = b"\"\\{}[]:, 0eta-"[byte as usize % 14];
        }
        // Strings need not be UTF-8 here, those of a tree do.
        prop_assume!(std::str::from_utf8(&line).is_ok());
        for field in ["text", "text.a", "a"] {
            let tree = serde_json::from_slice::<Value>(&line);
            let found = text(&line, field);
            match &tree {
                Err(_) => prop_assert!(found.unwrap_err().to_string().contains("JSON")),
                Ok(tree) => {
                    let value = field.split('.').try_fold(tree, |value, key| value.get(key));
                    match value {
                        Some(Value::String(expected)) => prop_assert_eq!(found.unwrap(), Some(expected.clone())),
                        Some(Value::Null) => prop_assert_eq!(found.unwrap(), None),
                        _ if field == "text.a" && tree["text"].is_null() && tree.get("text").is_some() => {
                            prop_assert_eq!(found.unwrap(), None);
                        }
                        _ => prop_assert!(found.unwrap_err().to_string().contains("field")),
                    }
                }
            }
        }
    }

    #[test]
    fn plain_bytes_are_counted(bytes in prop::collection::vec(
        prop_oneof![Just(b'"'), Just(b'\\'), any::<u8>(), b'a'..=b'z', b'a'..=b'z', 0x80u8..], 0..40,
    )) {
        let expected = bytes.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
        prop_assert_eq!(plain_length(&bytes), expected.unwrap_or(bytes.len()));
    }
}
