//! Reads and writes the decoders of the file.
use serde_json::{Value, json};
use tokenmill_core::description::{Decoder, Decoding};
use tokenmill_core::error::Result;

use super::fields::{Fields, cannot, unsupported};
use super::kinds::Component;
use super::patterns;

/// Reads the steps in order and flattens nested sequences; without a decoder tokens are joined by spaces.
pub(super) fn read(value: Option<&Value>) -> Result<Decoding> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Decoding::Spaced) };
    let mut steps = Vec::new();
    read_into(value, &mut steps)?;
    Ok(Decoding::Steps(steps))
}

fn read_into(value: &Value, steps: &mut Vec<Decoder>) -> Result<()> {
    let fields = Fields::new(value)?;
    let step = match Component::Decoder.kind_of(&fields)? {
        "Sequence" => {
            for (i, value) in fields.list("decoders")?.iter().enumerate() {
                read_into(value, steps).map_err(|e| e.at_index(i).at("decoders"))?;
            }
            return Ok(());
        }
        "ByteLevel" => Decoder::ByteLevel,
        "WordPiece" => Decoder::WordPiece {
            prefix: fields.string("prefix")?.to_owned(),
            cleanup: fields.bool("cleanup")?,
        },
        "Metaspace" => {
            let (replacement, prepend, split) = patterns::read_metaspace(&fields)?;
            Decoder::Metaspace { replacement, prepend, split }
        }
        "BPEDecoder" => Decoder::Bpe { suffix: fields.string("suffix")?.to_owned() },
        "CTC" => Decoder::Ctc {
            pad: fields.string("pad_token")?.to_owned(),
            delimiter: fields.string("word_delimiter_token")?.to_owned(),
            cleanup: fields.bool("cleanup")?,
        },
        "ByteFallback" => Decoder::ByteFallback,
        "Fuse" => Decoder::Fuse,
        "Strip" => Decoder::Strip {
            content: fields.char("content")?,
            start: fields.size("start")?,
            stop: fields.size("stop")?,
        },
        "Replace" => Decoder::Replace {
            pattern: patterns::read(fields.value("pattern")?).map_err(|e| e.at("pattern"))?,
            content: fields.string("content")?.to_owned(),
        },
        other => return Err(unsupported(format!("the decoder {other:?}")).at("type")),
    };
    steps.push(step);
    Ok(())
}

pub(super) fn write(decoding: &Decoding) -> Result<Value> {
    let steps = match decoding {
        Decoding::Spaced => return Ok(Value::Null),
        // The meaning depends on the model; the writer of the whole file has handled that.
        Decoding::Bytes => return Ok(json!({ "type": "Fuse" })),
        Decoding::Steps(steps) => steps,
    };
    let written = steps.iter().enumerate().map(|(i, step)| write_step(step).map_err(|e| e.at_index(i)));
    let mut written: Vec<Value> = written.collect::<Result<_>>()?;
    Ok(if written.len() == 1 {
        written.remove(0)
    } else {
        json!({ "type": "Sequence", "decoders": written })
    })
}

fn write_step(step: &Decoder) -> Result<Value> {
    Ok(match step {
        Decoder::ByteLevel => json!({
            "type": "ByteLevel",
            "add_prefix_space": false,
            "trim_offsets": false,
            "use_regex": false,
        }),
        Decoder::WordPiece { prefix, cleanup } => {
            json!({ "type": "WordPiece", "prefix": prefix, "cleanup": cleanup })
        }
        Decoder::Metaspace { replacement, prepend, split } => {
            patterns::write_metaspace(*replacement, *prepend, *split)
        }
        Decoder::Bpe { suffix } => json!({ "type": "BPEDecoder", "suffix": suffix }),
        Decoder::Ctc { pad, delimiter, cleanup } => json!({
            "type": "CTC",
            "pad_token": pad,
            "word_delimiter_token": delimiter,
            "cleanup": cleanup,
        }),
        Decoder::ByteFallback => json!({ "type": "ByteFallback" }),
        Decoder::Fuse => json!({ "type": "Fuse" }),
        Decoder::Strip { content, start, stop } => {
            json!({ "type": "Strip", "content": content, "start": start, "stop": stop })
        }
        Decoder::Replace { pattern, content } => {
            let pattern = patterns::write(pattern).map_err(|e| e.at("pattern"))?;
            json!({ "type": "Replace", "pattern": pattern, "content": content })
        }
        Decoder::SentencePiece { .. } | Decoder::Denormalize { .. } => {
            return Err(cannot("decoding as SentencePiece does it; save as a SentencePiece model"));
        }
    })
}
