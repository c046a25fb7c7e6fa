//! The compiled tokenizer: immutable tables, and the only module that knows the order of the stages.
//!
//! In: text, or ids. Out: ids, or text. An [`Engine`] may be shared between threads and forked. What changes while
//! it runs is a worker (`worker`), which one call holds alone.
//!
//! Where to look: `encode` is where a call begins, `pipeline` has the order of the stages, `lookup` the cache of
//! pretokens, `sink` where ids go; `blocks` and `batch` share work, `worker` keeps scratch between calls.
mod arranged;
pub mod audit;
mod batch;
mod blocks;
mod cuts;
mod decode;
mod derive;
mod dropout;
mod encode;
pub mod explain;
mod forging;
mod found;
mod input;
mod lookup;
mod offsets;
mod paths;
mod pipeline;
mod plan;
mod raw;
mod reach;
mod recognizer;
mod sink;
mod source;
mod stream;
mod summed;
mod untrusted;
mod worker;

use std::sync::Arc;

pub use crate::decoded::DecodedSize;
pub use crate::model::bpe::Unbuilt;
pub use arranged::{Arranged, Sequence};
pub use batch::DecodedRows;
pub use decode::{DecodeOptions, Undefined};
pub use dropout::Dropout;
pub use input::{Special, Text};
use offsets::LengthTables;
pub use offsets::{CharactersOfRow, Encoding, FlatEncodings, byte_spans, char_offsets, to_characters};
pub use paths::Draw;
pub use plan::Step;
pub(crate) use raw::Raw;
use raw::{Pieces, RawPart, Words};
pub(crate) use recognizer::AddedSet;
pub use recognizer::Recognizer;
pub(crate) use sink::{Counter, IdSink, PretokenSink, SinkResult, Spelling};
pub use source::{CodeUnits, Source};
pub use stream::DecodeStream;
pub use untrusted::{UntrustedOfRow, UntrustedRanges};

use crate::decode::Chain;
use crate::description::{BpeDescription, Description, MergeList, Merges, Pattern, PreTokenizer};
use crate::error::{Defect, Error, Result};
use crate::hooks::Hooks;
use crate::model::Model;
use crate::normalize::Normalizers;
use crate::pattern::{Splitter, from_portable, portable};
use crate::postprocess::PostProcessors;
use crate::pretokenize::PreTokenizers;
use crate::special::LiteralMatcher;
use crate::vocabulary::Vocabulary;
pub(crate) use cuts::{Cut, Cuts};
use cuts::{Pairs, TextCuts};
use lookup::{DEFAULT_CACHE_BYTES, Speller, StaticTable};
use tokenmill_kernels::MadeOnce;
use tokenmill_kernels::image::{ImageReader, ImageWriter, InImage};
use worker::Workers;

/// A tokenizer, ready to run.
#[derive(Debug)]
pub struct Engine {
    description: Description,
    hooks: Hooks,
    stages: Arc<Stages>,
    static_table: Arc<StaticTable>,
    workers: Arc<Workers>,
    /// The size of the image that the tables are parts of; 0 if there is none.
    image_bytes: usize,
    /// A vocabulary whose added tokens are all special, and a model made with it. It spells untrusted text where
    /// the other model gives a protected token. Made when first needed.
    unforgeable: Arc<MadeOnce<(Vocabulary, Model)>>,
    /// Made when a text is first cut.
    text_cuts: Arc<MadeOnce<TextCuts>>,
    /// As `text_cuts`.
    pairs: Arc<MadeOnce<Pairs>>,
    /// Made when offsets are first asked for.
    token_lengths: Arc<MadeOnce<LengthTables>>,
}

/// Heap bytes of an engine by purpose, and the counters of its caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Ids and bytes, both ways.
    pub vocabulary: usize,
    /// The tables of the model, and of the segments of a text.
    pub model: usize,
    /// The static table of tokens that a pretoken may become at once.
    pub static_table: usize,
    /// The bytes of the image that holds the tables, if they are mapped: memory that processes share, and that is not
    /// on the heap.
    pub image: usize,
    /// The sources of the chat templates.
    pub chat_templates: usize,
    /// The pretoken caches of all workers.
    pub caches: usize,
    /// The bytes that the caches may take at most.
    pub cache_bytes: usize,
    /// How often a pretoken was looked up, in calls that have ended.
    pub lookups: u64,
    /// How often the cache missed, and the model was asked.
    pub misses: u64,
}

