"""Whether two tokenizers give the same, and what differs: what ``tokenmill.diff`` gives.

The verdict is ``same`` where that is proved, ``different`` where there is a witness, an input for which
the two differ, and ``unknown`` where there is neither; then ``tried`` says what was looked at.

>>> import tokenmill
>>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
>>> found = tokenmill.diff(tok, tok.with_vocab_size(258))
>>> found.verdict, found.witness.text, found.witness.a, found.witness.b
('different', ' low', (258,), (32, 257))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from ._core import Tokenizer, compare_tokenizers
from ._forks import waited_for
from ._table import pretty, quoted, shown, table
from ._texts import each_text

if TYPE_CHECKING:
    from ._table import Printer

__all__ = ["Changed", "Difference", "Proof", "Verdict", "Witness", "diff"]

Verdict = Literal["same", "different", "unknown"]
Proof = Literal["descriptions", "merges"]
"""Why two tokenizers are the same.

``descriptions``: their canonical descriptions are equal, as for equal fingerprints; ``merges``: they
differ in merges alone, and every two tokens that stay apart in A stay apart in B (docs/merging.md, "Two
lists of merges").
"""

_LISTED = 5
"""Things of one kind that are shown."""


@final
@dataclass(frozen=True, slots=True)
class Witness:
    """An input for which the two tokenizers differ.

    Nothing of it can go: without any one of its characters, ids or messages there is no difference.
    """

    kind: Literal["text", "ids", "messages", "settings"]
    call: str
    """What is called with it, as it is written in Python; for settings, their names."""
    text: str | None
    ids: tuple[int, ...] | None
    messages: tuple[dict[str, Any], ...] | None
    options: dict[str, Any]
    """Further arguments of the call: ``template`` and others, or ``skip_special_tokens``."""
    a: Any
    """What A gives: a tuple of ids; with type ids or offsets, a tuple of tuples; bytes for ids, a text for
    messages. None where it raises an error."""
    b: Any
    """What B gives."""
    error_a: str | None
    """The error that A raises."""
    error_b: str | None
    """The error that B raises."""

    def __hash__(self) -> int:
        return hash((self.kind, self.call, self.text, self.ids))

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers; of bytes, those that are no text are escapes."""
        facts: dict[str, Any] = {"kind": self.kind, "call": self.call, **self._input()}
        if self.options:
            facts["options"] = dict(self.options)
        for side, given, error in (("a", self.a, self.error_a), ("b", self.b, self.error_b)):
            facts[side] = _plain(given) if error is None else {"error": error}
        return facts

    def _input(self) -> dict[str, Any]:
        if self.kind == "text":
            return {"text": self.text}
        if self.kind == "ids":
            return {"ids": list(self.ids or ())}
        return (
            {"messages": [dict(message) for message in self.messages or ()]}
            if self.messages is not None
            else {}
        )

    def _shown(self) -> str:
        """What was given, for people."""
        if self.kind == "text":
            return quoted(self.text or "")
        if self.kind == "ids":
            return shown(str(list(self.ids or ())))
        return shown(str(list(self.messages))) if self.messages is not None else self.call


@final
@dataclass(frozen=True, slots=True)
class Changed:
    """A stage, a setting, an added token or a chat template that differs, and what it is on each side.

    It is as JSON has it, None where there is none; of a chat template, the sha256 of its source. Lists as
    long as the vocabulary are not part of a model.
    """

    name: str
    a: Any
    b: Any

    def __hash__(self) -> int:
        return hash(self.name)


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """What ``tokenmill.diff`` gives: the verdict, and all that differs, whether it has an effect or not."""

    verdict: Verdict
    proof: Proof | None
    """Why they are the same; None for other verdicts."""
    witness: Witness | None
    """An input for which they differ; None for other verdicts."""
    tried: tuple[tuple[str, int], ...]
    """The inputs that were given to both: what they are, and how many."""
    tokens_only_in_a: tuple[tuple[str, int], ...]
    """``(token, id)``, in written form and by id, added tokens included; as for all that follows."""
    tokens_only_in_b: tuple[tuple[str, int], ...]
    moved_ids: tuple[tuple[str, int, int], ...]
    """``(token, id in A, id in B)`` of tokens whose ids differ."""
    merges_only_in_a: tuple[tuple[int, bytes, bytes], ...]
    """``(rank, left, right)``. Empty where one of both has no list of merges."""
    merges_only_in_b: tuple[tuple[int, bytes, bytes], ...]
    moved_merges: tuple[tuple[bytes, bytes, int, int], ...]
    """``(left, right, rank in A, rank in B)`` of merges that have another place among those that both have:
    as few as explain the two orders."""
    stages: tuple[Changed, ...]
    """``normalizer``, ``pre_tokenizer``, ``model``, ``post_processor``, ``decoder``."""
    special_tokens: tuple[Changed, ...]
    """Special and other added tokens, by their literals."""
    templates: tuple[Changed, ...]
    """Chat templates."""
    settings: tuple[Changed, ...]
    """``truncation``, ``padding``, ``roles``, ``defaults``."""

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers; the parts of merges that are no text are escapes."""

        def changed(rows: tuple[Changed, ...]) -> list[dict[str, Any]]:
            return [{"name": row.name, "a": row.a, "b": row.b} for row in rows]

        return {
            "verdict": self.verdict,
            "proof": self.proof,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "tried": dict(self.tried),
            "tokens_only_in_a": [list(row) for row in self.tokens_only_in_a],
            "tokens_only_in_b": [list(row) for row in self.tokens_only_in_b],
            "moved_ids": [list(row) for row in self.moved_ids],
            "merges_only_in_a": [_plain(row) for row in self.merges_only_in_a],
            "merges_only_in_b": [_plain(row) for row in self.merges_only_in_b],
            "moved_merges": [_plain(row) for row in self.moved_merges],
            "stages": changed(self.stages),
            "special_tokens": changed(self.special_tokens),
            "templates": changed(self.templates),
            "settings": changed(self.settings),
        }

    def __str__(self) -> str:
        return table(self._table())

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """What IPython shows."""
        pretty(self, printer, cycle)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        with waited_for:
            from ._notebook import html_of_difference

        return html_of_difference(self)

    def _table(self) -> list[tuple[str, str, str]]:
        rows = [("what", "A", "B"), ("verdict", self.verdict, "")]
        if self.proof is not None:
            rows.append(("proof", _PROOFS[self.proof], ""))
        if (witness := self.witness) is not None:
            rows.append((f"witness: {witness.kind}", witness._shown(), shown(witness.call)))
            rows.append(("gives", _given(witness.a, witness.error_a), _given(witness.b, witness.error_b)))
        if self.verdict == "unknown":
            rows += [("tried", kind, f"{count:,}") for kind, count in self.tried]
        for changed, name in (
            (self.stages, "stage"),
            (self.settings, "setting"),
            (self.special_tokens, "added token"),
            (self.templates, "template"),
        ):
            rows += [
                (f"{name}: {shown(row.name, 30)}", shown(str(row.a)), shown(str(row.b)))
                for row in changed[:_LISTED]
            ]
            rows += _more(name, len(changed))
        return rows + self._lists()

    def _lists(self) -> list[tuple[str, str, str]]:
        """Tokens and merges."""
        moved = [(_token(token, a), _token(token, b)) for token, a, b in self.moved_ids]
        merges = [(_merge(a, left, right), f"rank {b}") for left, right, a, b in self.moved_merges]
        return [
            *_listed("only in A", [(_token(*row), "") for row in self.tokens_only_in_a]),
            *_listed("only in B", [("", _token(*row)) for row in self.tokens_only_in_b]),
            *_listed("another id", moved),
            *_listed("merge only in A", [(_merge(*row), "") for row in self.merges_only_in_a]),
            *_listed("merge only in B", [("", _merge(*row)) for row in self.merges_only_in_b]),
            *_listed("merge moved", merges),
        ]


_PROOFS: dict[Proof, str] = {
    "descriptions": "their descriptions mean the same",
    "merges": "the same tokens stay apart in both",
}


def _listed(name: str, cells: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(name, a, b) for a, b in cells[:_LISTED]] + _more(name, len(cells))


def _more(name: str, count: int) -> list[tuple[str, str, str]]:
    return [(name, f"… and {count - _LISTED:,} more", "")] if count > _LISTED else []


def _token(token: str, id: int) -> str:
    return f"{shown(token)} ({id})"


def _merge(rank: int, left: bytes, right: bytes) -> str:
    return shown(f"{_text(left)} + {_text(right)} (rank {rank})")


def _given(given: Any, error: str | None) -> str:
    if error is not None:
        return shown(error)
    return quoted(_text(given)) if isinstance(given, (bytes, str)) else shown(str(_plain(given)))


def _text(given: bytes | str) -> str:
    return given if isinstance(given, str) else given.decode("utf-8", "backslashreplace")


def _plain(given: Any) -> Any:
    """Tuples as lists and bytes as text."""
    if isinstance(given, tuple):
        return [_plain(item) for item in given]
    return _text(given) if isinstance(given, bytes) else given


def diff(a: Tokenizer, b: Tokenizer, *, texts: str | Iterable[str] = ()) -> Difference:
    """Compares two tokenizers: what differs, and whether it has an effect.

    The verdict is ``same`` if it is proved (equal descriptions, or merges that differ without effect),
    ``different`` with a witness: a text, ids for the decoder, or messages for a chat template, as short as it
    can be and given to both, or settings; else ``unknown``, with what was ``tried``. ``texts`` are searched
    before anything else. Hooks are taken to be the same if their names are. What is random (dropout,
    sampling) is not compared.

    Cost: some seconds for a vocabulary of 128,000 tokens, and up to a minute where nothing is found.

    Raises ``TypeError`` for what is no tokenizer or no text, ``FormatError`` for a hook without a name.

    >>> tok = tokenmill.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
    >>> print(tokenmill.diff(tok, tok))
    what     A                                 B
    verdict  same
    proof    their descriptions mean the same
    """
    with waited_for:
        from ._diff import chats, inputs, listed

    for name, tok in (("a", a), ("b", b)):
        if not isinstance(tok, Tokenizer):
            raise TypeError(f"{name} must be a Tokenizer, not {type(tok).__name__}")
    proof, (of_text, of_ids), counts, ranks = compare_tokenizers(a, b, _texts(texts))
    witness = None
    if of_text is not None:
        text, call = of_text
        results = [inputs.of_text(tok, text, call) for tok in (a, b)]
        witness = _witness("text", inputs.CALLS[call], results, text=text)
    elif of_ids is not None:
        ids, skips = tuple(of_ids[0]), of_ids[1]
        results = [inputs.of_ids(tok, ids, skips) for tok in (a, b)]
        options = {"skip_special_tokens": True} if skips else {}
        witness = _witness("ids", "decode_bytes(ids)", results, ids=ids, options=options)
    templates = listed.templates(a, b)
    if witness is None and templates:
        found, tried = chats.search(a, b)
        counts = [*counts, ("conversations", tried)]
        if found is not None:
            messages, name, more = found
            results = [inputs.of_messages(tok, messages, name, more) for tok in (a, b)]
            given: dict[str, Any] = {"messages": messages, "options": {"template": name, **more}}
            witness = _witness("messages", "render_chat(messages)", results, **given)
    of_a, of_b = listed.stages(a), listed.stages(b)
    settings = _changed(of_a, of_b, listed.SETTINGS)
    if witness is None and settings:
        sides = [{setting.name: getattr(setting, side) for setting in settings} for side in ("a", "b")]
        names = ", ".join(setting.name for setting in settings)
        witness = _witness("settings", names, [(side, None) for side in sides])
    is_same = proof is not None and witness is None and not templates
    only_in_a, only_in_b, moved = ranks
    tokens_only_in_a, tokens_only_in_b, moved_ids = listed.tokens(a, b)
    moved_merges, to_ranks = listed.merges(a, [rank for rank, _ in moved]), [rank for _, rank in moved]
    return Difference(
        verdict="different" if witness is not None else "same" if is_same else "unknown",
        proof=proof if is_same else None,
        witness=witness,
        tried=tuple(counts),
        tokens_only_in_a=tokens_only_in_a,
        tokens_only_in_b=tokens_only_in_b,
        moved_ids=moved_ids,
        merges_only_in_a=listed.merges(a, only_in_a),
        merges_only_in_b=listed.merges(b, only_in_b),
        moved_merges=tuple(
            [(left, right, rank, to) for (rank, left, right), to in zip(moved_merges, to_ranks, strict=False)]
        ),
        stages=_changed(of_a, of_b, listed.STAGES),
        special_tokens=tuple(
            [Changed(*row) for row in listed.added_tokens(of_a["added_tokens"], of_b["added_tokens"])]
        ),
        templates=tuple([Changed(*row) for row in templates]),
        settings=settings,
    )


def _texts(texts: Any) -> list[str]:
    """The texts as the encoder takes them: lone surrogates are replaced."""
    return [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in each_text(texts)]


def _changed(a: dict[str, Any], b: dict[str, Any], names: tuple[str, ...]) -> tuple[Changed, ...]:
    return tuple([Changed(name, a[name], b[name]) for name in names if a[name] != b[name]])


def _witness(kind: Any, call: str, results: list[Any], **given: Any) -> Witness:
    (a, error_a), (b, error_b) = results
    inputs: dict[str, Any] = {"text": None, "ids": None, "messages": None, "options": {}, **given}
    return Witness(kind=kind, call=call, a=a, b=b, error_a=error_a, error_b=error_b, **inputs)
