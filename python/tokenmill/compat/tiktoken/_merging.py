"""The merging of one piece that no pattern cuts and that need not be text."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from ...errors import UnknownTokenError

__all__ = ["merge_piece"]


def merge_piece(piece: bytes, ranks: Mapping[bytes, int], *, whole: bool = True) -> list[int]:
    """The ids of bytes that no pattern cuts: the piece itself if it is a token, else merged by rank.

    With ``whole=False`` a piece that is a token is merged as well, and may come out in parts. Any bytes
    will do, valid UTF-8 or not. Raises ``UnknownTokenError`` for a byte without a token. Cost: n log n.
    """
    if whole and piece in ranks:
        return [ranks[piece]]
    size = len(piece)
    # The part that starts at i ends at ends[i], which is 0 once it is merged into the part before; the part
    # that ends at j starts at starts_before[j].
    ends = list(range(1, size + 1))
    starts_before = list(range(-1, size))

    def joined(left: int) -> bytes | None:
        middle = ends[left]
        return piece[left : ends[middle]] if middle < size else None

    queue: list[tuple[int, int, int]] = []

    def offer(left: int) -> None:
        both = joined(left)
        if both is not None and both in ranks:
            heapq.heappush(queue, (ranks[both], left, len(both)))

    for left in range(size - 1):
        offer(left)
    while queue:
        _, left, length = heapq.heappop(queue)
        both = joined(left) if ends[left] > 0 else None
        if both is None or len(both) != length:
            continue  # one of the two has changed since
        middle, end = ends[left], ends[ends[left]]
        ends[left], ends[middle] = end, 0
        starts_before[end] = left
        offer(left)
        if left > 0:
            offer(starts_before[left])
    ids = []
    at = 0
    while at < size:
        token = piece[at : ends[at]]
        if token not in ranks:
            shown = _shown(piece, at)
            raise UnknownTokenError(
                f"{shown!r} at byte {at} has no token in this vocabulary", char=shown, position=at
            )
        ids.append(ranks[token])
        at = ends[at]
    return ids


def _shown(piece: bytes, at: int) -> str:
    """The character that begins at a byte, or the byte as ``0xNN`` where none does."""
    for end in range(at + 1, at + 5):
        try:
            return piece[at:end].decode()
        except UnicodeDecodeError:
            continue
    return f"0x{piece[at]:02X}"
