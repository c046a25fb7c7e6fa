"""Everything between text and the ids that a language model sees.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> tok.decode(tok.encode("lower"))
'lower'

``train`` learns a tokenizer, ``load`` reads one, a ``Tokenizer`` encodes, counts and decodes.
Errors are in ``tokenmill.errors``; the naive algorithms, to read and to compare with, in
``tokenmill.reference``.
"""

from __future__ import annotations

from ._core import (
    Appender,
    DecodeStream,
    Encoding,
    IntervalCounter,
    LoadFinding,
    LoadReport,
    Prepender,
    Snapshot,
    Tokenizer,
    TrainingReport,
    __version__,
    register_hook,
)
from ._forks import waited_for as _waited_for
from ._load import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import datasets as datasets
    from . import duckdb as duckdb
    from . import polars as polars
    from . import ray as ray
    from . import spark as spark
    from ._counts.counting import count_pretokens
    from ._doctor.diagnose import doctor
    from ._train import train
    from .checkpoint import check_checkpoint
    from .chunks import Chunk, Chunks
    from .conversion import Conversion, convert
    from .difference import Difference, diff
    from .editing import Edit
    from .embedding_plan import EmbeddingPlan
    from .errors import (
        BudgetError,
        FormatError,
        HookError,
        InternalError,
        ManifestError,
        MissingExtraError,
        PatternError,
        SpecialTokenError,
        TemplateError,
        TokenmillError,
        TrainingError,
        UnknownTokenError,
        VocabularyError,
    )
    from .explain import Explanation
    from .findings import Diagnosis, Finding, Findings
    from .model_inputs import ModelInputs, causal_mask, collator
    from .packing import Packed, pack
    from .pretoken_counts import PretokenCounts, merge_counts
    from .ragged import Ragged, RaggedEncodings
    from .reports import Report, report
    from .spans import align_labels, mask_from_spans, spans_from_labels
    from .stages import Audit, Plan
    from .surgery import Surgery, join
    from .vocab_sizes import VocabSizes, compare_vocab_sizes
else:
    # Errors, and what inspects or trains tokenizers, are imported when they are first asked for: a process
    # that only loads a tokenizer and encodes does not wait for them.
    _HOMES = {
        "Audit": "stages",
        "BudgetError": "errors",
        "Chunk": "chunks",
        "Chunks": "chunks",
        "Difference": "difference",
        "Conversion": "conversion",
        "Diagnosis": "findings",
        "Edit": "editing",
        "EmbeddingPlan": "embedding_plan",
        "Explanation": "explain",
        "Finding": "findings",
        "Findings": "findings",
        "FormatError": "errors",
        "HookError": "errors",
        "InternalError": "errors",
        "ManifestError": "errors",
        "MissingExtraError": "errors",
        "ModelInputs": "model_inputs",
        "Packed": "packing",
        "PatternError": "errors",
        "Plan": "stages",
        "PretokenCounts": "pretoken_counts",
        "Ragged": "ragged",
        "RaggedEncodings": "ragged",
        "Report": "reports",
        "SpecialTokenError": "errors",
        "Surgery": "surgery",
        "TemplateError": "errors",
        "TokenmillError": "errors",
        "TrainingError": "errors",
        "UnknownTokenError": "errors",
        "VocabSizes": "vocab_sizes",
        "VocabularyError": "errors",
        "algorithms": "algorithms",
        "align_labels": "spans",
        "causal_mask": "model_inputs",
        "chat": "chat",
        "check_checkpoint": "checkpoint",
        "checkpoint": "checkpoint",
        "chunks": "chunks",
        "datasets": "datasets",
        "diff": "difference",
        "difference": "difference",
        "doctor": "_doctor.diagnose",
        "duckdb": "duckdb",
        "editing": "editing",
        "collator": "model_inputs",
        "compare_vocab_sizes": "vocab_sizes",
        "conversion": "conversion",
        "convert": "conversion",
        "count_pretokens": "_counts.counting",
        "embedding_plan": "embedding_plan",
        "errors": "errors",
        "explain": "explain",
        "join": "surgery",
        "findings": "findings",
        "manifest": "manifest",
        "mask_from_spans": "spans",
        "merge_counts": "pretoken_counts",
        "model_inputs": "model_inputs",
        "pack": "packing",
        "packing": "packing",
        "placeholder": "placeholder",
        "polars": "polars",
        "pretoken_counts": "pretoken_counts",
        "ragged": "ragged",
        "ray": "ray",
        "report": "reports",
        "reports": "reports",
        "spans": "spans",
        "spans_from_labels": "spans",
        "spark": "spark",
        "stages": "stages",
        "surgery": "surgery",
        "train": "_train",
        "vocab_sizes": "vocab_sizes",
    }

    def __getattr__(name):
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        with _waited_for:
            module = import_module(f".{home}", __name__)
        value = module if name == home else getattr(module, name)
        globals()[name] = value
        return value

    def __dir__():
        modules = [
            "algorithms",
            "chat",
            "checkpoint",
            "chunks",
            "compat",
            "difference",
            "conversion",
            "editing",
            "embedding_plan",
            "errors",
            "explain",
            "findings",
            "hub",
            "manifest",
            "model_inputs",
            "packing",
            "placeholder",
            "pretoken_counts",
            "ragged",
        ]
        modules += ["reference", "reports", "spans", "stages", "surgery", "vocab_sizes"]
        return sorted([*__all__, *modules, "__doc__", "__file__", "__name__", "__path__"])


__all__ = [
    "Appender",
    "Audit",
    "BudgetError",
    "Chunk",
    "Chunks",
    "Conversion",
    "DecodeStream",
    "Diagnosis",
    "Difference",
    "Edit",
    "EmbeddingPlan",
    "Encoding",
    "Explanation",
    "Finding",
    "Findings",
    "FormatError",
    "HookError",
    "InternalError",
    "IntervalCounter",
    "LoadFinding",
    "LoadReport",
    "ManifestError",
    "MissingExtraError",
    "ModelInputs",
    "Packed",
    "PatternError",
    "Plan",
    "Prepender",
    "PretokenCounts",
    "Ragged",
    "RaggedEncodings",
    "Report",
    "Snapshot",
    "SpecialTokenError",
    "Surgery",
    "TemplateError",
    "Tokenizer",
    "TokenmillError",
    "TrainingError",
    "TrainingReport",
    "UnknownTokenError",
    "VocabSizes",
    "VocabularyError",
    "__version__",
    "align_labels",
    "causal_mask",
    "check_checkpoint",
    "collator",
    "compare_vocab_sizes",
    "convert",
    "count_pretokens",
    "diff",
    "doctor",
    "join",
    "load",
    "mask_from_spans",
    "merge_counts",
    "pack",
    "register_hook",
    "report",
    "spans_from_labels",
    "train",
]
