"""What the splitters of other libraries share: chunks that fit when stripped, or appended to more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import Tokenizer

__all__ = ["fitting_chunks"]


def fitting_chunks(
    tokenizer: Tokenizer,
    text: str,
    n: int,
    *,
    overlap: int,
    strip: bool,
    fits: Callable[[str], bool],
    options: dict[str, Any],
) -> Iterator[tuple[int, str]]:
    """The chunks of a text, each with where it begins, for which ``fits`` holds once they are stripped.

    Counts are not monotonic: a chunk without the white space around it may have more ids than with it. Such
    a chunk is cut again. Chunks of white space alone are left out.
    """
    for chunk in tokenizer.chunk(text, n, overlap=overlap, **options):
        yield from _fitting(tokenizer, (chunk.start, chunk.text), n, strip, fits, options)


def _fitting(
    tokenizer: Tokenizer,
    part: tuple[int, str],
    n: int,
    strip: bool,
    fits: Callable[[str], bool],
    options: dict[str, Any],
) -> Iterator[tuple[int, str]]:
    start, text = part
    shown = text
    if strip:
        shown = text.lstrip()
        start += len(text) - len(shown)
        shown = shown.rstrip()
    if not shown:
        return
    if fits(shown):
        yield start, shown
        return
    counting = {name: value for name, value in options.items() if name != "at"}
    if tokenizer.count(shown, **counting) <= n:
        # It fits alone, but not after what stands before it.
        n -= 1
    # A single character that does not fit is an error of ``chunk`` itself.
    for chunk in tokenizer.chunk(shown, n, **options):
        yield from _fitting(tokenizer, (start + chunk.start, chunk.text), n, strip, fits, options)
