"""``tok(...)``: what `help` and `inspect` say of it, its threads, and lengths that contradict each other."""

from __future__ import annotations

import doctest
import inspect
import itertools
import json
import pydoc
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "low", "lower", "new", "##er", "##est", "wide"]


@pytest.fixture(scope="module")
def padding(native: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tokenizer with a padding token."""
    folder: Path = tmp_path_factory.mktemp("words")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    config = {"tokenizer_class": "BertTokenizer", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return native.load(folder)


# ---- signature and documentation ----------------------------------------------------------------


def test_inspect_reads_the_signature(native: Any, padding: Any) -> None:
    of_call = inspect.signature(padding)
    assert [*of_call.parameters] == [
        *("text", "pair", "add_special_tokens", "truncation", "padding", "max_length", "stride"),
        *("pad_to_multiple_of", "truncation_side", "padding_side", "pad_id", "is_pretokenized"),
        *("return_tensors", "return_token_type_ids", "return_attention_mask"),
        *("return_overflowing_tokens", "return_special_tokens_mask", "return_offsets_mapping"),
        *("return_length", "return_position_ids", "dtype", "out", "special", "surrogates", "num_threads"),
    ]
    defaults = {name: given.default for name, given in of_call.parameters.items()}
    assert (defaults["num_threads"], defaults["special"], defaults["pair"]) == (1, "text", None)
    assert of_call.parameters["stride"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(padding.__call__) == of_call
    assert [*inspect.signature(native.Tokenizer.__call__).parameters] == ["self", *of_call.parameters]


def test_every_parameter_of_the_signature_is_taken(padding: Any) -> None:
    given = {name: one.default for name, one in inspect.signature(padding).parameters.items()}
    given["text"] = "low lower"
    text = given.pop("text")
    assert padding(text, **given) == padding(text)
    with pytest.raises(TypeError, match="num_thread"):
        padding(text, num_thread=1)


def test_help_shows_what_it_does(native: Any, padding: Any) -> None:
    for method in (native.Tokenizer.__call__, padding.__call__):
        documentation = inspect.getdoc(method) or ""
        assert documentation.startswith("Encodes a text as input of a model")
        for parameter in inspect.signature(padding).parameters:
            assert parameter in documentation
    shown = pydoc.plain(pydoc.render_doc(native.Tokenizer.__call__))
    assert "__call__(self, /, text, pair=None, *, add_special_tokens=True" in shown
    assert "pad_to_multiple_of" in pydoc.plain(pydoc.render_doc(native.Tokenizer))


def test_the_example_in_the_documentation_runs(native: Any) -> None:
    runner = doctest.DocTestRunner()
    (examples,) = doctest.DocTestFinder(recurse=False).find(native.Tokenizer.__call__, "call", module=False)
    assert runner.run(examples) == (0, 5)


def test_the_class_itself_has_no_signature_of_a_call(native: Any, padding: Any) -> None:
    """Else tools would take it for the signature of its constructor."""
    assert not hasattr(native.Tokenizer, "__signature__")
    assert "pair" not in inspect.signature(native.Tokenizer).parameters
    tok = native.train(texts=["low"], num_merges=1)
    assert mock.create_autospec(tok)("low", max_length=3) is not None
    with pytest.raises(TypeError, match="longest"):
        mock.create_autospec(tok)("low", longest=3)
    mock.create_autospec(native.Tokenizer)


def test_other_classes_keep_their_documentation(native: Any) -> None:
    """A slot's table is shared by all classes; only the one of this class has changed."""
    assert type.__call__.__doc__ == "Call self as a function."
    assert type(lambda: 0).__call__.__doc__ == "Call self as a function."


# ---- threads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [1, 2, 3, None])
def test_threads_change_nothing(padding: Any, num_threads: int | None) -> None:
    """600 kB, so that there are several."""
    texts = [" ".join(["low", "newer", "widest é"] * (at % 50)) for at in range(1500)]
    assert sum(map(len, texts)) > 2 * 256 << 10
    pairs = texts[::-1]
    options: dict[str, Any] = {"padding": "longest", "max_length": 24, "truncation": True, "stride": 2}
    expected = padding(texts, pairs, **options)
    got = padding(texts, pairs, **options, num_threads=num_threads)
    assert got == expected
    assert [one.ids for one in got] == [one.ids for one in expected]
    words = [text.split() for text in texts]
    assert padding(words, is_pretokenized=True, num_threads=num_threads) == padding(
        words, is_pretokenized=True
    )


@pytest.mark.parametrize(("num_threads", "error"), [(0, ValueError), (-1, ValueError), ("2", TypeError)])
def test_a_number_of_threads_that_is_none_is_refused(padding: Any, num_threads: Any, error: type) -> None:
    with pytest.raises(error, match="num_threads"):
        padding("low", num_threads=num_threads)


# ---- truncation and padding together ------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_length", "multiple", "meant"),
    [(10, 8, "8 or 16"), (5, 8, "8"), (9, 4, "8 or 12"), (7, 2, "6 or 8")],
)
@pytest.mark.parametrize("how", ["longest", "max_length", True])
def test_a_length_that_the_multiple_does_not_divide_is_refused(
    padding: Any, max_length: int, multiple: int, meant: str, how: Any
) -> None:
    limits = {"max_length": max_length, "pad_to_multiple_of": multiple}
    with pytest.raises(
        ValueError, match=rf"{max_length} is no multiple of {multiple}; pass max_length={meant}$"
    ):
        padding("low lower", truncation=True, padding=how, **limits)


def test_it_is_refused_where_transformers_refuses_it(padding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]")
    # It warns of lengths that count for nothing.
    monkeypatch.setattr(warnings, "warn", lambda *_, **__: None)

    def lengths(tok: Any, options: dict[str, Any]) -> list[int] | str:
        try:
            made = tok(["low lower new wide", "low"], add_special_tokens=False, **options)
        except ValueError as error:
            return "refused" if "multiple" in str(error) else str(error)
        return [len(ids) for ids in made["input_ids"]] if hasattr(made, "keys") else [*map(len, made)]

    names = ("truncation", "padding", "max_length", "pad_to_multiple_of")
    truncations = (True, False, "longest_first", "only_first")
    paddings = (True, False, "longest", "max_length")
    refused = 0
    for given in itertools.product(truncations, paddings, (2, 6, 8), (None, 1, 4, 8)):
        options: dict[str, Any] = dict(zip(names, given, strict=True))
        expected = lengths(theirs, options)
        assert lengths(padding, options) == expected, options
        refused += expected == "refused"
    assert refused == 3 * 3 * 4


def test_padding_alone_still_rounds_up(padding: Any) -> None:
    assert len(padding("low", padding="max_length", max_length=10, pad_to_multiple_of=8)) == 16
    assert len(padding("low", max_length=10, pad_to_multiple_of=8)) == 3
