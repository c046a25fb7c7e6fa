"""What the tokenizer does with texts: round trips, offsets, fertility, determinism, speed."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from .._load import load
from ..errors import TokenmillError
from ..findings import Evidence, Finding
from .examined import Examined, found, listed, some
from .texts import FERTILITY, HARD, INVISIBLE, SAMPLE

__all__ = ["checks"]

MOST_GIVEN = 1000
"""The most given texts whose round trip and offsets are tried."""
LONGEST_GIVEN = 100_000
"""The most characters of each."""
LEAST_SPEED = 0.1
"""Megabytes of text in a second of processor time below which ``throughput`` warns: a prompt of 100 kB takes
more than a second."""

_COMPOSED = {"NFC": "NFC", "NFD": "NFD", "NFKC": "NFKC", "NFKD": "NFKD"}
_SPACES = ("Strip", "Replace", "Nmt", "Precompiled", "SentencePiece", "clean_text", "white")


def checks(examined: Examined, seconds: float) -> Iterator[Finding]:
    """``round_trip``, ``unknown``, ``invisible``, ``prefix``, ``offsets``, ``fertility`` and what follows."""
    yield from _round_trips(examined, "round_trip", "file", HARD)
    if examined.texts:
        given = {f"text {at}": text[:LONGEST_GIVEN] for at, text in enumerate(examined.texts[:MOST_GIVEN])}
        yield from _round_trips(examined, "round_trip_of_text", "text", given)
    else:
        examined.skip("round_trip_of_text", "no text was given")
    yield _unknown(examined)
    yield _invisible(examined)
    yield _prefix(examined)
    yield _offsets(examined)
    yield _fertility(examined)
    yield _determinism(examined)
    yield from _growth(examined, seconds)
    yield _throughput(examined)


def _round_trips(
    examined: Examined, check: str, evidence: Evidence, texts: Mapping[str, str]
) -> Iterator[Finding]:
    lost: dict[str, dict[str, str]] = {}
    prefixed: list[str] = []
    lossy: list[str] = []
    spaced: list[str] = []
    unspelled: list[str] = []
    unk = examined.tok.unk_token_id
    for name, text in texts.items():
        ids = examined.encode(text)
        if isinstance(ids, TokenmillError) or (unk is not None and unk in ids):
            unspelled.append(name)
            continue
        back = examined.tok.decode(ids)
        if back == text:
            continue
        if back == f" {text}":
            prefixed.append(name)
        elif _same(examined, text, back):
            (lossy if examined.normalizers else spaced).append(name)
        else:
            lost[name] = {"text": text[:200], "decoded": back[:200]}
    facts: dict[str, Any] = {
        "texts": len(texts),
        "lost": dict(some(lost.items())),
        "rewritten": some(lossy),
        "prefixed": some(prefixed),
        "unspelled": some(unspelled),
    }
    if lost:
        name = next(iter(lost))
        yield found(
            check,
            evidence,
            f"{len(lost)} of {len(texts)} texts do not come back; {name}: "
            f"{listed([lost[name]['text']])} becomes {listed([lost[name]['decoded']])}",
            status="fail",
            way_out="decoder, normalizer or vocabulary are of different tokenizers: `tokenmill inspect` "
            "shows the tokens, and Tokenizer.explain the stages",
            **facts,
        )
        return
    if prefixed:
        yield found(
            check,
            evidence,
            f"{len(prefixed)} of {len(texts)} texts come back with a space in front",
            status="warn",
            way_out="a text is encoded with a space before it that decoding keeps (add_prefix_space): "
            "compare the pre-tokenizer with the published file",
            **facts,
        )
        return
    notes = []
    if lossy or spaced:
        by = f" by {', '.join(examined.normalizers)}" if examined.normalizers else ""
        notes.append(f"{len(lossy) + len(spaced)} rewritten{by}, as the stages say")
    if unspelled:
        notes.append(f"{len(unspelled)} with characters that the vocabulary cannot spell")
    kept = len(texts) - len(lossy) - len(spaced) - len(unspelled)
    yield found(
        check,
        evidence,
        f"{kept} of {len(texts)} texts come back as they were" + "".join(f"; {n}" for n in notes),
        **facts,
    )


def _same(examined: Examined, text: str, back: str) -> bool:
    """Whether two texts differ in nothing that the stages do not declare to change."""
    names = examined.normalizers
    if examined.model != "bytes" and "▁" in "".join(examined.vocab):
        text = text.replace("▁", " ")  # how these vocabularies write a space
    drops_spaces = (
        examined.model in ("wordpiece", "wordlevel", "unigram")
        or any(part in name for name in names for part in _SPACES)
        or "Lowercase" in names
    )
    if not names and not drops_spaces:
        return text.strip(" ") == back.strip(" ") and examined.model in ("chars", "score")

    def key(value: str) -> str:
        for name in names:
            if name in _COMPOSED:
                value = unicodedata.normalize(_COMPOSED[name], value)  # type: ignore[arg-type]
        if any("Precompiled" in name or "SentencePiece" in name or "Nmt" in name for name in names):
            value = unicodedata.normalize("NFKC", value)
            value = "".join(c for c in value if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
        if any("Lowercase" in name or "lowercase" in name for name in names):
            value = value.lower()
        if any("accents" in name.lower() for name in names):
            parts = unicodedata.normalize("NFD", value)
            value = "".join(char for char in parts if unicodedata.category(char) != "Mn")
        if any("clean_text" in name for name in names):
            value = "".join(c for c in value if unicodedata.category(c) not in ("Cf", "Cc", "Co"))
        if drops_spaces:
            value = "".join(value.split())
        return value.removeprefix(" ")

    return key(text) == key(back)


def _unknown(examined: Examined) -> Finding:
    unk = examined.tok.unk_token_id
    lost: list[str] = []
    for name, text in HARD.items():
        ids = examined.encode(text)
        if isinstance(ids, TokenmillError) or (unk is not None and unk in ids):
            lost.append(name)
    letters = "".join(map(chr, range(33, 127)))
    plain = [
        char for char in letters if isinstance(ids := examined.encode(char), TokenmillError) or unk in ids
    ]
    if plain:
        return found(
            "unknown",
            "file",
            f"{len(plain)} of the 94 printable ASCII characters cannot be spelled: {listed(plain, 10)}",
            status="warn",
            way_out="a vocabulary over characters needs its alphabet: restore the tokens, or turn on "
            "byte_fallback",
            ascii=plain,
            texts=lost,
        )
    if lost:
        return found(
            "unknown",
            "file",
            f"ASCII is spelled; {len(lost)} of {len(HARD)} hard texts have characters that are not: "
            f"{listed(lost)}",
            texts=lost,
        )
    return found("unknown", "file", "every hard text is spelled")


def _invisible(examined: Examined) -> Finding:
    vanished: list[str] = []
    changed: list[str] = []
    for name, char in INVISIBLE.items():
        text = f"in{char}side"
        ids = examined.encode(text)
        if isinstance(ids, TokenmillError) or examined.tok.unk_token_id in ids:
            continue
        back = examined.tok.decode(ids).removeprefix(" ")
        if back == text:
            continue
        (vanished if "".join(back.split()) == "inside" else changed).append(name)
    facts: dict[str, Any] = {"characters": len(INVISIBLE), "vanish": vanished, "change": changed}
    if not vanished and not changed:
        return found(
            "invisible", "file", f"{len(INVISIBLE)} invisible characters are kept or refused", **facts
        )
    expected = bool(examined.normalizers) or examined.model in ("wordpiece", "wordlevel", "unigram")
    return found(
        "invisible",
        "file",
        f"{len(vanished)} invisible characters vanish, {len(changed)} change: "
        f"{listed([*vanished, *changed])}",
        status="pass" if expected else "fail",
        way_out="two texts that look alike then have the same ids or come back changed: compare the "
        "decoder with the published file",
        **facts,
    )


def _prefix(examined: Examined) -> Finding:
    """Whether a character in front leaves the text after it alone; where a stage eats it, both are one."""
    probes = {"a space": " ", "a letter": "x", "a line end": "\n", "an emoji": "🧠", "U+FEFF": "\ufeff"}
    eaten: list[str] = []
    base = examined.encode("hello world")
    if isinstance(base, list):
        for name, char in probes.items():
            ids = examined.encode(f"{char}hello world")
            if ids == base:
                eaten.append(name)
    expected = bool(examined.normalizers) or examined.model in ("wordpiece", "wordlevel", "unigram")
    return found(
        "prefix",
        "file",
        f"with {listed(eaten)} in front a text has the same ids as without"
        if eaten
        else "a character in front of a text always shows in the ids",
        status="pass" if expected or not eaten or examined.model != "bytes" else "warn",
        way_out="a stage writes or drops it (add_prefix_space): such texts cannot be told apart, nor come "
        "back",
        same_ids=eaten,
    )


def _offsets(examined: Examined) -> Finding:
    bad: list[str] = []
    texts = [*HARD.values(), *(text[:2000] for text in examined.texts[:50])]
    tiles = examined.model == "bytes" and not examined.normalizers
    trims = bool((examined.raw.get("post_processor") or {}).get("trim_offsets"))
    for text in texts:
        try:
            encoding = examined.tok.encode_with_offsets(text)
        except TokenmillError:
            continue
        size, at = len(text.encode()), 0
        spans = encoding.byte_offsets
        for start, stop in spans:
            if not (0 <= start <= stop <= size) or start < at:
                bad.append(text)
                break
            at = start
        else:
            covered = [0, *(stop for _, stop in spans)]
            is_tiled = [start for start, _ in spans] == covered[:-1] and covered[-1] == size
            if tiles and not trims and not is_tiled and spans and not _trimmed(text, spans):
                bad.append(text)
    if bad:
        return found(
            "offsets",
            "file",
            f"the offsets of {len(bad)} of {len(texts)} texts leave the text or go back: {listed(bad)}",
            status="fail",
            way_out="spans and highlighting would point to the wrong place; please report the tokenizer",
            texts=some(bad),
        )
    what = "tile the text" if tiles and not trims else "stay within the text and never go back"
    return found("offsets", "file", f"the offsets of {len(texts)} texts {what}")


def _trimmed(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether what no offset covers is white space, as files with ``trim_offsets`` ask for."""
    data, at, rest = text.encode(), 0, b""
    for start, stop in spans:
        rest += data[at:start]
        at = max(at, stop)
    return not (rest + data[at:]).strip()