/// The compiled stages. The first ones are in the order in which a text meets them.
#[derive(Debug)]
pub(crate) struct Stages {
    /// Added tokens that are matched in the caller's text.
    pub(crate) added_in_raw: AddedSet,
    pub(crate) normalizers: Normalizers,
    /// Added tokens that are matched in normalized text.
    pub(crate) added_in_normalized: AddedSet,
    /// The splitter, if pre-tokenization does nothing but split; else its steps.
    pub(crate) splitter: Option<Splitter>,
    pub(crate) pre_tokenizers: PreTokenizers,
    /// The parts of a text that are looked up before it is normalized.
    pub(crate) raw: Option<Raw>,
    /// Can no text make a stage fail? Then only cancellation and lack of memory can.
    pub(crate) spells_everything: bool,
    pub(crate) model: Model,
    pub(crate) post_processors: PostProcessors,
    /// How tokens become text; `None` where each id stands for its own bytes.
    pub(crate) chain: Option<Chain>,
    /// The literals of special tokens, for calls that refuse them in a text.
    pub(crate) special: LiteralMatcher,
    pub(crate) vocabulary: Vocabulary,
}

impl Engine {
    pub(crate) fn new(description: Description, hooks: Hooks, stages: Stages) -> Self {
        let static_table = StaticTable::new(&stages.model, &stages.vocabulary, stages.raw.as_ref());
        Self::of(description, hooks, stages, static_table)
    }

    fn of(description: Description, hooks: Hooks, stages: Stages, static_table: StaticTable) -> Self {
        Self {
            description,
            hooks,
            stages: stages.into(),
            static_table: static_table.into(),
            workers: Workers::new(DEFAULT_CACHE_BYTES).into(),
            image_bytes: 0,
            unforgeable: MadeOnce::new().into(),
            text_cuts: MadeOnce::new().into(),
            pairs: MadeOnce::new().into(),
            token_lengths: MadeOnce::new().into(),
        }
    }

    /// As [`Self::new`], with the last table of an image.
    ///
    /// # Errors
    /// If the parts of the image contradict each other.
    pub(crate) fn read(
        description: Description,
        hooks: Hooks,
        stages: Stages,
        image: &mut ImageReader,
    ) -> Result<Self> {
        let static_table = StaticTable::read(image)?;
        Ok(Self { image_bytes: image.size(), ..Self::of(description, hooks, stages, static_table) })
    }

    /// Appends the tables that grow with the vocabulary to an image. `compile::from_image` reads them.
    pub fn write_tables(&self, image: &mut ImageWriter) {
        let Stages { vocabulary, model, raw, .. } = &*self.stages;
        self.description.write_tables(image);
        vocabulary.write_tables(image);
        model.write(image);
        Raw::write(raw.as_ref(), image);
        self.static_table.write(image);
    }

