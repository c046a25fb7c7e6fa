"""The part of the benchmark that measures memory and signals."""

from __future__ import annotations

import os

import pytest


def test_words_never_come_twice(native: object) -> None:
    from limits import CHUNK, words

    count = CHUNK + 500
    chunks = list(words(26**5 - 700, count))
    assert [len(chunk.split()) for chunk in chunks] == [CHUNK, 500]
    found = b"".join(chunks).split()
    assert len(set(found)) == count
    assert set(map(len, found)) == {7}
    assert set(found).isdisjoint(b"".join(words(26**5 - 700 + count, 3000)).split())


def test_memory_is_measured_without_the_shared_data(
    native: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A vocabulary that is learned has no split of its own: it was refused."""
    import data
    from limits import growth

    monkeypatch.setattr(data, "shared", lambda: None)
    growth(megabytes=1)
    assert capsys.readouterr().out.startswith("cache: 1 MB of words that never come twice")


@pytest.mark.skipif(os.name != "posix", reason="timers are those of POSIX")
def test_the_latest_signal_is_found(native: object) -> None:
    from limits import SIGNALS, latest

    calls = 0

    def deaf() -> int:
        """One call that hears nothing before its end."""
        nonlocal calls
        calls += 1
        return sum(range(1_000_000))

    assert latest(deaf) > 0
    # Each signal has a call of its own.
    assert calls >= SIGNALS
