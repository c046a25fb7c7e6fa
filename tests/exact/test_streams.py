"""Decode streams: joined pieces are what the whole decodes to, here and in tokenizers 0.23.3."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from exact.files import both, file_of
from exact.test_decoders import CHAINS, SINGLE, TOKENS, name

PUBLISHED = ["bert-base-uncased", "clip", "gpt2", "llama2", "llama3", "mistral-7b-v0.3", "t5-small"]


def pieces(tok: Any, ids: list[int], **options: Any) -> list[str]:
    """What each id lets out, and what the end does."""
    stream = tok.decode_stream(**options)
    return [*(stream.step(id) for id in ids), stream.finish()]


def check(tok: Any, ids: list[int], rng: random.Random, **options: Any) -> None:
    """A stream, cut anywhere, gives what the whole gives."""
    whole = tok.decode(ids, **options)
    given = pieces(tok, ids, **options)
    assert "".join(given) == whole
    if "\ufffd" not in whole:
        assert not any("\ufffd" in piece for piece in given)
    cut = rng.randrange(len(ids) + 1)
    stream = tok.decode_stream(**options)
    stream.extend([*ids, *ids[:cut]])
    stream.reset()
    parts = [stream.extend(ids[:cut]), stream.extend(ids[cut:]), stream.finish()]
    assert "".join(parts) == whole
    # `finish` has set it back.
    assert stream.extend(ids) + stream.finish() == whole


@pytest.mark.parametrize("decoder", [*SINGLE, *CHAINS], ids=name)
def test_every_decoder_streams(native: Any, tmp_path: Path, decoder: Any, rounds: int) -> None:
    rng = random.Random(1)
    ours, theirs = both(native, tmp_path, file_of(TOKENS, decoder=decoder))
    for _ in range(rounds):
        ids = [rng.randrange(len(TOKENS)) for _ in range(rng.randrange(10))]
        check(ours, ids, rng)
        assert "".join(pieces(ours, ids)) == theirs.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("vocabulary", PUBLISHED)
def test_random_ids_of_published_files_stream(native: Any, data: Path, vocabulary: str, rounds: int) -> None:
    from tokenizers import Tokenizer

    path = data / "vocab" / vocabulary / "tokenizer.json"
    ours, theirs = native.load(path), Tokenizer.from_file(str(path))
    rng = random.Random(2)
    known = sorted(ours.vocab.values())
    # Byte tokens and short ones are where characters are cut.
    odd = [id for token, id in ours.vocab.items() if len(token) < 3 or token.startswith("<0x")]
    for _ in range(rounds):
        ids = [rng.choice(rng.choice([known, odd])) for _ in range(rng.randrange(12))]
        skip = rng.random() < 0.5
        check(ours, ids, rng, skip_special_tokens=skip)
        expected = theirs.decode(ids, skip_special_tokens=skip)
        assert "".join(pieces(ours, ids, skip_special_tokens=skip)) == expected


def test_text_comes_at_least_as_soon_as_in_the_peer(native: Any, data: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream

    path = data / "vocab" / "gpt2" / "tokenizer.json"
    ours, theirs = native.load(path), Tokenizer.from_file(str(path))
    ids = theirs.encode("Streams of 日本語 and 😀, é!").ids
    stream = DecodeStream(skip_special_tokens=False)
    expected = [stream.step(theirs, id) or "" for id in ids]
    found = pieces(ours, ids)
    assert found[-1] == ""
    for length in range(len(ids) + 1):
        assert "".join(found[:length]).startswith("".join(expected[:length]))
    assert "".join(found) == "".join(expected)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """How many random lists: 100,000 in all of a file when slow."""
    return 100_000 if request.config.getoption("--slow") else 300


def test_invalid_bytes_take_linear_time_and_no_memory(native: Any) -> None:
    tok = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
    stream = tok.decode_stream()
    given = [stream.step(0xFF) for _ in range(10_000)]
    assert given == ["\ufffd"] * 10_000
    assert [stream.step(byte) for byte in b"\xe4\xb8\xadx\xe4x"] == ["", "", "中", "x", "", "\ufffdx"]
    assert (stream.step(0xC3), stream.finish()) == ("", "\ufffd")


@pytest.mark.parametrize(("policy", "expected"), [("replace", "a\ufffdb\ufffd"), ("ignore", "ab")])
def test_a_policy_for_errors_holds_across_pieces(native: Any, policy: str, expected: str) -> None:
    tok = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
    ids = list(b"a\xe4\xb8b\xc3")
    assert "".join(pieces(tok, ids, errors=policy)) == tok.decode(ids, errors=policy) == expected
    stream = tok.decode_stream(errors="strict")
    assert stream.extend(list(b"a\xe4")) == "a"
    with pytest.raises(UnicodeDecodeError):
        stream.step(ord("b"))


def test_an_id_that_does_not_exist_is_not_taken(native: Any, tmp_path: Path) -> None:
    for decoder in (None, CHAINS[0]):
        ours, _ = both(native, tmp_path, file_of(["a", "b"], decoder=decoder))
        stream = ours.decode_stream()
        first = stream.step(0)
        for take in (stream.step, lambda id, stream=stream: stream.extend([1, id])):
            with pytest.raises(native.VocabularyError) as error:
                take(9)
            assert error.value.id == 9
        assert first + stream.step(1) + stream.finish() == ours.decode([0, 1])
        assert "".join(pieces(ours, [0, 9, 1], undefined="skip")) == ours.decode([0, 1])
        assert "".join(pieces(ours, [0, 9], undefined="replace")) == ours.decode([0, 9], undefined="replace")