    /// What this tokenizer is.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The functions that the description names; a description made from it is compiled with the same ones.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Ids and bytes.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.stages.vocabulary
    }

    /// The compiled splits, if splitting is all that happens to text before the model.
    pub fn splitter(&self) -> Option<&Splitter> {
        let is_direct = self.stages.normalizers.is_empty() && self.stages.added_in_normalized.is_empty();
        self.stages.splitter.as_ref().filter(|_| is_direct)
    }

    /// The model, which spells pretokens.
    pub fn model(&self) -> &Model {
        &self.stages.model
    }

    /// The post-processors, which put tokens around the ids of a text.
    pub fn post_processors(&self) -> &PostProcessors {
        &self.stages.post_processors
    }

    /// The model's description, which must be byte-pair encoding.
    ///
    /// # Errors
    /// A format error at `model.type`.
    pub fn bpe(&self) -> Result<&BpeDescription> {
        self.description.model.as_bpe().ok_or_else(|| {
            Error::format(Defect::CannotHold, "only byte-pair encoding has merges").at("type").at("model")
        })
    }

    /// The tables that spelling pretokens needs.
    fn speller(&self) -> Speller<'_> {
        let Stages { model, vocabulary, .. } = &*self.stages;
        Speller { model, vocabulary, static_table: &self.static_table, raw: None }
    }

    /// As [`Self::speller`], for parts of a text as it comes.
    fn raw_speller<'e>(&'e self, raw: &'e Raw) -> Speller<'e> {
        let Stages { normalizers, pre_tokenizers, .. } = &*self.stages;
        let part = match raw {
            Raw::Segments(segments) => RawPart::Segment(segments),
            Raw::Words(raw) => RawPart::Word(Words { raw, normalizers, pre_tokenizers }),
            Raw::Pieces(raw) => RawPart::Piece(Pieces { raw, pre_tokenizers }),
        };
        Speller { raw: Some(part), ..self.speller() }
    }

    /// The memory that is held now. Cost: next to nothing.
    pub fn memory_usage(&self) -> MemoryUsage {
        let budget = self.workers.budget();
        let ((cache_bytes, caches), (lookups, misses)) = (budget.bytes(), budget.lookups());
        let unforgeable =
            self.unforgeable.get().map(|(vocabulary, model)| (vocabulary.memory(), model.memory()));
        let (of_vocabulary, of_model) = unforgeable.unwrap_or_default();
        let of_segments = self.stages.raw.as_ref().map_or(0, Raw::memory);
        let of_lengths = self.token_lengths.get().map_or(0, LengthTables::memory);
        MemoryUsage {
            vocabulary: self.stages.vocabulary.memory() + of_vocabulary,
            model: self.stages.model.memory() + of_model + of_segments + of_lengths,
            static_table: self.static_table.memory(),
            image: self.image_bytes,
            chat_templates: self.description.chat_templates.memory(),
            caches,
            cache_bytes,
            lookups,
            misses,
        }
    }

    /// Can every text be spelled without an unknown token?
    pub fn is_byte_complete(&self) -> bool {
        self.stages.model.is_byte_complete()
    }

    /// The merges in rank order. For an id-ordered vocabulary: for every token the two tokens that it is made of,
    /// in order of ids.
    ///
    /// # Errors
    /// A format error for merges by score, and for an id-ordered vocabulary that no list of merges describes.
    pub fn merges(&self) -> Result<MergeList> {
        match &self.bpe()?.merges {
            Merges::Listed(merges) => Ok(merges.clone()),
            Merges::ById => crate::model::bpe::listed_merges(&self.stages.vocabulary).map(MergeList::from).map_err(|id| {
                let reason = format!(
                    "token {id} is not built by merging two tokens with lower ids, so that no list of merges \
                     means the same"
                );
                Error::format(Defect::CannotHold, reason).at("merges").at("model")
            }),
            Merges::ByScore { .. } => {
                let reason = "these merges go by score, which no list of merges says";
                Err(Error::format(Defect::CannotHold, reason).at("merges").at("model"))
            }
        }
    }

    /// Are these the merges that texts use, in the order of their ranks? Then a model that lists them alone gives the
    /// same ids (`docs/merging.md`). False where that is not known, as for merges by score.
    pub fn merges_by(&self, merges: &MergeList) -> bool {
        self.stages.model.as_bpe().is_some_and(|model| model.merges_by(merges))
    }

    /// The canonical one of all descriptions that mean the same: merges are a list if a list can express them,
    /// there is no rule for whole pretokens if merging gives the same, and chat templates are in the order of their
    /// names. Two tokenizers are equal if their canonical descriptions are.
    pub fn canonical(&self) -> Description {
        let mut description = self.description.clone();
        for step in &mut description.pre_tokenizer {
            // Files in another dialect give a pattern back as that dialect spells it.
            if let PreTokenizer::Split { pattern: Pattern::Regex(pattern), .. } = step
                && let Ok(again) = portable(pattern).and_then(|portable| from_portable(&portable))
            {
                *pattern = again;
            }
        }
        description.chat_templates = std::mem::take(&mut description.chat_templates).sorted();
        let merges = self.merges();
        if let Some(model) = description.model.as_bpe_mut() {
            if let Ok(merges) = merges {
                model.merges = Merges::Listed(merges);
            }
            model.whole_pretokens &=
                !self.stages.model.as_bpe().is_some_and(crate::model::bpe::Bpe::builds_every_token);
        }
        description
    }
}
