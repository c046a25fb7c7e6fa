"""A rendering leaves nothing to Python's garbage collector, which would run the more often in batches."""

from __future__ import annotations

import gc

import pytest
from tokenmill.chat import render

SOURCES = {
    "a macro that calls itself": (
        "{% macro nest(n) %}{% if n %}<{{ nest(n - 1) }}>{% endif %}{% endmacro %}{{ nest(3) }}"
    ),
    "a loop and a namespace": (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{{ loop.index }}"
        "{{ m.content }}{% endfor %}{{ ns.n }}"
    ),
    "a block of the model": (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    ),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_a_rendering_leaves_no_circles(source: str) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    first = render(source, messages, special_tokens={}).text
    gc.collect()
    gc.disable()
    try:
        again = render(source, messages, special_tokens={}).text
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert again == first
