"""``chat``: the page of a conversation, JSONL, arrays, and errors that say where."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.chat import render
from tokenmill.cli import chat as command
from tokenmill.cli.conversations import ARGUMENTS, conversations

from .conftest import Run

CHAT = [
    {"role": "system", "content": "You are concise."},
    {"role": "user", "content": "Explain BPE.\n\n  你 <|im_end|>"},
    {"role": "assistant", "content": "BPE merges frequent pairs."},
]
SHORT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
WITH_TOOLS = (
    "{% for t in tools or [] %}{{ t.function.name }};{% endfor %}"
    "{% for m in messages %}{{ m.content }}|{% endfor %}"
)
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer that has ChatML and its tokens."""
    folder = tmp_path_factory.mktemp("model")
    texts = [message["content"] for message in CHAT] * 3
    tok = tokenmill.train(
        texts=texts, num_merges=40, special_tokens=["<|im_start|>", "<|im_end|>"], eos_token="<|im_end|>"
    )
    tok.with_chat_template("chatml").with_chat_template(WITH_TOOLS, "tools only").save(folder)
    return folder


def saved(path: Path, *values: Any) -> Path:
    """A file with a JSON value on each line."""
    path.write_text(
        "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8"
    )
    return path


def rows_of(page: str) -> list[tuple[str, str, str]]:
    """The groups of three lines: tokens, ids, marks."""
    lines = page.split("\n")
    starts = [at for at, line in enumerate(lines) if re.fullmatch(r"  \d+(  +\d+)*", line)]
    return [(lines[at - 1], lines[at], lines[at + 1]) for at in starts]


def read(page: str) -> list[tuple[str, int, str]]:
    """Token, id and mark of each cell, by the columns that the ids begin in."""
    cells = []
    for texts, ids, marks in rows_of(page):
        starts = [found.start() for found in re.finditer(r"\d+", ids)]
        for start, stop in zip(starts, [*starts[1:], None], strict=True):
            mark = marks[start:stop].strip()
            cells.append((texts[start:stop].strip(), int(ids[start:stop]), mark[:1]))
    return cells


def test_the_page_has_each_id_below_its_token_and_its_mark_below_that(
    run: Run, model: Path, tmp_path: Path
) -> None:
    # Without wide characters a column of the terminal is a character.
    narrow = [{**message, "content": message["content"].replace("你", "x")} for message in CHAT]
    path = saved(tmp_path / "chat.json", narrow)
    tok = tokenmill.load(model)
    encoding = tok.apply_chat_template(narrow, return_labels=True)
    result = run("chat", "-t", model, path, "--labels")
    assert (result.code, result.err) == (0, "")
    cells = read(result.out.decode())
    assert [number for _, number, _ in cells] == encoding["input_ids"]
    assert [mark == "^" for _, _, mark in cells] == [label != -100 for label in encoding["labels"]]
    shown = [text.replace("·", " ").replace("\\n", "\n") for text, _, _ in cells]
    assert "".join(shown) == encoding.text
    trusted = [segment.trusted for segment in encoding.segments for _ in range(segment.start, segment.stop)]
    for (_, _, mark), (start, stop), label in zip(
        cells, encoding.offsets.tolist(), encoding["labels"], strict=True
    ):
        if label == -100:
            assert (mark == ".") is all(trusted[start:stop])


def test_the_page_says_how_many_ids_each_turn_has_and_what_was_no_token(
    run: Run, model: Path, tmp_path: Path
) -> None:
    path = saved(tmp_path / "chat.json", CHAT)
    encoding = tokenmill.load(model).apply_chat_template(CHAT, return_labels=True)
    lines = run("chat", "-t", model, path, "--labels").out.decode().splitlines()
    trained = sum(encoding["loss_mask"])
    assert (
        lines[0]
        == f"{path}: conversation 1, template default: {len(encoding['input_ids'])} ids, {trained} trained"
    )
    heads = [line for line in lines if line.startswith("messages[")]
    assert [head.partition(":")[0] for head in heads] == [
        "messages[0], system",
        "messages[1], user",
        "messages[2], assistant",
    ]
    assert [int(re.findall(r"(\d+) trained", head)[0]) for head in heads] == [0, 0, trained]
    assert lines[-1] == "note: messages[1].content holds <|im_end|>: text, as any other"
    parsed = run("chat", "-t", model, path, "--literals", "user=parse").out.decode()
    assert parsed.endswith(f"holds <|im_end|>: token {encoding['input_ids'][-2]}\n")