def _fertility(examined: Examined) -> Finding:
    rates: dict[str, float] = {}
    over: list[str] = []
    for language, (text, unit, most) in FERTILITY.items():
        ids = examined.encode(text)
        if isinstance(ids, TokenmillError) or examined.tok.unk_token_id in ids:
            continue
        count = len(text.split()) if unit == "word" else len(text)
        rates[language] = round(len(ids) / count, 3)
        if rates[language] > most:
            over.append(f"{language} {rates[language]:.1f} a {unit} (over {most:g})")
    if over:
        return found(
            "fertility",
            "file",
            f"many tokens for {', '.join(over[:4])}" + (", …" if len(over) > 4 else ""),
            status="warn",
            way_out="these languages take more context and cost more; where that is not meant, the "
            "vocabulary is too small, cut off, or made for other languages",
            rates=rates,
            over=over,
        )
    return found(
        "fertility",
        "file",
        "tokens are as few as expected in every language that the vocabulary spells",
        rates=rates,
        over=[],
    )


def _determinism(examined: Examined) -> Finding:
    tok = examined.tok
    wrong: list[str] = []
    texts = list(HARD.values())
    try:
        first = tok.encode_batch(texts).to_lists()
        if tok.encode_batch(texts * 2, num_threads=2).to_lists() != first * 2:
            wrong.append("threads")
        if [tok.encode(text) for text in texts] != first:
            wrong.append("one by one")
    except TokenmillError:
        pass  # `unknown` says so
    again = _loaded_again(examined)
    if again is not None and again.fingerprint != tok.fingerprint:
        wrong.append("loading twice")
    if wrong:
        return found(
            "determinism",
            "file",
            f"the ids change with {', '.join(wrong)}",
            status="fail",
            way_out="hooks must give the same for the same text; without hooks, please report this",
            differs=wrong,
        )
    hooks = [name or "a function without a name" for name in tok._hook_names]
    dropout = (examined.raw.get("model") or {}).get("dropout")
    if hooks or dropout:
        what = f"a function of Python ({listed(hooks)})" if hooks else f"dropout {dropout}"
        return found(
            "determinism",
            "file",
            f"the file has {what}, with which other programs may give other ids",
            status="warn",
            way_out="set model.dropout to null; ask for sampling where it is wanted (Tokenizer.sample)"
            if dropout
            else "a hook must be there in every process, and give the same for the same text",
            hooks=hooks,
            dropout=dropout,
        )
    return found("determinism", "file", "the same ids again, one by one, in threads and after loading twice")


