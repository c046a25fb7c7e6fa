"""What is examined: a tokenizer, the files that it came from, and texts that were given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import decode
from .._kept import kept
from .._table import quoted
from ..errors import TokenmillError
from ..findings import Evidence, Finding, Status

if TYPE_CHECKING:
    from .._core import Tokenizer

__all__ = ["Examined", "found", "listed", "read_json", "some"]

MOST_LISTED = 20
"""The most items of a list in ``details``."""
MOST_JSON = 1 << 28
"""The most bytes of a JSON file that is read."""


def found(
    check: str,
    evidence: Evidence,
    message: str,
    *,
    status: Status = "pass",
    way_out: str = "",
    **details: Any,
) -> Finding:
    """A finding; ``details`` by name."""
    return Finding(check, status, evidence, message, details, way_out if status != "pass" else "")


def some(items: Iterable[Any]) -> list[Any]:
    """The first items."""
    return [item for item, _ in zip(items, range(MOST_LISTED), strict=False)]


def listed(items: Sequence[str], most: int = 3) -> str:
    """The first strings in quotes, for a sentence."""
    shown = ", ".join(quoted(item, 30) for item in items[:most])
    return shown + (", …" if len(items) > most else "")


def counted(number: int, one: str, many: str) -> str:
    """A number, and what is said of one or of many."""
    return f"{number:,} {one if number == 1 else many}"


def read_json(path: Path) -> Any:
    """The file as JSON; None where there is none, or where it is none that can be read.

    Loading says what is wrong with a file that matters; here it is evidence that is not there.
    """
    try:
        if path.stat().st_size > MOST_JSON:
            return None
        return json.loads(decode(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None


def byte_letters() -> dict[str, int]:
    """The letters by which GPT-2 writes bytes: printable ones as they are, others from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}


class Examined:
    """A tokenizer and what is known beside it. What takes time is found when it is first asked for."""

    def __init__(self, tok: Tokenizer, path: Path | None, texts: Sequence[str]) -> None:
        self.tok, self.path, self.texts = tok, path, texts
        self.folder = None if path is None else path if path.is_dir() else path.parent
        self.skipped: dict[str, str] = {}

    def skip(self, check: str, reason: str) -> None:
        """Note that a check has nothing to look at."""
        self.skipped[check] = reason

    @kept
    def raw(self) -> dict[str, Any]:
        """The ``tokenizer.json`` that was named, or the one of the folder; empty where there is none."""
        if self.path is None:
            return {}
        parsed = read_json(self.path / "tokenizer.json" if self.path.is_dir() else self.path)
        is_one = isinstance(parsed, dict) and isinstance(parsed.get("model"), dict)
        return parsed if is_one else {}

    def setting(self, name: str) -> Any:
        """A JSON file of the folder; None where a single file was named."""
        if self.path is None or not self.path.is_dir():
            return None
        return read_json(self.path / name)

    @kept
    def model(self) -> str:
        """``bytes``, ``chars`` or ``score``, all byte-pair encoding, or the name of another model."""
        stage = self.tok.plan()["model"]
        for start, name in (("BPE over bytes", "bytes"), ("BPE over char", "chars"), ("BPE by", "score")):
            if stage.path.startswith(start):
                return name
        return stage.reason.removeprefix("the model is ").lower()

    @kept
    def normalizers(self) -> tuple[str, ...]:
        """The names of what rewrites texts; empty where nothing does."""
        path = self.tok.plan()["normalization"].path
        return () if path == "none" else tuple(part.strip() for part in path.split(","))

    @kept
    def vocab(self) -> dict[str, int]:
        """Ids by written form."""
        return self.tok.vocab

    @kept
    def added(self) -> dict[str, int]:
        """Ids of the added tokens by literal."""
        return self.tok.added_tokens

    @kept
    def special(self) -> dict[str, int]:
        """Ids of the special tokens by literal."""
        return self.tok.special_tokens

    @kept
    def ordinary(self) -> dict[int, bytes]:
        """The bytes of the tokens that are not added, by id, ascending."""
        added = set(self.added.values())
        ids = sorted(set(self.vocab.values()) - added)
        return {id: self.tok.token_bytes(id) for id in ids}

    @kept
    def written(self) -> dict[int, str]:
        """The written forms of the ids."""
        return {id: token for token, id in self.vocab.items()}

    @kept
    def _letters(self) -> dict[str, int] | None:
        """The byte of each letter, where characters of tokens are letters of the byte alphabet."""
        if self.model != "chars":
            return None
        try:
            tokens = self.tok.encode_with_offsets("é").tokens
        except TokenmillError:
            return None
        return byte_letters() if "".join(tokens).startswith("Ã") else None

    def bytes_in_text(self, id: int) -> bytes:
        """The bytes of a text that an ordinary token stands for."""
        token = self.ordinary[id]
        if (letters := self._letters) is None:
            return token
        written = token.decode("utf-8", "replace").removesuffix("</w>")
        return bytes([letters[char] for char in written if char in letters])

    @kept
    def spells_bytes(self) -> bool:
        """Whether the vocabulary writes tokens ``<0xNN>`` that stand for bytes."""
        return "<0x00>" in self.vocab and "<0xFF>" in self.vocab

    def name_of(self, id: int | None) -> str:
        """An id with its token, for a sentence."""
        if id is None:
            return "none"
        token = self.tok.id_to_token(id)
        return f"{id} (no token)" if token is None else f"{id} ({token})"

    def encode(self, text: str, **options: Any) -> list[int] | TokenmillError:
        """The ids, or what the tokenizer says of a text that it cannot encode."""
        try:
            return self.tok.encode(text, **options)
        except TokenmillError as error:
            return error

    def batches(self, texts: Sequence[str], size: int = 65_536) -> Iterator[tuple[int, Any]]:
        """The encodings of many short texts: the index of the first one, and a ``Ragged``."""
        for start in range(0, len(texts), size):
            yield start, self.tok.encode_batch(texts[start : start + size])

    def template_literals(self) -> Mapping[str, int]:
        """The added tokens whose literal the chat templates hold."""
        sources = "\n".join(self.tok.chat_templates.values())
        return {literal: id for literal, id in self.added.items() if literal.strip() and literal in sources}
