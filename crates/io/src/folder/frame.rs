//! Turns the frame of a class into post-processors, with the ids of its tokens.
use tokenmill_core::description::{PostProcessor, Template, TemplatePiece, TemplateToken};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::classes::Frame;
use super::tokens::Tokens;

/// The input of a frame.
pub(super) struct Place<'a> {
    pub(super) tokens: &'a Tokens,
    /// The id of a literal.
    pub(super) id_of: &'a dyn Fn(&str) -> Option<TokenId>,
    /// The written form of an id.
    pub(super) token_of: &'a dyn Fn(TokenId) -> Option<String>,
    /// Whether the folder asks for bos and for eos.
    pub(super) adds: (bool, bool),
    /// Do the settings say whether it asks?
    pub(super) says_adds: bool,
}

impl Place<'_> {
    fn named(&self, role: &str) -> Result<(String, TokenId)> {
        let literal = self.tokens.literal_of(role).ok_or_else(|| {
            Error::format(Defect::Missing, "is null, and its class puts it around texts").at(role)
        })?;
        self.literal(literal)
    }

    fn literal(&self, literal: &str) -> Result<(String, TokenId)> {
        let unk = || self.tokens.literal_of("unk_token").and_then(self.id_of);
        let id = (self.id_of)(literal).or_else(unk).ok_or_else(|| {
            let reason = format!("{literal:?} is not in the vocabulary, and its class puts it around texts");
            Error::format(Defect::Missing, reason).at("post_processor")
        })?;
        Ok((literal.to_owned(), id))
    }

    /// The token whose id is larger than that of a literal by `further` (`+2`).
    fn at_offset(&self, literal: &str, further: &str) -> Result<(String, TokenId)> {
        let first = self.literal(literal)?.1;
        let further: TokenId = further.parse().unwrap_or_default();
        let id = first.saturating_add(further);
        let token = (self.token_of)(id).ok_or_else(|| {
            let reason = format!(
                "there is no id {id}, {further} after that of {literal:?}, which its class puts around texts"
            );
            Error::format(Defect::Missing, reason).at("post_processor")
        })?;
        Ok((token, id))
    }

    /// The post-processors of a frame; `kept` are those of the file.
    pub(super) fn steps(&self, frame: Frame, kept: Vec<PostProcessor>) -> Result<Vec<PostProcessor>> {
        Ok(match frame {
            Frame::Kept | Frame::UnlessKept(..) if self.says_adds => self.bos_eos()?,
            Frame::Kept => kept,
            Frame::UnlessKept(..) if !kept.is_empty() => kept,
            Frame::UnlessKept(single, pair) | Frame::Template(single, pair) => {
                vec![PostProcessor::Template(self.template(&single, &pair)?)]
            }
            Frame::BosEos => self.bos_eos()?,
            Frame::Roberta { cls, sep, trim_offsets, add_prefix_space } => vec![PostProcessor::Roberta {
                sep: self.named(sep)?,
                cls: self.named(cls)?,
                trim_offsets,
                add_prefix_space,
            }],
            Frame::Bert { cls, sep } => vec![PostProcessor::Bert {
                sep: (self.named("sep_token")?.0, sep),
                cls: (self.named("cls_token")?.0, cls),
            }],
        })
    }

    /// A template with bos and eos, if such tokens exist.
    pub(super) fn bos_eos(&self) -> Result<Vec<PostProcessor>> {
        let (bos, eos) = self.adds;
        let is_there = |role: &str| self.tokens.literal_of(role).is_some();
        let (bos, eos) = (bos && is_there("bos_token"), eos && is_there("eos_token"));
        if !bos && !eos {
            return Ok(Vec::new());
        }
        let around = |sequence: &str, kind: &str| {
            let word =
                |role: &str, is_there: bool| if is_there { format!("{role}{kind} ") } else { String::new() };
            format!("{}{sequence}{kind} {}", word("bos", bos), word("eos", eos))
        };
        let single = around("A", "");
        let pair = format!("{single} {}", around("B", ":1"));
        Ok(vec![PostProcessor::Template(self.template(&single, &pair)?)])
    }

    /// A template from words; [`Frame`] describes their syntax.
    fn template(&self, single: &str, pair: &str) -> Result<Template> {
        let mut special_tokens: Vec<TemplateToken> = Vec::new();
        let mut pieces = |words: &str| {
            words
                .split_whitespace()
                .map(|word| self.piece(word, &mut special_tokens))
                .collect::<Result<Vec<_>>>()
        };
        let (single, pair) = (pieces(single)?, pieces(pair)?);
        TemplateToken::sort_by_name(&mut special_tokens);
        Ok(Template { single, pair, special_tokens })
    }

    fn piece(&self, word: &str, special_tokens: &mut Vec<TemplateToken>) -> Result<TemplatePiece> {
        let (word, type_id) = match word.rsplit_once(':').map(|(word, kind)| (word, kind.parse())) {
            Some((word, Ok(type_id))) => (word, type_id),
            _ => (word, 0),
        };
        if matches!(word, "A" | "B") {
            return Ok(TemplatePiece::Sequence { second: word == "B", type_id });
        }
        let (name, id) = match word.strip_prefix('\'').and_then(|word| word.rsplit_once('\'')) {
            Some((literal, "")) => self.literal(literal)?,
            Some((literal, further)) => self.at_offset(literal, further)?,
            None => self.named(&format!("{word}_token"))?,
        };
        if !special_tokens.iter().any(|token| token.name == name) {
            special_tokens.push(TemplateToken {
                name: name.clone(),
                ids: vec![id],
                tokens: vec![name.clone()],
            });
        }
        Ok(TemplatePiece::Special { name, type_id })
    }
}
