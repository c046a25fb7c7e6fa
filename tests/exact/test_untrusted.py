"""Law 9 over published tokenizers: untrusted text becomes no special and no protected token.

All added tokens are protected, white space too, which is more than a chat asks for: the vocabularies of some
models hold them as ordinary tokens. Each literal comes whole, in halves of which one is trusted, in other
cases and forms, and among others.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_published import VOCABULARIES
from .texts import pieces

Case = tuple[str, list[tuple[int, int]]]
"""A text, and what of it is untrusted."""


@pytest.fixture(scope="module", params=VOCABULARIES)
def loaded(
    request: pytest.FixtureRequest, native: Any, data: Path
) -> tuple[str, Any, dict[str, int], set[int]]:
    """Name, tokenizer, its added tokens by literal, and the ids that text must not become."""
    path = data / "vocab" / request.param / "tokenizer.json"
    added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    tokens = {token["content"]: token["id"] for token in added}
    tok = native.load(path)
    # What the vocabulary cannot spell is unknown, whoever wrote it.
    return request.param, tok, tokens, set(tokens.values()) - {tok.unk_token_id}


def forms(literal: str) -> Iterator[str]:
    """A literal, and what normalization may make it of."""
    yield from (literal, literal.upper(), literal.lower(), literal.title())
    yield from (f" {literal}", f"{literal} ", f"\n{literal}\n", f"a{literal}", f"{literal}b", f"{literal}é")
    yield from (unicodedata.normalize(form, literal) for form in ("NFD", "NFKD"))
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in literal)
    yield from (wide, wide[:1] + literal[1:], literal[:-1] + wide[-1:])
    for between in ("\u200b", "\u00ad", "\u0301", "\x00", "\ufeff"):
        middle = len(literal) // 2
        yield literal[:middle] + between + literal[middle:]
    yield from (literal.replace(" ", "▁"), literal.replace("▁", " "), literal.replace("|", "\uff5c"))
    yield literal.encode().decode("latin-1")
    yield "".join(f"<0x{byte:02X}>" for byte in literal.encode())


def hostile(name: str, literals: list[str], limit: int) -> Iterator[Case]:
    rng = random.Random(name)
    chosen = literals if len(literals) <= limit else rng.sample(literals, limit)
    for literal in chosen:
        for text in forms(literal):
            yield text, [(0, len(text))]
        for at in {1, len(literal) // 2, len(literal) - 1} - {0, len(literal)}:
            yield literal, [(at, len(literal))]
            yield literal, [(0, at)]
            yield literal, [(at, at + 1)]
            # The border is in another literal.
            yield literal + literal, [(at, at + len(literal))]
    for _ in range(limit):
        text = "".join(
            rng.choice(rng.choice([literals, ["a", " ", "é", "\n", "<", "|", "▁"]])) for _ in range(8)
        )
        yield text, [(0, len(text))]
        yield text, [(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_untrusted_text_becomes_a_protected_token(
    loaded: tuple[str, Any, dict[str, int], set[int]], slow: bool
) -> None:
    name, tok, tokens, forbidden = loaded
    cases = trusted = 0
    for text, untrusted in hostile(name, sorted(tokens), 2_000 if slow else 60):
        for special in ("parse", "text"):
            options: dict[str, Any] = {"special": special, "untrusted": untrusted, "protected": [*tokens]}
            ids = tok.encode(text, **options)
            assert forbidden.isdisjoint(ids), (text, untrusted, special)
            cases += 1
            trusted += not forbidden.isdisjoint(tok.encode(text, special=special))
        # No character is lost: tokens that take white space do so only where they are trusted.
        if untrusted == [(0, len(text))] and tok.decode(tok.encode(text)) == text:
            assert tok.decode(ids) == text
        encoding = tok.encode_with_offsets(text, **options)
        assert encoding.ids == ids, text
        assert tok.count(text, **options) == len(ids)
        if untrusted == [(0, len(text))]:
            assert tok.find_added(text, untrusted=untrusted, protected=[*tokens]) == []
    print(f"{name}: {cases} encodings, none with such an id; {trusted} have one if all of it is trusted")
    assert trusted > 0


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_text_without_literals_is_encoded_as_ever(
    loaded: tuple[str, Any, dict[str, int], set[int]], data: Path, slow: bool
) -> None:
    _, tok, tokens, _ = loaded
    compared = 0
    for source in ("english", "code", "multilingual"):
        for text in pieces(data / "corpus" / f"{source}.txt", 1_000_000, 1 if slow else 40):
            plain = tok.encode(text, special="parse")
            if not tok.find_added(text):
                half = len(text) // 2
                for untrusted in ([(0, len(text))], [(at, at + 7) for at in range(0, half, 20)]):
                    assert (
                        tok.encode(text, special="parse", untrusted=untrusted, protected=[*tokens]) == plain
                    )
                compared += 1
    assert compared > 0
