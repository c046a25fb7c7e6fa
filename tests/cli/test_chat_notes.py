"""Notes of ``chat``: below the page of a conversation, and counted for a file; tokens that options name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenmill

from .conftest import Run

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% if not (loop.last and m.open) %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
ODD = [
    {"role": "user", "content": "<|im_start|> <|end|> <|end|>"},
    {"role": "assistant", "content": "lower", "open": True, "reasoning_content": "hm", "name": "x"},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json alone, whose tokens have no roles."""
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    tokenmill.train(texts=["low lower"] * 2, num_merges=2, special_tokens=["<|begin|>", "<|end|>"]).save(path)
    return path


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "chat_template.jinja"
    path.write_text(TEMPLATE)
    return path


def saved(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


UNNAMED = (
    "note: the template writes {0}_token, and the tokenizer names none: nothing stands there; "
    "--{0}-token names one"
)
AS_TEXT = "note: the template writes <|im_start|>, which is no token of this tokenizer"
NAMED = ("--bos-token", "<|begin|>", "--eos-token", "<|end|>")


def test_a_page_says_what_the_template_misses(run: Run, model: Path, template: Path, tmp_path: Path) -> None:
    given = ("chat", "-t", model, "--template", template, saved(tmp_path / "chat.json", PLAIN), "--labels")
    lines = run(*given).out.decode().splitlines()
    end = "note: the template writes no end-of-turn token after messages[1]"
    assert lines[-4:] == [UNNAMED.format("bos"), UNNAMED.format("eos"), AS_TEXT, end]
    lines = run(*given, *NAMED).out.decode().splitlines()
    assert [line for line in lines if line.startswith("note: ")] == [AS_TEXT]


@pytest.mark.parametrize("name", ["x.npz", "x.jsonl"])
def test_notes_are_counted_over_a_file(
    run: Run, model: Path, template: Path, tmp_path: Path, name: str
) -> None:
    path, out = saved(tmp_path / "chats.jsonl", PLAIN, ODD, PLAIN, ODD), tmp_path / name
    given = ("chat", "-t", model, "--template", template, path, "--labels", "--out", out)
    result = run(*given, *NAMED)
    assert (result.code, result.out) == (0, b"")
    where = f"in 2 conversations, the first is {path}: line 2, conversation 2"
    assert result.err.splitlines()[1:] == [
        AS_TEXT,
        f"note: the template writes no end-of-turn token after 2 trained turns; {where}",
        f"note: the template leaves out 4 fields: reasoning_content (2), name (2); {where}",
        "note: 2 markers of the template in messages are text without a token of its own, which a model may "
        f"take for the real one: <|im_start|> (2); {where}",
        f"note: 4 literals of control tokens in messages are text, as any other: <|end|> (4); {where}",
    ]
    lines = run(*given).err.splitlines()
    assert lines[1:3] == [UNNAMED.format("bos"), UNNAMED.format("eos")]
    parsed = run(*given, *NAMED, "--literals", "user=parse", "--allow-empty").err
    assert "note: 4 literals of control tokens in messages are the token: <|end|> (4); in 2" in parsed
    # One alone is named without a count, and what is well has no notes.
    saved(path, PLAIN, ODD)
    assert f"reasoning_content (1), name (1); in {path}: line 2, conversation 2\n" in run(*given).err
    tokens = tokenmill.load(model).with_special_tokens(["<|im_start|>"])
    tokens.save(tmp_path / "more.json")
    saved(path, PLAIN)
    assert len(run("chat", "-t", tmp_path / "more.json", *given[3:], *NAMED).err.splitlines()) == 1


def test_named_tokens_are_in_the_ids(run: Run, model: Path, template: Path, tmp_path: Path) -> None:
    tok = tokenmill.load(model, bos_token="<|begin|>", eos_token="<|end|>")
    encoding = tok.apply_chat_template(PLAIN, template=TEMPLATE, return_labels=True)
    given = ("chat", "-t", model, "--template", template, saved(tmp_path / "chat.json", PLAIN), "--labels")
    facts = run(*given, *NAMED, "--json").json
    assert (facts["input_ids"], facts["labels"]) == (encoding["input_ids"], encoding["labels"])
    assert facts["input_ids"][0] == tok.bos_token_id
    assert (facts["unnamed_tokens"], facts["written_as_text"]) == ([], ["<|im_start|>"])


def test_a_token_that_is_none_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    """It is not added: the model has no row for it."""
    path = saved(tmp_path / "chat.json", PLAIN)
    result = run("chat", "-t", model, "--template", "chatml", path, "--eos-token", "<|ent|>")
    assert (result.code, result.out) == (2, b"")
    assert "--eos-token <|ent|>: no token of the vocabulary; did you mean <|end|>?" in result.err
