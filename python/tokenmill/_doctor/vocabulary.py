"""The table of tokens: gaps, duplicates, missing bytes, tokens by accident, tokens that no text has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import TokenmillError
from ..findings import Finding
from .examined import Examined, counted, found, listed, some

__all__ = ["checks"]

NOT_IN_TEXT = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])
"""The bytes that UTF-8 never has."""
LONG = 16
"""The least characters, and letters, of a token that may be there by accident."""
MOST_LONG = 0.02
"""The share of such tokens above which ``over_represented`` warns."""
MOST_PARTIAL = 0.1
"""The share of tokens of several bytes with part of a character above which ``partial_utf8`` warns."""
ENOUGH_TEXT = 20
"""A text has enough tokens to say what is unseen where it has this many for each id."""
MOST_UNSEEN = 0.5
"""The share of ids above which ``unseen`` warns in such a text."""


def checks(examined: Examined) -> Iterator[Finding]:
    """``gaps``, ``duplicates``, ``missing_bytes``, ``partial_utf8``, ``over_represented``, ``unseen``."""
    yield _gaps(examined)
    yield _duplicates(examined)
    yield from _missing_bytes(examined)
    yield from _partial(examined)
    yield _over_represented(examined)
    yield from _unseen(examined)


def _gaps(examined: Examined) -> Finding:
    ids = sorted(set(examined.vocab.values()))
    gaps = [[before + 1, after] for before, after in zip([-1, *ids], ids, strict=False) if after > before + 1]
    missing = sum(stop - start for start, stop in gaps)
    if gaps:
        spans = [str(start) if stop == start + 1 else f"{start}-{stop - 1}" for start, stop in gaps]
        return found(
            "gaps",
            "file",
            f"{missing:,} ids below the largest have no token: {', '.join(spans[:5])}"
            + (", …" if len(spans) > 5 else ""),
            status="warn",
            way_out="an embedding needs max_id + 1 rows, not vocab_size; a missing id that a model writes "
            "cannot be decoded",
            ids=missing,
            ranges=some(gaps),
        )
    return found("gaps", "file", f"{len(ids):,} ids without a gap")


def _duplicates(examined: Examined) -> Finding:
    by_bytes: dict[bytes, list[int]] = {}
    # Bytes that are tokens for lack of a character differ from the characters of their text.
    for id, token in examined.ordinary.items():
        if token and not (examined.spells_bytes and _is_byte_token(examined.written.get(id, ""))):
            by_bytes.setdefault(_as_written(examined, id, token), []).append(id)
    twice = [ids for ids in by_bytes.values() if len(ids) > 1]
    twice += [
        [id, other]
        for literal, id in examined.added.items()
        for other in by_bytes.get(literal.encode(), [])
        if other != id
    ]
    if twice:
        names = [examined.written.get(ids[0], "") for ids in twice]
        return found(
            "duplicates",
            "file",
            counted(len(twice), "token has", "tokens have") + f" several ids: {listed(names)}",
            status="warn",
            way_out="a text gives only one of the ids; the others have rows that are never trained",
            tokens=len(twice),
            ids=some(twice),
        )
    return found("duplicates", "file", "no two ids have the same bytes")


def _as_written(examined: Examined, id: int, token: bytes) -> bytes:
    """The bytes of a token, with the marks of where in a word it stands."""
    if examined.model in ("bytes", "score"):
        return token
    return examined.written.get(id, "").encode() or token


def _missing_bytes(examined: Examined) -> Iterator[Finding]:
    if examined.model == "bytes":
        single = {token for token in examined.ordinary.values() if len(token) == 1}
        missing = [byte for byte in range(256) if bytes([byte]) not in single]
        if missing and NOT_IN_TEXT.issuperset(missing):
            yield found(
                "missing_bytes",
                "file",
                counted(
                    len(missing),
                    "byte that no text holds is no token",
                    "bytes that no text holds are no tokens",
                )
                + f": {_bytes(missing)}",
                status="warn",
                way_out="every str is spelled; bytes that are not UTF-8 are not",
                bytes=missing,
            )
        elif missing:
            yield found(
                "missing_bytes",
                "file",
                f"{len(missing)} of the 256 bytes are no tokens: {_bytes(missing)}",
                status="fail",
                way_out="texts with these bytes cannot be spelled: restore the tokens, at their ids",
                bytes=missing,
            )
        else:
            yield found("missing_bytes", "file", "all 256 bytes are tokens")
        return
    named = {byte for byte in range(256) if f"<0x{byte:02X}>" in examined.vocab}
    if not named:
        examined.skip("missing_bytes", "the vocabulary does not spell bytes")
        return
    lost = [byte for byte in range(256) if byte not in named]
    spelled = examined.encode("\U00030123")
    uses = isinstance(spelled, list) and {examined.vocab.get(f"<0x{byte:02X}>") for byte in (0xF0, 0xB0)} <= {
        *spelled
    }
    if lost:
        yield found(
            "missing_bytes",
            "file",
            f"{len(lost)} of the 256 byte tokens are missing: {_bytes(lost)}",
            status="fail",
            way_out="characters outside the vocabulary become the unknown token: restore the tokens, at "
            "their ids",
            bytes=lost,
        )
    elif not uses:
        yield found(
            "missing_bytes",
            "file",
            "the vocabulary has a token for each byte, but byte_fallback is off: nothing is spelled with "
            "them",
            status="fail",
            way_out="set model.byte_fallback to true, as the vocabulary expects",
            bytes=[],
        )
    else:
        yield found(
            "missing_bytes", "file", "characters outside the vocabulary are spelled by 256 byte tokens"
        )


def _partial(examined: Examined) -> Iterator[Finding]:
    if examined.model != "bytes":
        examined.skip("partial_utf8", "the tokens are characters")
        return
    partial = []
    for id, token in examined.ordinary.items():
        try:
            token.decode("utf-8")
        except UnicodeDecodeError:
            partial.append(id)
    several = [id for id in partial if len(examined.ordinary[id]) > 1]
    share = len(several) / max(1, len(examined.ordinary))
    facts: dict[str, Any] = {"tokens": len(partial), "several_bytes": len(several), "ids": some(several)}
    message = counted(len(several), "token of several bytes holds", "tokens of several bytes hold")
    message += " part of a character"
    if share > MOST_PARTIAL:
        yield found(
            "partial_utf8",
            "file",
            message,
            status="warn",
            way_out="decode streams with decode_stream, and expect U+FFFD where ids are cut; a vocabulary "
            "with so many was trained on little text of some script, or on bytes that are no text",
            **facts,
        )
        return
    yield found("partial_utf8", "file", message, **facts)


def _over_represented(examined: Examined) -> Finding:
    """Long tokens, which one page that is repeated puts into a vocabulary, and language does not."""
    long: list[str] = []
    for id, token in examined.ordinary.items():
        if len(token) < LONG:
            continue  # a character has a byte at least
        text = examined.bytes_in_text(id).decode("utf-8", "replace").strip(" ▁")
        if len(text) >= LONG and (_repeats(text) or not text.isalpha() or len(text) >= 2 * LONG):
            long.append(text)
    long.sort(key=len, reverse=True)
    share = len(long) / max(1, len(examined.ordinary))
    facts: dict[str, Any] = {
        "tokens": len(long),
        "share": round(share, 6),
        "longest": [text[:100] for text in some(long)],
    }
    message = "no token is long"
    if long:
        message = counted(len(long), "token is", "tokens are") + f" long and no word: {listed(long)}"
    if share > MOST_LONG:
        return found(
            "over_represented",
            "file",
            message,
            status="warn",
            way_out="the training text repeated something many times: remove duplicates, or set "
            "max_token_length",
            **facts,
        )
    return found("over_represented", "file", message, **facts)


def _repeats(text: str) -> bool:
    """Whether it is a shorter text, several times."""
    return text in (text + text)[1:-1]


def _unseen(examined: Examined) -> Iterator[Finding]:
    if not examined.texts:
        examined.skip("unseen", "no text was given")
        return
    seen: dict[int, int] = {}
    total = unknown = 0
    for text in examined.texts:
        try:
            ids = examined.tok.encode(text)
        except TokenmillError:
            continue  # `unknown` says so
        total += len(ids)
        for id in ids:
            seen[id] = seen.get(id, 0) + 1
    unknown = seen.get(-1 if examined.tok.unk_token_id is None else examined.tok.unk_token_id, 0)
    ordinary = len(examined.ordinary)
    unseen = [id for id in examined.ordinary if id not in seen]
    share = len(unseen) / max(1, ordinary)
    facts: dict[str, Any] = {
        "tokens": total,
        "unseen": len(unseen),
        "share": round(share, 6),
        "unknown": unknown,
        "ids": some(unseen),
    }
    message = f"{len(unseen):,} of {ordinary:,} tokens are not in the {total:,} tokens of the text"
    if total >= ENOUGH_TEXT * ordinary and share > MOST_UNSEEN:
        yield found(
            "unseen",
            "text",
            message,
            status="warn",
            way_out="the vocabulary was made for other text: compare sizes with `tokenmill curve`, or "
            "train one",
            **facts,
        )
        return
    yield found("unseen", "text", message, **facts)


def _is_byte_token(written: str) -> bool:
    return len(written) == 6 and written.startswith("<0x") and written.endswith(">")


def _bytes(numbers: list[int]) -> str:
    return ", ".join(f"0x{number:02X}" for number in numbers[:5]) + (", …" if len(numbers) > 5 else "")
