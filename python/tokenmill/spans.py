"""Spans of a text and the tokens that stand for them: masks, and labels of sequence labelling.

A span is half-open, in characters, as offsets are. A token belongs to a span if the two overlap:
``max(left, start) < min(right, stop)``; a token that stands for no character belongs to none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from ._forks import waited_for
from .model_inputs import IGNORED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._core import Encoding

__all__ = ["align_labels", "mask_from_spans", "spans_from_labels"]


def mask_from_spans(
    offsets: Encoding | npt.ArrayLike, spans: Sequence[tuple[int, int]] | npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Which tokens overlap one of the spans: a ``bool`` for each.

    ``offsets`` are ``(left, right)`` of each token: a list, an array of tokens x 2, or an ``Encoding``.
    ``spans`` are ``(start, stop)``, in any order; they may overlap. An array of rows x tokens x 2, such as
    ``offset_mapping`` of a batch, takes a list of spans for each row. Raises ``ValueError`` for a span that
    ends before it starts. Cost: n log n.

    >>> mask_from_spans([(0, 0), (0, 3), (3, 5), (5, 9)], [(4, 6)]).tolist()
    [False, False, True, True]
    """
    with waited_for:
        import numpy as np

    given = offsets.offsets if isinstance(offsets, _core.Encoding) else offsets
    array = np.asarray(given)
    if array.ndim == 3:
        rows = list(spans)  # type: ignore[arg-type]
        if len(rows) != len(array):
            raise ValueError(f"{len(array)} rows of offsets, but {len(rows)} lists of spans")
        masks = [
            _mask(_pairs(of_row, "offsets"), _checked_spans(part))
            for of_row, part in zip(array, rows, strict=True)
        ]
        return np.array(masks, bool).reshape(array.shape[:2])
    return _mask(_pairs(given, "offsets"), _checked_spans(spans))


def _pairs(values: Any, name: str) -> npt.NDArray[np.int64]:
    """Pairs of integers, n x 2."""
    with waited_for:
        import numpy as np

    array = np.asarray(values if hasattr(values, "__array__") else list(values))
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} are pairs of integers, not an array of {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64, copy=False)


def _checked_spans(spans: Any) -> npt.NDArray[np.int64]:
    array = _pairs(spans, "spans")
    backwards = (array[:, 1] < array[:, 0]).nonzero()[0]
    if len(backwards):
        at = int(backwards[0])
        raise ValueError(f"span {at} ends before it starts: {tuple(array[at].tolist())}")
    return array