def test_colours_change_nothing_of_the_words(run: Run, model: Path, tmp_path: Path) -> None:
    path = saved(tmp_path / "chat.json", CHAT)
    plain = run("chat", "-t", model, path, "--labels").out.decode()
    painted = run("chat", "-t", model, path, "--labels", "--colour", "always").out.decode()
    assert ESCAPE.search(plain) is None
    assert ESCAPE.sub("", painted) == plain
    trained = re.findall("\x1b\\[38;5;231;48;5;22m(.*?)\x1b", painted)
    assert "".join(trained).replace("·", " ") == "BPE merges frequent pairs.<|im_end|>"


def test_lines_of_the_page_have_an_end(run: Run, model: Path, tmp_path: Path) -> None:
    path = saved(tmp_path / "chat.json", [{"role": "user", "content": "words, " * 400}])
    lines = run("chat", "-t", model, path).out.decode().splitlines()
    assert len(lines) > 60
    assert max(map(len, lines[1:])) <= 100  # the first one has a path


def test_a_conversation_that_is_too_long_for_a_page_is_written_as_json(
    run: Run, model: Path, tmp_path: Path
) -> None:
    long = [{"role": "user", "content": "x" * command._LIMIT}]
    path = saved(tmp_path / "chat.json", long)
    result = run("chat", "-t", model, path)
    assert (result.code, result.out) == (2, b"")
    assert "hint: --json writes any size" in result.err
    assert run("chat", "-t", model, path, "--json").json["count"] > command._LIMIT / 2


def test_a_file_is_a_conversation_or_a_list_of_them_or_has_one_on_each_line(
    run: Run, model: Path, tmp_path: Path
) -> None:
    tok = tokenmill.load(model)
    expected = [
        dict(list(row.items())[::2]) for row in tok.apply_chat_template([CHAT, SHORT], return_labels=True)
    ]
    assert [sorted(row) for row in expected] == [["input_ids", "labels"]] * 2
    files = [
        saved(tmp_path / "a.jsonl", CHAT, {"messages": SHORT, "id": 7}),
        saved(tmp_path / "b.json", [CHAT, SHORT]),
        saved(tmp_path / "c.json", [{"messages": CHAT}, {"messages": SHORT, "tools": None}]),
    ]
    indented = tmp_path / "d.json"
    indented.write_text(json.dumps([CHAT, SHORT], indent=1))
    gaps = tmp_path / "e"
    gaps.write_bytes(b"\xef\xbb\xbf\n" + files[0].read_bytes().replace(b"\n", b"\r\n\r\n"))
    for path in [*files, indented, gaps]:
        rows = run("chat", "-t", model, path, "--labels").out.splitlines()
        assert [json.loads(row) for row in rows] == expected
    halves = [saved(tmp_path / "f.jsonl", CHAT), saved(tmp_path / "g.jsonl", SHORT)]
    rows = run("chat", "-t", model, *halves, "--labels").out.splitlines()
    assert [json.loads(row) for row in rows] == expected
    rows = run("chat", "-t", model, "--labels", stdin=files[0].read_bytes()).out.splitlines()
    assert [json.loads(row) for row in rows] == expected


def test_arrays_are_those_of_a_ragged(run: Run, model: Path, tmp_path: Path) -> None:
    tok = tokenmill.load(model)
    encodings = tok.apply_chat_template([CHAT, SHORT], return_labels=True)
    path, out = saved(tmp_path / "chats.jsonl", CHAT, SHORT), tmp_path / "train.npz"
    result = run("chat", "-t", model, path, "--labels", "--out", out)
    assert (result.code, result.out) == (0, b"")
    ids, trained = (
        sum(map(len, (e["input_ids"] for e in encodings))),
        sum(sum(e["loss_mask"]) for e in encodings),
    )
    saved_line, note = result.err.splitlines()
    assert saved_line == f"saved {out}: 2 conversations, {ids} ids, {trained} of them trained"
    assert note.startswith(
        "note: 1 literal of control tokens in messages is text, as any other: <|im_end|> (1)"
    )
    with np.load(out) as arrays:
        assert sorted(arrays) == ["ids", "labels", "row_offsets"]
        rows = tokenmill.Ragged(arrays["ids"], arrays["row_offsets"])
        labels = tokenmill.Ragged(arrays["labels"], arrays["row_offsets"])
    assert rows.to_lists() == [e["input_ids"] for e in encodings]
    assert labels.to_lists() == [e["labels"] for e in encodings]
    once = out.read_bytes()
    run("chat", "-t", model, path, "--labels", "--out", out)
    assert out.read_bytes() == once
    run("chat", "-t", model, path, "--out", out)
    with np.load(out) as arrays:
        assert sorted(arrays) == ["ids", "row_offsets"]


