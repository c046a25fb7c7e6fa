"""Parts of texts: they keep whose turn they are in, and the generation blocks that they were cut out of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenmill.chat import render
from tokenmill.chat.cutting import cut, cutter, shortened, tiler
from tokenmill.chat.outline import outline_of_runs
from tokenmill.chat.sources import GENERATION_START, GENERATION_STOP, LITERAL
from tokenmill.chat.tracked import Tracked, made

PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yo", "reasoning_content": "R"},
    {"role": "user", "content": "Hm"},
    {"role": "assistant", "content": "Yep", "reasoning_content": "Q"},
]


@pytest.fixture(scope="module")
def plain(native: Any) -> Any:
    return native.train(texts=["low lower"] * 4, num_merges=2, special_tokens=["<|im_start|>", "<|im_end|>"])


def trained(plain: Any, source: str) -> list[str]:
    tok = plain.with_chat_template(source + PROMPT)
    encoding = tok.apply_chat_template(CHAT, return_labels=True)
    runs: list[list[int]] = [[]]
    for token, label in zip(encoding["input_ids"], encoding["labels"], strict=True):
        if label != -100:
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    return [tok.decode(run) for run in runs if run]


LOOP = (
    "{% set t %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% endset %}"
)


@pytest.mark.parametrize(
    "written",
    [
        *("t", "t | trim", "t[:-1]", "t | indent(0)", "t | string", "t[0] ~ t[1:]", "t[:40] + t[40:]"),
        *("t.split('\n') | join('\n')", "t.splitlines() | join('\n')", "t.partition('low') | join"),
        *("t | replace('<|im_start|>', '<|im_start|>')", "t | replace('low', 'lower')", "t | list | join"),
    ],
)
def test_turns_of_a_text_that_is_put_together_again(plain: Any, written: str) -> None:
    want = ["<think>R</think>Yo<|im_end|>", "<think>Q</think>Yep<|im_end|>"]
    assert trained(plain, LOOP + f"{{{{ {written} }}}}") == want


@pytest.mark.parametrize(
    ("body", "written", "want"),
    [
        ("{{ m.content }}<|im_end|>", "t", ("Yo<|im_end|>", "Yep<|im_end|>")),
        ("{{ m.content }}<|im_end|>", "t.split('</think>')[-1]", ("Yo<|im_end|>", "Yep<|im_end|>")),
        ("{{ m.content }}<|im_end|>", "t | replace('Yo', 'Y0')", ("Y0<|im_end|>", "Yep<|im_end|>")),
        ("{{ m.content }}<|im_end|>", "t | replace('Y', '')", ("o<|im_end|>", "ep<|im_end|>")),
        ("{{ m.content }}<|im_end|>\n", "t[:-1]", ("Yo<|im_end|>", "Yep<|im_end|>")),
        ("{{ m.content }}<|im_end|>", "t[:1] ~ t[1:]", ("Yo<|im_end|>", "Yep<|im_end|>")),
        (
            "{{ m.content }}\n\nb<|im_end|>",
            "t.split('\n') | join('-')",
            ("Yo--b<|im_end|>", "Yep--b<|im_end|>"),
        ),
        ("{{ m.content }}\nb<|im_end|>", "t | indent(2)", ("Yo\n  b<|im_end|>", "Yep\n  b<|im_end|>")),
        ("ß{{ m.content }}<|im_end|>", "t | upper", ("SSYO<|IM_END|>", "SSYEP<|IM_END|>")),
        ("<{{ m.content }}<|im_end|>", "t | list | join", ("<Yo<|im_end|>", "<Yep<|im_end|>")),
    ],
)
def test_blocks_of_a_text_that_is_cut_or_changed(
    plain: Any, body: str, written: str, want: tuple[str, str]
) -> None:
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
        f"{{% set t %}}x{{% generation %}}{body}{{% endgeneration %}}y{{% endset %}}{{% set t = t[1:-1] %}}"
        f"{{{{ {written} }}}}{{% else %}}{{{{ m.content }}}}<|im_end|>\n{{% endif %}}{{% endfor %}}"
    )
    assert trained(plain, source) == list(want)


def test_what_stands_between_parts_of_two_blocks_is_in_neither(plain: Any) -> None:
    source = (
        "{% set ns = namespace(all=[]) %}{% for m in messages if m.role == 'assistant' %}"
        "{% set t %}{% generation %}{{ m.content }}\n{{ m.content }}<|im_end|>{% endgeneration %}{% endset %}"
        "{% set ns.all = ns.all + t.split('\n') %}{% endfor %}{{ ns.all | join('|') }}"
    )
    chat = render(source, CHAT, special_tokens={})
    assert [chat.text[start:stop] for start, stop in chat.generation] == [
        "Yo|Yo<|im_end|>",
        "Yep|Yep<|im_end|>",
    ]


def test_nested_blocks_are_trained_once(plain: Any) -> None:
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}A"
        "{% for u in messages if u.role == 'user' %}{% generation %}X{{ u.content }}{% endgeneration %}"
        "{% endfor %}B{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>\n"
        "{% endif %}{% endfor %}"
    )
    assert trained(plain, source) == ["A", "BYo<|im_end|>", "A", "BYep<|im_end|>"]


def test_a_mark_without_text_ends_with_its_piece() -> None:
    source = (
        "{% macro calls(m) %}{% for c in m.calls or [] %}{{ c }}{% endfor %}{% endmacro %}"
        "{% set ns = namespace(x='') %}{% for m in messages %}{{ ns.x }}<{{ m.role }}>{{ m.content }}"
        "{% set ns.x = calls(m) %}{% endfor %}"
    )
    chat = render(source, CHAT[:2], special_tokens={})
    assert [[chat.text[start:stop] for start, stop in turn] for turn in chat.turns] == [
        ["<user>Hi"],
        ["<assistant>Yo"],
    ]


# ---- runs ---------------------------------------------------------------------------------------

Character: TypeAlias = "tuple[Any, int | None, int]"


def characters(runs: Sequence[Any]) -> list[Character]:
    """For each character its source, its turn, and how many blocks it is in."""
    found: list[Character] = []
    turn: int | None = None
    depth = 0
    for length, source in zip(runs[::2], runs[1::2], strict=True):
        if length:
            found += [(source, turn, depth)] * length
        elif source[0] == "turn":
            turn = source[1]
        else:
            depth += 1 if source is GENERATION_START or source[0] == "block resumed" else -1
    return found


@st.composite
def run_lists(draw: st.DrawFn) -> tuple[Any, ...]:
    """Runs with marks of turns, and blocks that end where others begin, or within each other."""
    runs: list[Any] = []
    depth = 0
    for kind in draw(st.lists(st.sampled_from(["text", "text", "turn", "start", "stop"]), max_size=14)):
        if kind == "text":
            source = draw(st.sampled_from([LITERAL, None, (("message", 1), "content")]))
            runs += (draw(st.integers(1, 4)), source)
        elif kind == "turn":
            runs += (0, ("turn", draw(st.sampled_from([None, 0, 1]))))
        elif kind == "start":
            runs, depth = [*runs, 0, GENERATION_START], depth + 1
        elif depth:
            runs, depth = [*runs, 0, GENERATION_STOP], depth - 1
    return (*runs, *(0, GENERATION_STOP) * depth)


@given(run_lists(), st.lists(st.integers(0, 60), max_size=8))
def test_parts_are_what_they_are_in_the_whole(runs: tuple[Any, ...], places: list[int]) -> None:
    whole = characters(runs)
    bounds = sorted(min(place, len(whole)) for place in places)
    part = cutter(runs)
    for start, stop in zip(bounds[::2], bounds[1::2], strict=False):
        want = whole[start:stop]
        assert characters(part(start, stop)) == characters(cut(runs, start, stop)) == want
        again = cut(part(start, stop), 1, max(1, stop - start))
        assert characters(again) == want[1:]


@given(run_lists(), st.lists(st.integers(0, 60), max_size=8))
def test_tiles_are_the_whole(runs: tuple[Any, ...], places: list[int]) -> None:
    length = len(characters(runs))
    bounds = [0, *sorted(min(place, length) for place in places), length]
    part = tiler(runs)
    tiles: list[Any] = []
    for start, stop in pairwise(bounds):
        tiles += part(start, stop)
    assert characters(tiles) == characters(runs)
    assert [source for size, source in zip(tiles[::2], tiles[1::2], strict=True) if not size] == [
        source for size, source in zip(runs[::2], runs[1::2], strict=True) if not size
    ]


@given(run_lists(), st.integers(0, 60))
def test_the_beginning_of_runs(runs: tuple[Any, ...], stop: int) -> None:
    whole = characters(runs)
    assert characters(shortened(list(runs), min(stop, len(whole)))) == whole[:stop]


@given(run_lists(), st.lists(st.sampled_from("ab,"), max_size=60), st.sampled_from(["", ",", "--"]))
def test_a_text_that_is_split_and_joined_has_the_same_blocks(
    runs: tuple[Any, ...], letters: list[str], between: str
) -> None:
    length = len(characters(runs))
    text: Tracked = made("".join([*letters, *"a" * length][:length]), runs)
    joined = made(between, (len(between), None) if between else ()).join(text.split(","))
    blocks = outline_of_runs(joined.runs, 2).generation
    covered = {at for start, stop in outline_of_runs(text.runs, 2).generation for at in range(start, stop)}
    # Of each character of the joined text, the one that it was: commas became what stands between.
    origins: list[int] = []
    for at, letter in enumerate(text):
        origins += [at] * (len(between) if letter == "," else 1)
    found = {at for start, stop in blocks for at in range(start, stop)}
    kept = [at for at, origin in enumerate(origins) if text[origin] != ","]
    assert {at for at in kept if at in found} == {at for at in kept if origins[at] in covered}
    strict = {at for at, origin in enumerate(origins) if text[origin] == "," and _is_inside(runs, origin)}
    assert strict <= found


def _is_inside(runs: tuple[Any, ...], at: int) -> bool:
    """Whether one block holds this character and its neighbours."""
    return any(start < at < stop - 1 for start, stop in outline_of_runs(runs, 2).generation)


def test_parts_within_many_blocks_have_few_marks() -> None:
    depth = 300
    inner = [*(0, GENERATION_START) * depth, 400, LITERAL, *(0, GENERATION_STOP) * depth]
    part = cutter((5, LITERAL, *inner, 5, LITERAL))
    parts = [part(at, at + 1) for at in range(410)]
    assert max(map(len, parts)) < 40
    covered = outline_of_runs([run for each in parts for run in each], 0).generation
    assert {at for start, stop in covered for at in range(start, stop)} == set(range(5, 405))


def test_an_end_without_a_beginning_is_no_block() -> None:
    runs = [0, ("block cut", (None, 3)), 2, LITERAL, 0, ("block resumed", (None, 3)), 2, LITERAL]
    assert outline_of_runs(runs, 0).generation == ((2, 4),)
