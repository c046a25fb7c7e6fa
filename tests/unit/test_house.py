"""The house: one name for one thing, and a table of its rooms that agrees with the tree."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from conftest import ROOT
from rust_source import code, without_tests

#: The binding crate wraps types of the others under the names that Python users see.
WRAPPERS = "python"

PUBLIC_TYPE = re.compile(r"^\s*pub\s+(?:unsafe\s+)?(?:struct|enum|union|trait|type)\s+(\w+)", re.MULTILINE)


def public_types() -> dict[str, list[str]]:
    """Each public type name of the crates, and the files that define it."""
    found = defaultdict(list)
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        place = path.relative_to(ROOT / "crates")
        if place.parts[0] == WRAPPERS or "tests" in place.with_suffix("").parts:
            continue
        for name in PUBLIC_TYPE.findall(without_tests(code(path.read_text(encoding="utf-8")))):
            found[name].append(place.as_posix())
    return found


def test_no_public_type_name_stands_for_two_things() -> None:
    types = public_types()
    assert len(types) > 100, "the search finds no types any more"
    twice = {name: places for name, places in types.items() if len(places) > 1}
    assert twice == {}, "a name for two things: rename one of them"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pub struct A;\npub(crate) struct B;\nstruct C;", ["A"]),
        ("pub enum D {}\npub unsafe trait E {}\n// pub struct F;\npub type G = D;", ["D", "E", "G"]),
    ],
)
def test_public_types_are_found(text: str, names: list[str]) -> None:
    assert PUBLIC_TYPE.findall(code(text)) == names