def test_json_has_what_an_encoding_has(run: Run, model: Path, tmp_path: Path) -> None:
    encoding = tokenmill.load(model).apply_chat_template(CHAT, return_labels=True)
    path = saved(tmp_path / "chats.jsonl", SHORT, CHAT)
    facts = run("chat", "-t", model, path, "--labels", "--json", "--show", 2).json
    assert (facts["file"], facts["line"], facts["conversation"]) == (str(path), 2, 2)
    assert facts["text"] == encoding.text
    assert (facts["input_ids"], facts["labels"]) == (encoding["input_ids"], encoding["labels"])
    assert facts["offsets"] == encoding.offsets.tolist()
    assert facts["segments"] == [segment._asdict() for segment in encoding.segments]
    assert [turn["message"] for turn in facts["turns"]] == [2]
    assert [literal["literal"] for literal in facts["literals"]] == ["<|im_end|>"]
    assert facts["unnamed_tokens"] == facts["written_as_text"] == []


def test_a_surrogate_alone_is_still_json(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "\\ud800"}]')
    assert run("chat", "-t", model, path).code == 0
    assert "\ud800" in run("chat", "-t", model, path, "--json").json["text"]


def test_what_is_trained_is_said_by_words_and_numbers(run: Run, model: Path, tmp_path: Path) -> None:
    tok = tokenmill.load(model)
    chat = [*CHAT, *SHORT]
    path = saved(tmp_path / "chat.json", chat)
    cases: list[tuple[list[str], Any]] = [
        (["last"], "last"),
        (["user,4"], ["user", 4]),
        (["1", "--train-on", "-1"], [1, -1]),
        (["content"], "content"),
    ]
    for words, train_on in cases:
        facts = run("chat", "-t", model, path, "--json", "--train-on", *words).json
        assert (
            facts["labels"] == tok.apply_chat_template(chat, return_labels=True, train_on=train_on)["labels"]
        )


def test_tools_and_variables_go_to_the_template(run: Run, model: Path, tmp_path: Path) -> None:
    path, tools = saved(tmp_path / "chat.json", SHORT), saved(tmp_path / "tools.json", TOOLS)
    given = ("chat", "-t", model, "--json", "--template", "tools only")
    assert run(*given, path).json["text"] == "Hi|Ho|"
    assert run(*given, path, "--tools", tools).json["text"] == "weather;Hi|Ho|"
    own = saved(tmp_path / "own.json", {"messages": SHORT, "tools": TOOLS * 2})
    assert run(*given, own, "--tools", tools).json["text"] == "weather;weather;Hi|Ho|"
    source = tmp_path / "mine.jinja"
    source.write_text("{{ think }} {{ kind }} {{ strftime_now('%Y-%m-%d') }} {{ messages[0].content }}")
    dated: tuple[Any, ...] = ("chat", "-t", model, "--json", "--template", source, "--now", "2025-01-31")
    facts = run(*dated, "--set", "think=false", "--set", "kind=a=b", path).json
    assert (facts["text"], facts["template"]) == ("False a=b 2025-01-31 Hi", "mine.jinja")
    own = saved(tmp_path / "own.json", {"messages": SHORT, "chat_template_kwargs": {"think": 1}})
    assert run(*dated, own).json["text"] == "1  2025-01-31 Hi"
    prompted = run("chat", "-t", model, "--json", "--add-generation-prompt", path).json["text"]
    assert prompted.endswith("<|im_start|>assistant\n")
    assert (
        run("chat", "-t", model, "--json", "--template", "gemma", path)
        .json["text"]
        .endswith("Ho<end_of_turn>\n")
    )


def test_a_bar_is_shown_for_many_on_a_terminal(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "chats.jsonl", CHAT, SHORT)
    expected = run("chat", "-t", model, path, "--out", tmp_path / "a.jsonl")
    monkeypatch.setattr(command, "bar_wanted", lambda: True)
    assert run("chat", "-t", model, path, "--out", tmp_path / "b.jsonl").code == expected.code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    steps: list[tuple[str, int, int]] = []
    args = argparse.Namespace(files=[str(path)])
    read = conversations(args.files)
    list(command._followed(read, args, lambda *step: steps.append(step)))
    sizes = [len(line) for line in path.read_bytes().splitlines(keepends=True)]
    assert steps == [("encoding", sizes[0], sum(sizes)), ("encoding", sum(sizes), sum(sizes))]


