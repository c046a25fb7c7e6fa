"""Places where a text must not be cut, though most of what is around them looks as if it might."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenmill

EVERY = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}


def made(
    folder: Path, model: dict[str, Any], added: list[dict[str, Any]] | None = None, **stages: Any
) -> Any:
    """A tokenizer from a tokenizer.json of these parts."""
    parts = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None, "decoder": None}
    tokens = [
        {
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
            **token,
        }
        for token in added or []
    ]
    stages = {"normalizer": None, "pre_tokenizer": None, **stages}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**parts, "added_tokens": tokens, **stages, "model": model}), encoding="utf-8")
    return tokenmill.load(path)


def words(*tokens: str) -> dict[str, Any]:
    """A WordPiece model."""
    vocab = {token: number for number, token in enumerate(["[UNK]", *tokens])}
    return {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocab,
    }


def characters(*tokens: str, merges: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    """A BPE model over characters."""
    vocab = {token: number for number, token in enumerate(tokens)}
    return {"type": "BPE", "vocab": vocab, "merges": [list(pair) for pair in merges], "unk_token": None}


def check(tok: Any, pieces: list[str], special: Any = "text") -> None:
    """A text that grows by these pieces, its chunks, and its ends: beside encoding each of them."""
    appender = tok.appender(special=special)
    text = ""
    for piece in pieces:
        appender.push(piece)
        text += piece
        assert appender.ids() == tok.encode(text, special=special), text
    for n in (1, 2, 3, 5, 8):
        for side in ("left", "right"):
            chunk = tok.truncate(text, n, side=side, special=special)
            assert chunk.ids == tok.encode(chunk.text, special=special)
            assert chunk.count <= n
            ends = range(len(text) + 1)
            parts = [text[end:] if side == "left" else text[:end] for end in ends]
            fitting = [len(part) for part in parts if tok.count(part, special=special) <= n]
            assert len(chunk.text) == max(fitting)
        chunks = tok.chunk(text, n, special=special, oversize="keep")
        for chunk in chunks:
            assert chunk.ids == tok.encode(chunk.text, special=special)
        for limit in (n, n + 1):
            count = tok.count(text, special=special)
            want = count if count <= limit else None
            assert tok.count_till_limit(text, limit, special=special) == want


def test_behind_an_added_token_a_text_begins(data: Path, tmp_path: Path) -> None:
    settings = json.loads((data / "vocab" / "gpt2" / "tokenizer.json").read_text(encoding="utf-8"))
    settings["pre_tokenizer"]["add_prefix_space"] = True
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    tok = tokenmill.load(path)
    check(tok, ["<|endoftext|>", "a", "b", " c", "<|endoftext|>", "x.y"], "parse")
    tok = made(
        tmp_path,
        characters("\u2581", "a", "b", "\u2581a", *"</s>", merges=(("\u2581", "a"),)),
        [{"id": 8, "content": "</s>"}],
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [EVERY, {"type": "Punctuation", "behavior": "Isolated"}],
        },
    )
    check(tok, ["a", "</s>", "a", "b", " a", "</s>", "b"], "parse")


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_mark_that_follows_may_change_the_last_character(tmp_path: Path, form: str) -> None:
    model = words("x", "##y", "xy\u226e", "<", "\u226e", "##\u226e", "y")
    tok = made(tmp_path, model, normalizer={"type": form}, pre_tokenizer={"type": "BertPreTokenizer"})
    check(tok, ["xy<", "\u0338", " x", "y", "<", "\u0338"])
    path = tmp_path / "text.txt"
    path.write_text("xy<\u0338", encoding="utf-8")
    assert [chunk.text for chunk in tok.chunk_file(path, 1, block_size=3)] == ["xy<\u0338"]
    assert tok.count_till_limit(" " * 253 + "xy<\u0338", 1) == 1


def test_literals_that_are_normalized(tmp_path: Path) -> None:
    bert = {"type": "BertPreTokenizer"}
    added = [{"id": 3, "content": "a\u00a0b", "normalized": True, "special": False}]
    tok = made(tmp_path, words("a", "b"), added, normalizer={"type": "NFKC"}, pre_tokenizer=bert)
    check(tok, ["a", " ", "b", " ", "a", " b ", "a"])
    replace = {"type": "Replace", "pattern": {"String": "_"}, "content": "-"}
    added = [{"id": 3, "content": "1-", "normalized": True, "special": False}]
    tok = made(tmp_path, words("1", "-"), added, normalizer=replace, pre_tokenizer=bert)
    check(tok, ["1", "_", "1_", "1"])
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    added = [{"id": 3, "content": "a\u2581b", "normalized": True, "special": False}]
    never = {**EVERY, "prepend_scheme": "never"}
    tok = made(tmp_path, characters("\u2581", "a", "b"), added, normalizer=replace, pre_tokenizer=never)
    check(tok, ["b", " ", "a", " ", "b", " a", " b"])


def test_white_space_behind_the_byte_alphabet(tmp_path: Path) -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b": 2, "a\u0120b": 3}, "unk_token": "[UNK]"}
    for step in ({"type": "WhitespaceSplit"}, {"type": "CharDelimiterSplit", "delimiter": " "}):
        steps = {"type": "Sequence", "pretokenizers": [byte_level, step]}
        check(made(tmp_path, model, pre_tokenizer=steps), ["a", " ", "b", " a", " b"])


def test_spaces_that_bert_puts_around_ideographs(tmp_path: Path) -> None:
    bert = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    model = characters("漢", "字", " ", "  ", merges=((" ", " "),))
    check(made(tmp_path, model, normalizer=bert), ["漢", "字", "漢字", "漢"])
    split = {
        "type": "Split",
        "pattern": {"Regex": "漢 {2}字 {2}漢 b|bc"},
        "behavior": "Isolated",
        "invert": False,
    }
    steps = {"type": "Sequence", "pretokenizers": [split, {"type": "BertPreTokenizer"}]}
    tok = made(tmp_path, words("漢", "字", "b", "c", "bc"), normalizer=bert, pre_tokenizer=steps)
    check(tok, ["漢字漢bc", "b", "漢", "字", "漢b"])


def letters_in_lower_case(count: int) -> list[str]:
    """Letters of two bytes of which no two end with the same one, and each is a lower-case letter."""
    found = []
    for number in range(count):
        candidates = (bytes([lead, 0x80 + number]).decode() for lead in (0xD1, 0xCA, 0xC9, 0xCB, 0xC4))
        found.append(next(letter for letter in candidates if letter.isalpha() and letter == letter.lower()))
    return found


def test_tokens_of_bytes_end_inside_characters(tmp_path: Path) -> None:
    """Sixty prefixes in a row, each a letter longer, have more and more ids; the next has half as many."""
    letters = letters_in_lower_case(60)
    content = "".join(letters).encode() + b"a"
    # Neighbours merge from the right end of the text on, and so in one of two ways; only in one of them four
    # bytes are a token, which begins and ends inside characters.
    pairs = [(content[at : at + 1], content[at + 1 : at + 2]) for at in range(len(content) - 1)]
    merges = list(dict.fromkeys(reversed(pairs)))
    inside = [content[at : at + 2] for at in range(1, len(content) - 1, 2)]
    merges += dict.fromkeys(zip(inside[::2], inside[1::2], strict=False))
    alphabet = tokenmill.Tokenizer.from_tokens([bytes([value]) for value in range(256)]).vocab
    written = {number: letter for letter, number in alphabet.items()}

    def in_alphabet(token: bytes) -> str:
        return "".join(written[value] for value in token)

    pairs_written = [(in_alphabet(left), in_alphabet(right)) for left, right in merges]
    tokens = [*written.values(), *(left + right for left, right in pairs_written)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tok = made(
        tmp_path,
        characters(*tokens, merges=tuple(pairs_written)),
        normalizer={"type": "Lowercase"},
        pre_tokenizer=byte_level,
    )
    text = "".join(letters) + "A" + "z" * 400
    assert [tok.count(text[:length]) for length in (59, 60, 61)] == [59, 60, 31]
    for n in (32, 35, 40):
        lengths = [length for length in range(len(text) + 1) if tok.count(text[:length]) <= n]
        assert tok.truncate(text, n).end == max(lengths) > 60


def test_scores_are_summed_from_the_start_of_a_pretoken(data: Path) -> None:
    """Rounding decides between equal scores, so that the second word depends on the first."""
    for name in ("test_ja_model", "test_model"):
        tok = tokenmill.load(data / "vocab" / "sentencepiece-test" / f"{name}.model")
        for text in ("le o000000000", "one a" + "ab" * 9, "a bbbbbbbbb ccccccccc"):
            appender = tok.appender()
            for character in text:
                appender.push(character)
            assert appender.ids() == tok.encode(text)


@pytest.mark.parametrize(
    "step",
    [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "CharDelimiterSplit", "delimiter": " "},
        {"type": "UnicodeScripts"},
        {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Removed", "invert": False},
    ],
    ids=lambda step: step["type"],
)
def test_text_that_a_step_drops_costs_nothing(tmp_path: Path, data: Path, step: dict[str, Any]) -> None:
    parts = json.loads((data / "vocab" / "gpt2" / "tokenizer.json").read_text(encoding="utf-8"))
    alphabet = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [step, alphabet]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(parts), encoding="utf-8")
    tok = tokenmill.load(path)
    for text, n in [
        ("b" + " " * 600 + "b", 1),
        (" " * 300 + "b", 0),
        ("b b " + "a" * 300, 2),
        (" " * 400, 0),
    ]:
        want = max(end for end in range(len(text) + 1) if tok.count(text[:end]) <= n)
        assert tok.truncate(text, n).end == want
        assert tok.interval_counter(text).fits(0, n) == want
