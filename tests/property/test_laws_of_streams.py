"""Law 5: joining a stream's pieces equals decoding at once; a piece never ends inside a character.

On random tokenizers, published vocabularies and random ids; 100 examples of each, or 2,000 with
TOKENMILL_SLOW=1.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from property.strategies import Recipe, any_text, recipes

seeds = st.integers(0, 2**32)
policies = st.sampled_from(["replace", "ignore"])


def check(tok: Any, ids: list[int], seed: int, policy: str, skip: bool) -> None:
    """One by one, in parts, and after a stop in the middle."""
    rng = random.Random(seed)
    whole = tok.decode(ids, errors=policy, skip_special_tokens=skip, undefined="replace")
    stream = tok.decode_stream(errors=policy, skip_special_tokens=skip, undefined="replace")
    pieces = [*(stream.step(id) for id in ids), stream.finish()]
    assert "".join(pieces) == whole
    assert "\ufffd" in whole or not any("\ufffd" in piece for piece in pieces)
    stream.extend(ids[: rng.randrange(len(ids) + 1)])
    stream.reset()
    parts = []
    at = 0
    while at < len(ids):
        length = rng.randrange(1, 4)
        parts.append(stream.extend(ids[at : at + length]))
        at += length
    assert "".join(parts) + stream.finish() == whole


@given(recipe=recipes(), text=any_text, seed=seeds, policy=policies, skip=st.booleans())
def test_law_5_streams_join_to_the_whole(
    native: Any, recipe: Recipe, text: str, seed: int, policy: str, skip: bool
) -> None:
    tok = recipe.make(native)
    rng = random.Random(seed)
    known = sorted(tok.vocab.values()) or [0]
    ids = [
        rng.choice(known) if rng.random() < 0.9 else rng.randrange(2**20) for _ in range(rng.randrange(20))
    ]
    check(tok, ids, seed, policy, skip)
    with suppress(native.UnknownTokenError):
        check(tok, tok.encode(text, special="parse"), seed, policy, skip)


@given(text=any_text, seed=seeds, policy=policies, skip=st.booleans())
def test_law_5_holds_for_published_vocabularies(
    published: Any, text: str, seed: int, policy: str, skip: bool
) -> None:
    rng = random.Random(seed)
    ids = [rng.randrange(published.max_id + 2) for _ in range(rng.randrange(20))]
    check(published, ids, seed, policy, skip)
    check(published, published.encode(text, special="parse"), seed, policy, skip)
