"""Rows: functions that serve as normalizer or splitter, and what they give that cannot be used."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import Run, load, rows, tokenizer_json, with_tok

BEFORE = "<s>é"
"""Special tokens are cut out; the function sees what is behind the first."""


def splitting(give: Callable[[str], object], name: str | None = "h") -> Run:
    def run(tok: Any, _: Path) -> object:
        return tok.with_splitter(give, name=name).encode(BEFORE + "ab", special="parse")

    return with_tok(run)


def normalizing(give: Callable[[str], object], name: str | None = "h") -> Run:
    def run(tok: Any, _: Path) -> object:
        return tok.with_normalizer(give, name=name).encode(BEFORE + "ab", special="parse")

    return with_tok(run)


def facts(position: int, hook: str | None = "h") -> dict[str, object]:
    return {"hook": hook, "position": position}


def in_bytes(tok: Any, _: Path) -> object:
    return tok.with_splitter(lambda text: [(1, 0)]).encode("<s>é".encode(), special="parse")


def in_a_batch(tok: Any, _: Path) -> object:
    return tok.with_splitter(lambda text: [(0, 2)]).encode_batch(["ab", "é"])


def itself(tok: Any, _: Path) -> object:
    used: list[Any] = []

    def split(text: str) -> list[str]:
        used[-1].encode(text)
        return [text]

    used.append(tok.with_splitter(split))
    return used[-1].encode("low")


RESULTS = rows(
    errors.HookError,
    (
        "a splitter gives nothing",
        splitting(lambda _: None),
        'hook "h", at character 3 of the text: what it gives must be a sequence of (start, end), or of str',
        facts(3),
    ),
    ("a splitter gives one text", splitting(lambda text: text), "or of str, not str", facts(3)),
    ("a splitter without a name", splitting(lambda _: 3, None), "unnamed hook, at", facts(3, None)),
    ("a splitter gives numbers", splitting(lambda _: [3]), "span 0 must be a tuple (start, end), not int"),
    ("a splitter gives triples", splitting(lambda _: [(0, 1), (1, 2, 3)]), "(start, end), not of 3"),
    (
        "a splitter gives floats",
        splitting(lambda _: [(0, 1.0)]),
        "end of span 0 must be an integer, not float",
    ),
    ("a splitter counts from the end", splitting(lambda _: [(0, -1)]), "the end of span 0 is -1; characters"),
    ("a splitter gives a huge number", splitting(lambda _: [(0, 10**40)]), "counted from 0 on"),
    ("a span ends before it starts", splitting(lambda _: [(0, 1), (3, 2)]), "span 1, (3, 2), ends", facts(4)),
    (
        "spans overlap",
        splitting(lambda _: [(0, 2), (1, 3)]),
        "before the end of the one before it, 2",
        facts(5),
    ),
    ("spans go back", splitting(lambda _: [(1, 2), (0, 1)]), "starts before the end", facts(5)),
    ("a span is too long", splitting(lambda text: [(0, len(text) + 1)]), "which has 3 characters", facts(3)),
    ("a piece is not in the text", splitting(lambda _: ["é", "x"]), 'piece 1, "x", does not stand', facts(4)),
    ("a piece stands before", splitting(lambda _: ["b", "a"]), 'piece 1, "a", does not stand', facts(6)),
    ("pieces and spans are mixed", splitting(lambda _: ["é", (1, 2)]), "piece 1 must be str like the first"),
    ("spans and pieces are mixed", splitting(lambda _: [(0, 1), "a"]), "span 1 must be a tuple (start, end)"),
    ("a piece has a surrogate", splitting(lambda _: ["\ud800"]), "piece 0 has a surrogate at character 0"),
    ("a splitter in bytes", with_tok(in_bytes), "byte 3 of the text", facts(3, None)),
    ("a splitter in a batch", with_tok(in_a_batch), "texts[1]: unnamed hook", facts(0, None)),
    ("a splitter uses its own tokenizer", with_tok(itself), "cannot use the tokenizer that it serves"),
    (
        "a normalizer gives bytes",
        normalizing(str.encode),
        "what it gives must be str, or a sequence of (text, start, end), not bytes",
        facts(3),
    ),
    (
        "a normalizer gives nothing",
        normalizing(lambda _: None),
        "str, or a sequence of (text, start, end), not",
    ),
    ("a normalizer gives texts", normalizing(lambda _: ["a"]), "piece 0 must be a tuple (text, start, end)"),
    ("a normalizer gives pairs", normalizing(lambda _: [("a", 0)]), "(text, start, end), not of 2"),
    ("a piece of a number", normalizing(lambda _: [(1, 0, 1)]), "the text of piece 0 must be str, not int"),
    ("a piece starts at a text", normalizing(lambda _: [("a", "0", 1)]), "the start of piece 0 must be an"),
    (
        "a normalized piece ends too early",
        normalizing(lambda _: [("a", 2, 1)]),
        "ends before it starts",
        facts(3),
    ),
    (
        "normalized pieces go back",
        normalizing(lambda _: [("a", 1, 2), ("b", 0, 2)]),
        "piece 1, which stands for (0, 2), goes back before the previous piece, which stands for (1, 2)",
        facts(4),
    ),
    (
        "a normalized piece is too long",
        normalizing(lambda _: [("a", 0, 4)]),
        "which has 3 characters",
        facts(3),
    ),
    (
        "a normalizer gives a surrogate",
        normalizing(lambda text: text + "\ud800"),
        "surrogate at character 3",
        facts(3),
    ),
    (
        "a normalizer gives a piece with one",
        normalizing(lambda _: [("a\udc00", 0, 1)]),
        "the text of piece 0 has a surrogate at character 1",
    ),
)


def normalizer(**fields: object) -> dict[str, Any]:
    return tokenizer_json(normalizer={"type": "Hook", **fields})


def saved(name: str, use: Callable[[Any], Any]) -> Run:
    return with_tok(lambda tok, folder: use(tok).save(folder / name))


def both(tok: Any, _: Path) -> object:
    return tok.with_normalizer(str.lower, name="h").with_splitter(str.split, name="h")


def alike(native: Any, folder: Path) -> object:
    hook = {"type": "Hook", "name": "h"}
    file = tokenizer_json(normalizer=hook, pre_tokenizer=hook)
    (folder / "t.json").write_text(json.dumps(file), encoding="utf-8")
    return native.load(folder / "t.json", hooks={"h": str.lower})


def vanishing(tok: Any, folder: Path) -> object:
    tok.save(folder / "t.json")
    file = json.loads((folder / "t.json").read_text(encoding="utf-8"))
    file["added_tokens"][0]["normalized"] = True
    file["normalizer"] = {"type": "Hook", "name": "h"}
    (folder / "t.json").write_text(json.dumps(file), encoding="utf-8")
    import tokenmill

    return tokenmill.load(folder / "t.json", hooks={"h": lambda text: ""})


FILES = rows(
    errors.FormatError,
    (
        "a hook that nobody brings",
        load("t.json", normalizer(name="no such hook")),
        'hooks={"no such hook": function}',
        {"kind": "missing", "field": "normalizer[0].name", "path": "t.json"},
    ),
    (
        "a pickled hook that nobody brings",
        with_tok(lambda tok, _: pickle.loads(pickle.dumps(tok.with_splitter(str.split, name="not there")))),
        'tokenmill.register_hook("not there", function)',
        {"kind": "missing", "field": "pre_tokenizer[0].name", "path": None},
    ),
    (
        "a hook of a file without a name",
        load("t.json", normalizer()),
        "is missing",
        {"kind": "missing", "field": "normalizer.name"},
    ),
    (
        "a hook of a file whose name is a number",
        load("t.json", normalizer(name=3)),
        "expected a string",
        {"kind": "type", "field": "normalizer.name"},
    ),
    (
        "a hook with an empty name",
        with_tok(lambda tok, _: tok.with_normalizer(str.lower, name="")),
        "the name of a hook is empty",
        {"kind": "empty", "field": "normalizer[0].name"},
    ),
    (
        "a name for two functions",
        with_tok(both),
        'hook "h" is a normalizer already',
        {"kind": "duplicate", "field": "pre_tokenizer[0].name"},
    ),
    (
        "a name for two parts of a file",
        alike,
        "give it another name",
        {"kind": "duplicate", "path": "t.json"},
    ),
    (
        "an added token that a hook makes nothing of",
        with_tok(vanishing),
        "is empty when it is normalized",
        {"kind": "unsupported", "field": "added_tokens[0].normalized"},
    ),
    *(
        (
            f"an unnamed hook {where}",
            with_tok(run),
            "a hook without a name cannot be kept",
            {"kind": "cannot-hold", "field": field},
        )
        for where, run, field in [
            (
                "is saved",
                lambda tok, folder: tok.with_normalizer(str.lower).save(folder / "t.json"),
                "normalizer[0]",
            ),
            (
                "is saved although lossy",
                lambda tok, folder: tok.with_splitter(str.split).save(folder / "x", lossy=True),
                "pre_tokenizer[0]",
            ),
            ("is pickled", lambda tok, _: pickle.dumps(tok.with_splitter(str.split)), "pre_tokenizer[0]"),
            ("has a fingerprint", lambda tok, _: tok.with_normalizer(str.lower).fingerprint, "normalizer[0]"),
            ("has digests", lambda tok, _: tok.with_normalizer(str.lower).digests, "normalizer[0]"),
        ]
    ),
    *(
        (
            f"a hook in a {name} file",
            saved(name, use),
            says,
            {"kind": "cannot-hold", "field": field},
        )
        for name, use, says, field in [
            (
                "x.tiktoken",
                lambda tok: tok.with_normalizer(str.lower, name="h"),
                'the normalizer (hook "h")',
                "normalizer",
            ),
            (
                "vocab.json",
                lambda tok: tok.with_splitter(str.split, name="h"),
                'the split (hook "h")',
                "split",
            ),
            ("x.model", lambda tok: tok.with_normalizer(str.lower, name="h"), "SentencePiece", "model"),
        ]
    ),
)

ARGUMENTS = [
    *rows(
        TypeError,
        (
            "a number as normalizer",
            with_tok(lambda tok, _: tok.with_normalizer(3)),
            "function must be callable or None, not int",
        ),
        (
            "a name as splitter",
            with_tok(lambda tok, _: tok.with_splitter("gpt2")),
            "function must be callable or None, not str",
        ),
        (
            "a number as the name of a hook",
            with_tok(lambda tok, _: tok.with_splitter(str.split, name=3)),
            "name must be str, not int",
        ),
        (
            "a function as hooks=",
            load("t.json", normalizer(name="h"), hooks=str.lower),
            "hooks must be a mapping of names to functions, not",
        ),
        (
            "a number among hooks",
            load("t.json", normalizer(name="h"), hooks={"h": 3}),
            'hooks["h"] must be callable, not int',
        ),
        (
            "a number as a key of hooks",
            load("t.json", normalizer(name="h"), hooks={3: str.lower}),
            "key 0 of hooks must be str, not int",
        ),
        (
            "a number is registered",
            lambda native, _: native.register_hook("h", 3),
            "function must be callable, not int",
        ),
        (
            "a name that is none is registered",
            lambda native, _: native.register_hook(None, str.lower),
            "name must be str, not NoneType",
        ),
    ),
    *rows(
        ValueError,
        (
            "a name without a hook",
            with_tok(lambda tok, _: tok.with_normalizer(None, name="h")),
            "a name without a function",
        ),
        (
            "an empty name is registered",
            lambda native, _: native.register_hook("", str.lower),
            "the name of a hook is empty",
        ),
    ),
    *rows(
        ZeroDivisionError,
        ("a splitter raises", splitting(lambda text: 1 // 0), "by zero"),
        ("a normalizer raises", normalizing(lambda text: 1 // 0), "by zero"),
        ("a splitter raises on the way", splitting(lambda text: (1 // 0 for _ in text)), "by zero"),
    ),
]

HOOKS = [*RESULTS, *FILES, *ARGUMENTS]
