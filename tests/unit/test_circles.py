"""No circles of files: an edge goes from a file to the one that defines what a path in its code names.

``mod`` lines are no edges, nor are re-exports of names that the file does not use itself. Tests are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import ROOT
from rust_source import ITEM, NAME, USE, Segments, code, leaves, without_tests

CRATES = [path.name for path in sorted((ROOT / "crates").iterdir()) if (path / "src" / "lib.rs").is_file()]

PATH = re.compile(rf"\b(?:crate|self|super)(?:\s*::\s*{NAME})+")


@dataclass
class Module:
    """A file of Rust."""

    path: Path
    #: Where it is in its crate: `("engine", "lookup", "cache")`.
    place: Segments
    #: Without comments, strings and tests.
    text: str
    items: set[str] = field(default_factory=set)
    #: Names that it has from elsewhere, and the paths of these; `*` for globs.
    imports: list[tuple[str, Segments]] = field(default_factory=list)
    #: The same, of re-exports.
    exports: list[tuple[str, Segments]] = field(default_factory=list)


def modules_of(source: Path) -> dict[Segments, Module]:
    """All files of a crate that are not tests, by their place."""
    modules = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" in parts:
            continue
        place = () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts
        text = without_tests(code(path.read_text(encoding="utf-8")))
        # A module in a visibility is no use of it.
        text = re.sub(r"pub\(in [^)]*\)", "pub", text)
        # What is built for tests alone.
        text = re.sub(r"#\[cfg\(test\)\]\s*[^;{]*;", "", text)
        module = Module(path, place, text)
        for is_public, tree in USE.findall(text):
            (module.exports if is_public else module.imports).extend(leaves(tree))
        module.items = set(ITEM.findall(USE.sub("", text)))
        modules[place] = module
    return modules


class Crate:
    """The files of a crate, and which of them name things of which."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.modules = modules_of(source)

    def absolute(self, module: Module, path: Segments) -> Segments | None:
        """A path from the root of the crate; ``None`` for one into another crate."""
        if path[0] == "crate":
            return path[1:]
        if path[0] not in ("self", "super"):
            # A child of the module, or a name that another line brings.
            return (*module.place, *path) if (*module.place, path[0]) in self.modules else None
        place, rest = module.place, path
        while rest and rest[0] in ("self", "super"):
            place = place[:-1] if rest[0] == "super" else place
            rest = rest[1:]
        return place + rest

    def defining(self, path: Segments, seen: frozenset[Segments] = frozenset()) -> Path | None:
        """The file that defines what an absolute path names."""
        if path in seen:
            return None
        place = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.modules)
        module, rest = self.modules[place], path[len(place) :]
        if not rest or rest[0] in module.items:
            return module.path
        for name, target in module.exports + module.imports:
            if name in (rest[0], "*") and (absolute := self.absolute(module, target)) is not None:
                path_there = absolute[:-1] if name == "*" else absolute
                found = self.defining((*path_there, *(rest if name == "*" else rest[1:])), seen | {path})
                if found is not None and (name != "*" or found != module.path):
                    return found
        # A child of an enum, or a name that a macro makes.
        return module.path

    def edges(self) -> dict[Path, set[Path]]:
        """The files that each file needs."""
        needs: dict[Path, set[Path]] = {}
        for module in self.modules.values():
            body = USE.sub("", module.text)
            paths = [path for _, path in module.imports]
            paths += [path for name, path in module.exports if re.search(rf"\b{re.escape(name)}\b", body)]
            paths += [tuple(re.split(r"\s*::\s*", path)) for path in PATH.findall(body)]
            # Children are named without `self`.
            for name in re.findall(rf"(?<![:\w])({NAME})::", body):
                if (*module.place, name) in self.modules:
                    paths += [(name, item) for item in re.findall(rf"(?<![:\w]){name}::({NAME})", body)]
            found = set()
            for path in paths:
                if path[-1] == "*":
                    path = path[:-1]
                if path and (absolute := self.absolute(module, path)) is not None:
                    found.add(self.defining(absolute))
            needs[module.path] = {path for path in found if path is not None} - {module.path}
        return needs


def circles(needs: dict[Path, set[Path]]) -> list[list[Path]]:
    """The strongly connected components of more than one file, by Tarjan's algorithm."""
    number: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []

    def visit(node: Path) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(needs.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            members: list[Path] = []
            while not members or members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(needs):
        if node not in number:
            visit(node)
    return found


@pytest.mark.parametrize("crate", CRATES)
def test_no_files_of_a_crate_need_each_other(crate: str) -> None:
    source = ROOT / "crates" / crate / "src"
    found = circles(Crate(source).edges())
    shown = [" <-> ".join(path.relative_to(source).as_posix() for path in circle) for circle in found]
    assert shown == []


def test_edges_go_to_the_file_that_defines_a_name(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::Kept;\n",
        "a/mod.rs": "mod leaf;\npub use leaf::Kept;\npub use leaf::Used;\nfn f(_: Used) {}\n",
        "a/leaf.rs": "pub struct Kept;\npub struct Used;\n// use crate::b::B;\n",
        "b.rs": "use crate::Kept;\nuse super::a::{self, Used};\npub struct B;\n"
        "fn g() { let _ = crate::a::leaf::Used; }\n#[cfg(test)]\nmod tests { use crate::a::f; }\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    edges = Crate(tmp_path).edges()
    named = {
        path.relative_to(tmp_path).as_posix(): {other.relative_to(tmp_path).as_posix() for other in others}
        for path, others in edges.items()
    }
    assert named == {
        "lib.rs": set(),
        "a/mod.rs": {"a/leaf.rs"},
        "a/leaf.rs": set(),
        "b.rs": {"a/leaf.rs", "a/mod.rs"},
    }
    assert circles(edges) == []
    (tmp_path / "a" / "leaf.rs").write_text(
        "use super::f;\npub struct Kept;\npub struct Used;\n", encoding="utf-8"
    )
    (circle,) = circles(Crate(tmp_path).edges())
    assert [path.name for path in circle] == ["leaf.rs", "mod.rs"]
