"""The floors of the house: who may import whom, where unsafe code may live, how long a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rust_source import code, without_tests

ROOT = Path(__file__).resolve().parent.parent.parent
CRATES = ROOT / "crates"
CORE = CRATES / "core" / "src"
PACKAGE = ROOT / "python" / "tokenmill"

# ---- crates -----------------------------------------------------------------------------------

# What each crate may depend on, and what it may use in its tests besides.
MAY_DEPEND: dict[str, set[str]] = {
    "kernels": set(),
    "reference": set(),
    "core": {"kernels"},
    "io": {"core"},
    "python": {"core", "io", "kernels"},
}
MAY_TEST_WITH: dict[str, set[str]] = {"kernels": {"reference"}, "core": {"reference"}, "io": {"reference"}}


def dependencies(crate: str) -> dict[str, set[str]]:
    """The crates of the workspace that a manifest names, by its section."""
    found: dict[str, set[str]] = {}
    section = ""
    for line in (CRATES / crate / "Cargo.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif line.startswith("tokenmill-"):
            name = re.split(r"[.\s=]", line, maxsplit=1)[0].removeprefix("tokenmill-")
            found.setdefault(section, set()).add(name)
    return found


def test_every_crate_is_known_here() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(MAY_DEPEND)


@pytest.mark.parametrize("crate", MAY_DEPEND)
def test_dependencies_between_crates_point_down(crate: str) -> None:
    found = dependencies(crate)
    assert found.pop("dependencies", set()) <= MAY_DEPEND[crate]
    assert found.pop("dev-dependencies", set()) <= MAY_TEST_WITH.get(crate, set())
    assert found == {}


@pytest.mark.parametrize("crate", ["kernels", "core", "reference"])
def test_only_io_and_the_binding_touch_files(crate: str) -> None:
    touching = [
        path
        for path in (CRATES / crate / "src").rglob("*.rs")
        if "tests" not in path.parts
        and re.search(r"\bstd::(fs|net|process|env)\b", without_tests(code(path.read_text(encoding="utf-8"))))
    ]
    assert touching == []


# ---- modules of core --------------------------------------------------------------------------

# From the top down. A module may use every one in a row below its own, and itself.
LEAVES = [
    "aligned",
    "bits",
    "charsmap",
    "decoded",
    "early",
    "error",
    "ids",
    "packing",
    "span",
    "special",
    "watch",
    "threads",
    "byte_alphabet",
]
ROWS: list[list[str]] = [
    ["budget", "compare", "placeholder", "surgery", "train"],
    ["engine", "compile"],
    ["normalize", "pretokenize", "model", "postprocess", "decode"],
    ["vocabulary", "pattern", "hooks"],
    ["description"],
]
# Leaves stand side by side; these few lean on each other.
AMONG_LEAVES: dict[str, set[str]] = {
    "aligned": {"span"},
    "bits": set(),
    "charsmap": {"error"},
    "decoded": {"error", "ids"},
    "early": set(),
    "error": set(),
    "ids": set(),
    "packing": {"error", "watch"},
    "span": set(),
    "byte_alphabet": set(),
    "watch": {"error"},
    "threads": {"error", "watch"},
    "special": {"error", "span", "watch"},
}
# `compile` puts the stages into an `Engine`; the engine knows nothing of how it was put together.
ALLOWED: dict[str, set[str]] = dict(AMONG_LEAVES)
for _place, _row in enumerate(ROWS):
    _below = {name for row in ROWS[_place + 1 :] for name in row} | set(LEAVES)
    for _name in _row:
        ALLOWED[_name] = set(_below)
ALLOWED["compile"] |= {"engine"}


def modules_used(text: str) -> set[str]:
    """First segments of every path into the own crate: `crate::ids::TokenId`, `crate::{ids, span}`."""
    used = set(re.findall(r"\bcrate::([a-z_][a-z0-9_]*)", text))
    for group in re.findall(r"\bcrate::\{((?:[^{}]|\{[^{}]*\})*)\}", text):
        flat = re.sub(r"\{[^{}]*\}", "", group)
        used |= {part.strip().split("::")[0].split(" ")[0] for part in flat.split(",") if part.strip()}
    return used


def core_files() -> Iterator[tuple[str, Path]]:
    """(module, file) for every file of core that is not a test."""
    for path in sorted(CORE.rglob("*.rs")):
        parts = path.relative_to(CORE).parts
        module = parts[0].removesuffix(".rs")
        if module != "lib" and "tests" not in parts and path.stem != "tests":
            yield module, path


def test_every_module_of_core_has_a_floor() -> None:
    assert {module for module, _ in core_files()} <= set(ALLOWED)


def test_paths_into_the_crate_are_found() -> None:
    text = "use crate::error::{Error, Result}; use crate::{ids, span::Span}; fn f(x: crate::train::T) {}"
    assert modules_used(text) == {"error", "ids", "span", "train"}
    assert code('let a = "crate::x"; // crate::y\n') == 'let a = ""; \n'


def test_modules_of_core_use_only_what_stands_below() -> None:
    upward = []
    for module, path in core_files():
        used = modules_used(without_tests(code(path.read_text(encoding="utf-8"))))
        for name in sorted(used - ALLOWED[module] - {module}):
            upward.append(f"{path.relative_to(CORE)} uses {name}")
    assert upward == []


def test_no_module_reaches_up_by_super() -> None:
    """`super::` stays inside a module: at its top it would be another way to say `crate::`."""
    reaching = []
    for _, path in core_files():
        depth = len(path.relative_to(CORE).parts) - (1 if path.name == "mod.rs" else 0)
        text = without_tests(code(path.read_text(encoding="utf-8")))
        for chain in re.findall(r"\b((?:super::)+)", text):
            if chain.count("super") >= depth:
                reaching.append(str(path.relative_to(CORE)))
    assert reaching == []


def test_the_stages_know_nothing_of_files_and_formats() -> None:
    for _, path in core_files():
        text = code(path.read_text(encoding="utf-8"))
        assert not re.search(r"\b(serde|serde_json|tokenmill_io|pyo3)::", text), path


# ---- unsafe -----------------------------------------------------------------------------------

MAY_BE_UNSAFE = {
    "crates/python/src/buffer/arrow.rs",
    "crates/python/src/buffer.rs",
    "crates/python/src/buffer/lists.rs",
    "crates/python/src/buffer/numbers.rs",
    "crates/python/src/buffer/objects.rs",
    "crates/python/src/buffer/slots.rs",
    "crates/python/src/buffer/units.rs",
}


def rust_files() -> Iterator[tuple[str, str]]:
    for path in sorted(CRATES.rglob("*.rs")):
        if "target" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_unsafe_lives_in_kernels_and_the_buffer_alone() -> None:
    homes = {name for name, text in rust_files() if re.search(r"\bunsafe\b", code(text))}
    assert {name for name in homes if not name.startswith("crates/kernels/")} <= MAY_BE_UNSAFE


def test_every_unsafe_block_says_why_it_is_sound() -> None:
    silent = []
    for name, text in rust_files():
        lines = text.splitlines()
        for at, line in enumerate(lines):
            if re.search(r"\bunsafe\s*(\{|impl)", code(line)):
                above = "\n".join(lines[max(at - 6, 0) : at])
                if "SAFETY:" not in above:
                    silent.append(f"{name}:{at + 1}")
    assert silent == []


@pytest.mark.parametrize("crate", sorted(set(MAY_DEPEND) - {"kernels", "python"}))
def test_the_other_crates_forbid_unsafe_code(crate: str) -> None:
    attributes = re.findall(
        r"^#!\[.*\]$", (CRATES / crate / "src/lib.rs").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert attributes[:1] == ["#![forbid(unsafe_code)]"]


def test_kernels_forbid_unsafe_code_while_they_need_none() -> None:
    needed = any(
        re.search(r"\bunsafe\b", code(text))
        for name, text in rust_files()
        if name.startswith("crates/kernels/src/")
    )
    head = (CRATES / "kernels" / "src" / "lib.rs").read_text(encoding="utf-8")
    assert needed or "#![forbid(unsafe_code)]" in head


# ---- the package ------------------------------------------------------------------------------

LAZY = {"numpy", "rich", "pyarrow", "fsspec", "compression", "pooch", "requests", "huggingface_hub", "tqdm"}


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(node: ast.AST, package: str) -> Iterator[str]:
    """What one import statement names, absolute."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            outer = package.split(".")
            base = ".".join([*outer[: len(outer) - node.level + 1], *([base] if base else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(PACKAGE.parent).parts)


def all_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {name for node in ast.walk(tree) for name in imports(node, package_of(path))}


def imports_at_load(path: Path) -> set[str]:
    """What is imported when the module is: not in functions, not for type checkers alone."""

    def walk(nodes: list[ast.stmt]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from walk(node.orelse)
                continue
            yield from imports(node, package_of(path))
            for inner in ("body", "orelse", "finalbody"):
                yield from walk(getattr(node, inner, []))
            for handler in getattr(node, "handlers", []):
                yield from walk(handler.body)

    return set(walk(ast.parse(path.read_text(encoding="utf-8")).body))


def test_imports_are_found() -> None:
    node = ast.parse("from ..errors import FormatError").body[0]
    assert set(imports(node, "tokenmill.cli")) == {"tokenmill.errors", "tokenmill.errors.FormatError"}
    assert set(imports(ast.parse("from . import x").body[0], "tokenmill")) == {"tokenmill", "tokenmill.x"}


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_other_libraries_are_imported_only_when_used(path: Path) -> None:
    assert {name.split(".")[0] for name in imports_at_load(path)} & LAZY == set()


@pytest.mark.parametrize(
    "path",
    [path for path in python_files() if "cli" in path.relative_to(PACKAGE).parts],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_the_command_line_uses_public_names_alone(path: Path) -> None:
    private = [
        name
        for name in all_imports(path)
        if name.split(".")[0] == "tokenmill"
        # How a file is written whole knows no tokenizer, nor does a bar; the library has them for itself too.
        and not name.startswith(
            ("tokenmill.cli", "tokenmill._files", "tokenmill._progress", "tokenmill._remote")
        )
        and any(part.startswith("_") and part != "__version__" for part in name.split("."))
    ]
    assert private == []
    # Nor through the back door: an attribute of a module that is imported whole.
    tree = ast.parse(path.read_text(encoding="utf-8"))
    reached = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {name for name in reached if re.match(r"tokenmill\._(?!_)", name)}


@pytest.mark.parametrize(
    "path",
    # `python -m tokenmill` is the command line by another name.
    [path for path in python_files() if "cli" not in path.parts and path != PACKAGE / "__main__.py"],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_nothing_imports_the_command_line(path: Path) -> None:
    assert not {name for name in all_imports(path) if name.startswith("tokenmill.cli")}


def test_the_definition_imports_the_standard_library_alone() -> None:
    roots = {name.split(".")[0] for name in all_imports(PACKAGE / "reference.py")}
    assert roots <= set(sys.stdlib_module_names)


# ---- size -------------------------------------------------------------------------------------

# Generated, with the script that makes them beside them.
# A generated table, and a stub that holds all docstrings.
MAY_BE_LONG = {"crates/core/src/pattern/atom_table.rs", "python/tokenmill/_core.pyi"}
LINES = 500


def test_files_are_at_most_500_lines_long() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "crates", "python"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    sources = listed or [name for name, _ in rust_files()] + [
        str(path.relative_to(ROOT)) for path in python_files()
    ]
    long = {
        name: lines
        for name in sources
        if name.endswith((".rs", ".py", ".pyi")) and (ROOT / name).is_file()
        for lines in [len((ROOT / name).read_text(encoding="utf-8").splitlines())]
        if lines > LINES
    }
    assert {name: lines for name, lines in long.items() if name not in MAY_BE_LONG} == {}