def _mask(offsets: npt.NDArray[np.int64], spans: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    with waited_for:
        import numpy as np

    spans = spans[spans[:, 0] < spans[:, 1]]
    left, right = offsets[:, 0], offsets[:, 1]
    if not len(spans):
        return np.zeros(len(offsets), bool)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    # Of the spans that start before a token ends, does the one that reaches farthest end after its start?
    reach = np.maximum.accumulate(spans[:, 1])
    before = np.searchsorted(spans[:, 0], right, side="left")
    reached = reach[np.maximum(before - 1, 0)]
    mask: npt.NDArray[np.bool_] = (before > 0) & (reached > left) & (left < right)
    return mask


# ---- labels ---------------------------------------------------------------------------------------

SCHEMES = ("IOB2", "BILOU", "IO")


@overload
def align_labels(
    encoding: Encoding | Sequence[tuple[int, int]],
    spans: Iterable[tuple[int, int, str]],
    scheme: Literal["IOB2", "BILOU", "IO"] = "IOB2",
    *,
    label_ids: None = None,
    sequence: int = 0,
    lost: Literal["error", "ignore"] = "error",
) -> list[str | None]: ...
@overload
def align_labels(
    encoding: Encoding | Sequence[tuple[int, int]],
    spans: Iterable[tuple[int, int, str]],
    scheme: Literal["IOB2", "BILOU", "IO"] = "IOB2",
    *,
    label_ids: Mapping[str, int],
    sequence: int = 0,
    lost: Literal["error", "ignore"] = "error",
) -> npt.NDArray[np.int64]: ...
def align_labels(
    encoding: Encoding | Sequence[tuple[int, int]],
    spans: Iterable[tuple[int, int, str]],
    scheme: Literal["IOB2", "BILOU", "IO"] = "IOB2",
    *,
    label_ids: Mapping[str, int] | None = None,
    sequence: int = 0,
    lost: Literal["error", "ignore"] = "error",
) -> list[str | None] | npt.NDArray[np.int64]:
    """The label of each token, from spans ``(start, stop, label)`` of its text.

    ``encoding`` is an ``Encoding``, or the offsets of tokens. A token has the label of the span that it
    overlaps, of two the one that it shares more characters with; ``"O"`` if there is none; None if it was
    added to the text, or is of the other text of a pair (``sequence`` says whose spans these are).

    - ``"IOB2"``: ``B-`` for the first token of a span, ``I-`` for the others.
    - ``"BILOU"``: ``B-``, ``I-`` and ``L-`` for the first, middle and last one, ``U-`` for a single one.
    - ``"IO"``: ``I-`` for all.

    With ``label_ids``, a mapping such as ``{"O": 0, "B-PER": 1, ...}``, an int64 array with -100 for None.
    ``spans_from_labels`` is the way back. Raises ``ValueError`` for spans that overlap or have no token
    (``lost="ignore"`` leaves these out), and for a label without an id.

    >>> align_labels([(0, 0), (0, 2), (2, 5), (5, 6)], [(0, 5, "PER")])
    [None, 'B-PER', 'I-PER', 'O']
    """
    with waited_for:
        import numpy as np

    _check_scheme(scheme)
    if lost not in ("error", "ignore"):
        raise ValueError(f'lost={lost!r} is neither "error" nor "ignore"')
    offsets, is_text = _tokens(encoding, sequence)
    given = sorted(
        ((int(start), int(stop), label) for start, stop, label in spans), key=lambda span: span[:2]
    )
    bounds = _checked_spans([span[:2] for span in given])
    for (_, stop, _), following in pairwise(given):
        if following[0] < stop:
            raise ValueError(f"spans overlap: one ends at {stop}, {following} starts before")
    of = _span_of_each(offsets, bounds)
    of[~is_text] = -1
    first, last = _ends(of, len(given))
    gone = (first < 0).nonzero()[0]
    if len(gone) and lost == "error":
        raise ValueError(
            f'span {given[int(gone[0])]} has no token of its own; drop it, or pass lost="ignore"'
        )
    labels: list[str | None] = ["O" if mine else None for mine in is_text.tolist()]
    for at in (of >= 0).nonzero()[0].tolist():
        span = int(of[at])
        labels[at] = f"{_prefix(scheme, at == first[span], at == last[span])}-{given[span][2]}"
    if label_ids is None:
        return labels
    return np.array([_id_of(label, label_ids) for label in labels], np.int64)


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme={scheme!r} is none of {', '.join(map(repr, SCHEMES))}")


def _tokens(
    encoding: Encoding | Sequence[tuple[int, int]], sequence: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The offsets of tokens, and which of them are of the text."""
    with waited_for:
        import numpy as np

    if not isinstance(encoding, _core.Encoding):
        offsets = _pairs(encoding, "offsets")
        return offsets, offsets[:, 0] < offsets[:, 1]
    if not 0 <= sequence < encoding.n_sequences:
        raise ValueError(f"sequence={sequence} of an encoding of {encoding.n_sequences} texts")
    offsets = _pairs(encoding.offsets, "offsets")
    is_text = np.array([of == sequence for of in encoding.sequence_ids], bool)
    if (np.diff(offsets[is_text, 0]) < 0).any():
        raise ValueError(
            "the offsets of this encoding go back: it is of a list of words, and spans are of a text; "
            "encode the text, or use word_ids"
        )
    return offsets, is_text


def _span_of_each(offsets: npt.NDArray[np.int64], spans: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The span that each token shares most characters with, the first of equals; -1 for none."""
    with waited_for:
        import numpy as np

    of = np.full(len(offsets), -1, np.int64)
    if not len(spans):
        return of
    left, right = offsets[:, 0], offsets[:, 1]
    low = np.searchsorted(spans[:, 1], left, side="right")
    high = np.searchsorted(spans[:, 0], right, side="left")
    best = np.zeros(len(offsets), np.int64)
    # As many rounds as the most spans that any token overlaps, which are few.
    for step in range(int((high - low).max(initial=0))):
        at = (low + step < high).nonzero()[0]
        span = low[at] + step
        shared = np.minimum(right[at], spans[span, 1]) - np.maximum(left[at], spans[span, 0])
        more = shared > best[at]
        best[at[more]], of[at[more]] = shared[more], span[more]
    return of


def _ends(of: npt.NDArray[np.int64], count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last token of each span; -1 for one without a token."""
    with waited_for:
        import numpy as np

    first, last = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    at = (of >= 0).nonzero()[0]
    last[of[at]] = at
    first[of[at[::-1]]] = at[::-1]
    return first, last


def _prefix(scheme: str, is_first: bool, is_last: bool) -> str:
    if scheme == "IO":
        return "I"
    if scheme == "BILOU":
        return {(True, True): "U", (True, False): "B", (False, True): "L"}.get((is_first, is_last), "I")
    return "B" if is_first else "I"


def _id_of(label: str | None, label_ids: Mapping[str, int]) -> int:
    if label is None:
        return IGNORED
    try:
        return label_ids[label]
    except KeyError:
        raise ValueError(f"label_ids has no id for {label!r}") from None


def spans_from_labels(
    encoding: Encoding | Sequence[tuple[int, int]],
    labels: Sequence[str | None] | npt.ArrayLike,
    scheme: Literal["IOB2", "BILOU", "IO"] = "IOB2",
    *,
    label_ids: Mapping[str, int] | None = None,
    sequence: int = 0,
    text: str | None = None,
) -> list[tuple[int, int, str]]:
    """Spans ``(start, stop, label)`` from the label of each token: what ``align_labels`` was given.

    ``labels`` has a label, or with ``label_ids`` an id, for each token. A span goes from the start of its
    first token to the end of its last one; with ``text``, white space at its ends is no part of it. As
    models predict it, a scheme may be broken: a label that continues nothing starts a span, and another
    label ends one. Labels of tokens that were added, or are of another text, count for nothing. In ``"IO"``
    spans of one label with no token between them are one.

    >>> spans_from_labels([(0, 0), (0, 2), (2, 5), (5, 6)], [None, "B-PER", "I-PER", "O"])
    [(0, 5, 'PER')]
    """
    with waited_for:
        import numpy as np

    _check_scheme(scheme)
    offsets, is_text = _tokens(encoding, sequence)
    names: list[str | None]
    if label_ids is None:
        names = list(labels)  # type: ignore[arg-type]
    else:
        by_id = {id: label for label, id in label_ids.items()}
        names = [by_id.get(id) for id in np.asarray(labels).tolist()]
    if len(names) != len(offsets):
        raise ValueError(f"{len(names)} labels for {len(offsets)} tokens")
    spans: list[tuple[int, int, str]] = []
    is_open = False
    for (left, right), mine, name in zip(offsets.tolist(), is_text.tolist(), names, strict=True):
        if not mine:
            continue
        if name is None or name == "O":
            is_open = False
            continue
        prefix, _, label = name.partition("-")
        if prefix not in _PREFIXES[scheme] or not label:
            raise ValueError(f"{name!r} is no label of {scheme}")
        if is_open and prefix in "IL" and spans[-1][2] == label:
            spans[-1] = (spans[-1][0], max(spans[-1][1], right), label)
        else:
            spans.append((left, right, label))
        is_open = prefix not in "LU"
    return spans if text is None else [_trimmed(span, text) for span in spans]


_PREFIXES = {"IOB2": "BI", "BILOU": "BILU", "IO": "I"}


def _trimmed(span: tuple[int, int, str], text: str) -> tuple[int, int, str]:
    start, stop, label = span
    part = text[start:stop]
    if not part.strip():
        return span
    return start + len(part) - len(part.lstrip()), stop - len(part) + len(part.rstrip()), label
