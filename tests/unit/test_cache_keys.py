"""`cache_key`: it changes with everything that can change a result, and with nothing else."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from typing import Any

import pytest
import tokenmill

CHAT = [{"role": "user", "content": "low"}]


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    trained = tokenmill.train(texts=["low lower"] * 3, num_merges=4, special_tokens=["<s>"])
    return trained.with_chat_template("chatml")


def schema(word: str) -> str:
    """A tool.

    Args:
        word: A word.
    """
    return word


def test_a_key_is_written_alike(tok: tokenmill.Tokenizer) -> None:
    key = tok.cache_key("low")
    assert key.startswith("tmk1-")
    assert len(key) == 69
    assert set(key[5:]) <= set("0123456789abcdef")
    assert key == tok.cache_key("low")


SAME: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    ("low", {}, "low", {"special": "text"}),
    ("low", {}, "low", {"num_threads": 4}),
    ("low", {}, "low", {"call": "encode"}),
    (CHAT, {}, CHAT, {"call": "apply_chat_template"}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "train_on": "assistant"}),
    (CHAT, {}, [dict(CHAT[0])], {"num_threads": 2}),
    (["low"], {"special": {"a", "b"}}, ["low"], {"special": {"b", "a"}}),
]
OTHER: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    ("low", {}, "lov", {}),
    ("low", {}, b"low", {}),
    ("low", {}, ["low"], {}),
    ("low", {}, "low", {"special": "parse"}),
    ("low", {}, "low", {"add_special_tokens": True}),
    ("low", {}, "low", {"untrusted": [(0, 1)]}),
    ("low", {}, "low", {"call": "call"}),
    ("low", {"call": "call"}, "low", {"call": "call", "max_length": 5, "truncation": True}),
    (CHAT, {}, [{"role": "user", "content": "low "}], {}),
    (CHAT, {}, [{"content": "low", "role": "user"}], {}),
    (CHAT, {}, CHAT, {"add_generation_prompt": True}),
    (CHAT, {}, CHAT, {"return_labels": True}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "train_on": "user"}),
    (CHAT, {"return_labels": True}, CHAT, {"return_labels": True, "end_of_turn": False}),
    (CHAT, {}, CHAT, {"literals": "parse"}),
    (CHAT, {}, CHAT, {"tools": [schema]}),
    (CHAT, {}, CHAT, {"custom": 1}),
    (CHAT, {"custom": 1}, CHAT, {"custom": True}),
    (CHAT, {"custom": 1}, CHAT, {"custom": 1.0}),
    (CHAT, {"custom": "1"}, CHAT, {"custom": 1}),
    (CHAT, {}, CHAT, {"now": datetime.datetime(2025, 1, 1)}),
]


@pytest.mark.parametrize(("one", "options", "other", "others"), SAME)
def test_same(tok: tokenmill.Tokenizer, one: Any, options: Any, other: Any, others: Any) -> None:
    assert tok.cache_key(one, **options) == tok.cache_key(other, **others)


@pytest.mark.parametrize(("one", "options", "other", "others"), OTHER)
def test_others(tok: tokenmill.Tokenizer, one: Any, options: Any, other: Any, others: Any) -> None:
    assert tok.cache_key(one, **options) != tok.cache_key(other, **others)


def test_tokenizers_and_templates(tok: tokenmill.Tokenizer) -> None:
    more = tok.with_special_tokens(["<t>"])
    assert tok.cache_key("low") != more.cache_key("low")
    rewritten = tok.with_chat_template("{{ messages[0].content }}")
    assert tok.cache_key(CHAT) != rewritten.cache_key(CHAT)
    # A template changes no id of a text.
    assert tok.cache_key("low") == rewritten.cache_key("low")


def test_a_key_is_the_same_in_another_process(tok: tokenmill.Tokenizer, tmp_path: Any) -> None:
    tok.save(tmp_path / "saved")
    program = (
        "import sys, tokenmill\n"
        "tok = tokenmill.load(sys.argv[1])\n"
        "chat = [{'role': 'user', 'content': 'low'}]\n"
        "print(tok.cache_key(chat, special={'x', 'y', 'z'}, return_labels=True))"
    )
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "saved")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == tok.cache_key(CHAT, special={"z", "y", "x"}, return_labels=True)


def test_what_has_no_lasting_key(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"custom: no key can be made of object"):
        tok.cache_key(CHAT, custom=object())
    with pytest.raises(TypeError, match=r"encode takes no option 'padding'"):
        tok.cache_key("low", padding=True)
    with pytest.raises(ValueError, match="call='train' is none of 'encode', 'call', 'apply_chat_template'"):
        tok.cache_key("low", call="train")
    with pytest.raises(TypeError, match=r"no lasting key can be made of .*<lambda>"):
        tok.cache_key(CHAT, literals=lambda text: text)