SAID = '[{"role": "user", "content": "Hi"}]'


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        (f'{SAID}\n\n{{"messages": []}}', "", "{path}: line 3, conversation 2: has no messages"),
        (f'{SAID}\n[{{"role": "user"}}]\n[', "", "{path}: line 3, column 2: no JSON: expecting value"),
        ('[{"role": "user",\n}]', "", "{path}: line 2, column 1: no JSON: "),
        ('["Hi"]', "", "{path}: conversation 1[0]: an object is needed, not a string"),
        ('{"messages": {}}', "", "conversation 1: messages: a list of messages is needed, not an object"),
        ('{"chat": 1, "id": 2}', "", "under `messages`, and this one has the keys chat, id"),
        (f'{{"messages": {SAID}, "tools": "x"}}', "", "tools: a list of objects is needed, not a string"),
        (
            f'{{"messages": {SAID}, "chat_template_kwargs": {{"literals": "parse"}}}}',
            "",
            "chat_template_kwargs has 'literals', which is no variable of a template",
        ),
        ("[" * 200_000, "", "nested too deeply"),
        ("", "", "is empty"),
        (
            f'{SAID}\n[{{"role": "robot"}}]',
            "",
            "line 2, conversation 2: chat template 'default': messages[0] has",
        ),
        (
            f"{SAID}\n{SAID}",
            "--labels",
            "line 1, conversation 1: chat template 'default': nothing of the conversation",
        ),
        (SAID, "--train-on 4", "conversation 1: --train-on: there is no message 4; there are 1"),
        (SAID.replace("Hi", "<|im_end|>"), "--literals reject", "messages[0].content holds '<|im_end|>'"),
        (SAID, "--show 2", "--show 2: there is 1 conversation"),
        (SAID, "--template no", "no: neither a file nor a template; there are default, tools only, chatml"),
        (SAID, "--literals maybe", "--literals maybe is none of text, reject, parse"),
        (SAID, "--literals text --literals user=parse", "one thing of all messages, and others of some"),
        (SAID, "--set literals=parse", "--set literals: is no variable of a template"),
        (SAID, "--set x", "--set x is not NAME=VALUE"),
        (SAID, "--now soon", "--now soon is no date"),
        (SAID, "--allow-empty", "--allow-empty is for what is trained"),
        (SAID, "--train-on user,,last", "--train-on is empty"),
        (SAID, "--json --out x.npz", "two forms of output"),
    ],
)
def test_errors_say_what_is_wrong_and_where(
    run: Run,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    arguments: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chat.json"
    path.write_text(content)
    result = run("chat", "-t", model, path, *arguments.format(path=path).split())
    assert (result.code, result.out) == (2, b"")
    assert says.format(path=path) in result.err.splitlines()[0]
    assert len(result.err.splitlines()) <= 2
    assert [found.name for found in tmp_path.iterdir()] == ["chat.json"]


def test_a_line_that_is_no_json_is_named_where_the_file_has_lines(
    run: Run, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text('[{"role": "user"}\n[]\n')
    result = run("chat", "-t", model, path)
    assert f"{path}: line 1, column 18: no JSON" in result.err
    path.write_bytes(b'[{"role": "user"}]\n["\xff"]\n')
    assert f"{path}: line 2, column 3: a byte that is not UTF-8" in run("chat", "-t", model, path).err


def test_a_tokenizer_without_a_template_needs_one(run: Run, folder: Path, tmp_path: Path) -> None:
    path = saved(tmp_path / "chat.json", SHORT)
    result = run("chat", "-t", folder, path)
    assert (result.code, result.out) == (2, b"")
    assert f"{folder}: has no chat template" in result.err
    # What comes with tokenmill is for models that were trained with it.
    assert (
        "--template FILE, the chat_template of its model; or one that comes with tokenmill, if" in result.err
    )
    assert run("chat", "-t", folder, path, "--template", "chatml").code == 0


def test_names_that_no_variable_can_have_are_those_of_the_call() -> None:
    named = {*inspect.signature(tokenmill.Tokenizer.apply_chat_template).parameters}
    named |= {*inspect.signature(render).parameters}
    assert named - {"self", "source", "variables"} == ARGUMENTS
