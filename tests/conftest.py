"""Fixtures and settings that every test may use.

    pytest                      what runs in minutes
    pytest --slow               the slow tests too (or `-m slow`: only those)
    pytest --engines            those on Ray and Spark too (`make test-engines`)
    TOKENMILL_SLOW=1 pytest     2,000 hypothesis examples instead of 100

Test data live in the shared folder: `TOKENMILL_SHARED`, else `../shared` beside the repository.
Without it, or without the compiled package, the tests that need them are skipped; with `CI` set
they fail instead, so that a green run there means that everything ran. Where the data cannot be had,
`TOKENMILL_WITHOUT_DATA=1` skips them all the same.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from witness import Learn

ROOT = Path(__file__).resolve().parent.parent
# The modules of the benchmark are scripts beside each other: found where they stand.
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

settings.register_profile("fast", max_examples=100, deadline=None)
settings.register_profile("slow", max_examples=2000, deadline=None)
settings.load_profile("slow" if os.environ.get("TOKENMILL_SLOW") == "1" else "fast")


def missing(what: str) -> NoReturn:
    """Skip, or fail where nothing may be left out."""
    if os.environ.get("CI") and not os.environ.get("TOKENMILL_WITHOUT_DATA"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


def at_each_level(check: Callable[[str], object], turn: int | None = None) -> None:
    """Calls this with each level of instructions that there is here, while it is forced.

    With a turn only with one of them: the next turn is that of the next level.
    """
    from tokenmill import _core

    found = []
    try:
        for level in ("portable", "neon", "avx2", "avx512"):
            try:
                assert _core.force_cpu(level) == level
            except ValueError:
                continue
            found.append(level)
        for level in found if turn is None else [found[turn % len(found)]]:
            assert _core.force_cpu(level) == level
            check(level)
    finally:
        assert _core.force_cpu(None) != ""


# ---- the package ------------------------------------------------------------------------------


def _import_package() -> str:
    """Import tokenmill and return what went wrong, if anything.

    Where the extension is not built, a bare package takes its place, so that the executable
    definition can still be imported by its name: `from tokenmill import reference`.
    """
    try:
        package = importlib.import_module("tokenmill")
    except ImportError as error:
        reason = f"tokenmill cannot be imported ({error})"
    else:
        if hasattr(package, "train"):
            return ""
        reason = "tokenmill is not built"
    for name in [name for name in sys.modules if name.split(".")[0] == "tokenmill"]:
        del sys.modules[name]
    bare = types.ModuleType("tokenmill")
    bare.__path__ = [str(ROOT / "python" / "tokenmill")]
    sys.modules["tokenmill"] = bare
    return reason


_NOT_BUILT = _import_package()


@pytest.fixture(scope="session")
def native() -> Any:
    """The compiled package."""
    if _NOT_BUILT:
        missing(f"{_NOT_BUILT}: the compiled package is needed here")
    return sys.modules["tokenmill"]


@pytest.fixture(params=["reference", "native"])
def learn(request: pytest.FixtureRequest) -> Learn:
    """Train with one of the two witnesses; a test that asks for it runs once with each."""
    from witness import learn_by_engine, learn_by_reference

    if request.param == "reference":
        return learn_by_reference
    return partial(learn_by_engine, request.getfixturevalue("native"))


# ---- slow tests -------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--engines", action="store_true", help="run the tests on Ray and Spark as well")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "table: what it prints is shown at the end of the run")
    config.addinivalue_line("markers", "slow: takes more than a few seconds; run with --slow")
    config.addinivalue_line("markers", "engines: runs Ray or Spark; run with --engines")
    # A shell makes what it starts in the background deaf to Ctrl-C, and its children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {
        mark for mark in ("slow", "engines")
        if not config.getoption(f"--{mark}") and mark not in config.getoption("markexpr")
    }  # fmt: skip
    leaves_out = [any(item.get_closest_marker(mark) for mark in left_out) for item in items]
    if any(leaves_out):
        config.hook.pytest_deselected(
            items=[item for item, out in zip(items, leaves_out, strict=True) if out]
        )
        items[:] = [item for item, out in zip(items, leaves_out, strict=True) if not out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What slow tests print, and those marked, is what they compared, whichever process it comes from."""
    for report in terminalreporter.stats.get("skipped", []):
        # Skips of one place and one reason share a line of the summary, and these have one reason.
        if isinstance(report.longrepr, tuple) and _NO_DATA in report.longrepr[2]:
            report.longrepr = (__file__, None, report.longrepr[2])
    passed = terminalreporter.stats.get("passed", [])
    printed = [report.capstdout for report in passed if {"slow", "table"} & {*report.keywords}]
    rows = [line for text in printed for line in text.splitlines() if line.strip()]
    if rows:
        terminalreporter.section("compared")
    for row in rows:
        terminalreporter.write_line(row)


# ---- data -------------------------------------------------------------------------------------


_NO_DATA = "the shared folder of corpora and vocabularies, which these tests need"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder."""
    folder = Path(os.environ.get("TOKENMILL_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        where = 'set TOKENMILL_SHARED to where it is (CONTRIBUTING.md, "What a change needs")'
        missing(f"{_NO_DATA}, is not at {folder}: {where}")
    return folder


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The unpacked test data: `corpus/`, `vocab/`, `templates/`, `adversarial/`."""
    command = [sys.executable, str(shared / "data" / "unpack")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        pytest.fail(f"{shared / 'data' / 'unpack'} failed: {done.stderr}", pytrace=False)
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def corpus(data: Path) -> Callable[[str], str]:
    """Read one file of the corpus by its name without `.txt`, once: `corpus("english")`."""
    texts: dict[str, str] = {}

    def read(name: str) -> str:
        if name not in texts:
            path = data / "corpus" / f"{name}.txt"
            texts[name] = path.read_bytes().decode("utf-8")
        return texts[name]

    return read


@pytest.fixture(scope="session")
def english(corpus: Callable[[str], str]) -> str:
    """40 MB of English prose and documentation."""
    return corpus("english")


@pytest.fixture(scope="session")
def multilingual(corpus: Callable[[str], str]) -> str:
    """40 MB in many languages and scripts."""
    return corpus("multilingual")


@pytest.fixture(scope="session")
def code(corpus: Callable[[str], str]) -> str:
    """Source code in many languages."""
    return corpus("code")


@pytest.fixture(scope="session")
def cjk(corpus: Callable[[str], str]) -> str:
    """Chinese, Japanese and Korean."""
    return corpus("cjk")


@pytest.fixture(scope="session")
def json_text(corpus: Callable[[str], str]) -> str:
    """JSON documents."""
    return corpus("json")


@pytest.fixture(scope="session")
def fra(corpus: Callable[[str], str]) -> str:
    """English and French sentence pairs, tab-separated."""
    return corpus("fra")