def _loaded_again(examined: Examined) -> Any:

    # Only what says everything itself: other formats were loaded with a split or special tokens.
    if examined.path is None or not examined.raw or examined.tok._hook_names:
        return None
    try:
        return load(examined.path)
    except (TokenmillError, OSError):
        return None


def _growth(examined: Examined, seconds: float) -> Iterator[Finding]:
    slow: list[str] = []
    facts: dict[str, Any] = {}
    for stage in examined.tok.audit(seconds=seconds, max_bytes=16_384):
        slope = None if stage.worst is None else stage.worst.slope
        facts[stage.name] = {
            "guarantee": stage.guarantee,
            "slope": None if slope is None else round(slope, 2),
        }
        if stage.guarantee in ("quadratic", "none"):
            slow.append(f"{stage.name} ({stage.guarantee}: {stage.reason})")
    if slow:
        yield found(
            "growth",
            "file",
            f"the time of a long text is not bounded by its length in {'; '.join(slow)}",
            status="warn",
            way_out="Tokenizer.audit() shows the worst text; bound the length of texts that others send",
            stages=facts,
        )
        return
    yield found("growth", "file", "time grows in step with the text in every stage", stages=facts)


def _throughput(examined: Examined) -> Finding:
    text = SAMPLE * 8
    # Processor time, so that a busy machine is no fault of the tokenizer.
    start = time.process_time()
    ids = examined.encode(text)
    taken = max(time.process_time() - start, 1e-9)
    speed = round(len(text.encode()) / taken / 1e6, 3)
    if isinstance(ids, list) and speed < LEAST_SPEED:
        return found(
            "throughput",
            "file",
            f"{speed} MB of text in a second of processor time",
            status="warn",
            way_out="Tokenizer.plan() says which stage takes a slow way, and why",
            megabytes_per_second=speed,
        )
    return found(
        "throughput",
        "file",
        f"over {LEAST_SPEED} MB of text in a second of processor time",
        megabytes_per_second=speed,
    )
