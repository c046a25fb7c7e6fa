"""The house: one name for one thing, and a table of its rooms that agrees with the tree."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from conftest import ROOT
from rust_source import ITEM, USE, code, leaves, without_tests

#: The binding crate wraps types of the others under the names that Python users see.
WRAPPERS = "python"

#: A folder or file in backticks, in the first cell of a row or (files) anywhere in it.
NAMED = re.compile(r"`([\w/.]+)`")

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


def rooms() -> dict[str, str]:
    """The folders of the table in CONTRIBUTING.md, and what it says of each."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| folder | what it does |\n| --- | --- |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("|").split(" | ", 1)] for row in table.splitlines()]
    return {folder: says for cell, says in rows for folder in NAMED.findall(cell)}


def folders_of_code() -> set[str]:
    """The folders that the table must have: the package, the sources of crates, and the folders in these."""
    roots = [ROOT / "python" / "tokenmill", *(ROOT / "crates").glob("*/src")]
    found = {path.parent for root in roots for path in (*root.glob("*.*"), *root.glob("*/*.*"))}
    ours = {path for path in found if any(path.glob("*.rs")) or any(path.glob("*.py"))}
    return {f"{path.relative_to(ROOT).as_posix()}/" for path in ours}


def test_the_table_of_rooms_is_the_tree() -> None:
    table = rooms()
    assert {room for room in table if not (ROOT / room).is_dir()} == set()
    assert folders_of_code() - set(table) == set(), "folders that CONTRIBUTING.md does not name"
    for room, says in table.items():
        for name in NAMED.findall(says):
            places = [ROOT / room / name, ROOT / room.rstrip("/") / ".." / name]
            if "." in name:
                assert any(place.is_file() for place in places), f"{room} has no {name}"
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))}
    assert folders - set(NAMED.findall(table["tests/"])) == set(), (
        "folders of tests that the table does not name"
    )


def test_what_fuzz_targets_import_is_there() -> None:
    """They are built by the fuzzer alone: `make check` sees their library, not the targets."""
    items = {
        crate: {
            name
            for path in (ROOT / "crates" / crate / "src").rglob("*.rs")
            for name in ITEM.findall(code(path.read_text(encoding="utf-8")))
        }
        for crate in ("core", "io", "kernels")
    }
    gone = []
    for path in sorted((ROOT / "fuzz").glob("targets/*.rs")):
        for _, tree in USE.findall(code(path.read_text(encoding="utf-8"))):
            for _, (crate, *rest) in leaves(tree):
                known = items.get(crate.removeprefix("tokenmill_"))
                modules = ROOT / "crates" / crate.removeprefix("tokenmill_") / "src"
                is_module = (modules.joinpath(*rest)).is_dir() or modules.joinpath(*rest).with_suffix(
                    ".rs"
                ).is_file()
                if known is not None and rest[-1] not in known and not is_module:
                    gone.append(f"{path.name}: {'::'.join((crate, *rest))}")
    assert gone == []
