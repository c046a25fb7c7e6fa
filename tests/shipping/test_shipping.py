"""What is shipped: what an sdist and a wheel hold, and that each works in an empty environment.

`TOKENMILL_PYTHONS` names interpreters that are not in the path, separated as the path is. The slow tests take
some minutes of one CPU for each CPython that is here: wheels are built with the profile that is shipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, missing

from .installed import DATA, LIMIT, check, size

VERSIONS = tuple((3, minor) for minor in range(10, 15))
"""The CPythons that wheels are made for."""
ABOUT = "import sys, ensurepip, venv; print(sys.implementation.name, *sys.version_info[:2], sys.abiflags)"
MANIFEST = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
[VERSION] = re.findall(r'^version = "(.*)"$', MANIFEST, re.MULTILINE)


def interpreters() -> dict[tuple[int, int], str]:
    """An interpreter for each version that is here, with the modules that make an environment."""
    named = [name for name in os.environ.get("TOKENMILL_PYTHONS", "").split(os.pathsep) if name]
    named += [sys.executable, *(f"python{major}.{minor}" for major, minor in VERSIONS)]
    found: dict[tuple[int, int], str] = {}
    for name in filter(shutil.which, named):
        done = subprocess.run([name, "-c", ABOUT], capture_output=True, text=True, check=False)
        words = done.stdout.split()
        # A name with flags after it is that of a build for free threads, or for debugging.
        if done.returncode == 0 and len(words) == 3 and words[0] == "cpython":
            version = (int(words[1]), int(words[2]))
            if version in VERSIONS:
                found.setdefault(version, name)
    return found


def maturin() -> str:
    """The builder that is installed beside this interpreter, or in the path."""
    folder = str(Path(sys.executable).parent)
    found = shutil.which("maturin", path=os.pathsep.join([folder, os.environ.get("PATH", "")]))
    if found is None or shutil.which("cargo") is None:
        missing("maturin and cargo are needed here")
    return found


def succeed(*command: str | Path) -> str:
    """What a program prints, which is to succeed; a `make` that runs the tests has no say in it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist of the tree as it is."""
    folder = tmp_path_factory.mktemp("sdist")
    succeed(maturin(), "sdist", "--out", folder)
    [file] = folder.iterdir()
    return file


def twine_agrees(*files: Path) -> None:
    """What an index would refuse or not show is found before."""
    said = succeed(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files)
    assert said.count("PASSED") == len(files)


FILES = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"}


def test_an_sdist_has_what_building_needs_and_nothing_else(sdist: Path) -> None:
    assert sdist.name == f"tokenmill-{VERSION}.tar.gz"
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    patterns = ("crates/*/Cargo.toml", "crates/*/src/**/*.*", "python/tokenmill/**/*.*")
    found = [path for pattern in patterns for path in ROOT.glob(pattern)]
    built = (".pyc", ".so", ".pyd")
    sources = {path.relative_to(ROOT).as_posix() for path in found if path.suffix not in built}
    assert len(sources) > 300
    assert names == {*FILES, *sources, "PKG-INFO"}
    twine_agrees(sdist)


def wheel_is_whole(wheel: Path) -> None:
    """The package and its description, and no source of the extension, tests or caches."""
    assert size(wheel) < LIMIT
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    about = f"tokenmill-{VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"tokenmill", about}
    inside = [name for name in names if name.startswith("tokenmill/")]
    [extension] = [name for name in inside if re.fullmatch(r"tokenmill/_core\..*(so|pyd)", name)]
    package = ROOT / "python"
    built = (".pyc", ".so", ".pyd")
    sources = {
        path.relative_to(package).as_posix()
        for path in (package / "tokenmill").rglob("*")
        if path.is_file() and path.suffix not in built
    }
    assert set(inside) == {extension, *sources}
    assert {f"{DATA}lorem-en.ngrams", "tokenmill/py.typed", "tokenmill/_report/style.css"} <= sources
    licenses = {f"{about}/licenses/LICENSE-MIT", f"{about}/licenses/LICENSE-APACHE"}
    assert licenses | {f"{about}/METADATA", f"{about}/RECORD", f"{about}/entry_points.txt"} <= set(names)


def is_described(metadata: list[list[str]], description: str) -> None:
    """What `pip show` and a page of an index tell."""
    fields = {key: value for key, value in metadata if key not in ("Classifier", "Requires-Dist")}
    assert fields["Version"] == VERSION
    assert fields["License-Expression"] == "MIT OR Apache-2.0"
    assert fields["Requires-Python"] == ">=3.10"
    assert fields["Author"] == "The tokenmill authors"
    assert fields["Summary"]
    assert fields["Keywords"]
    required = [value for key, value in metadata if key == "Requires-Dist"]
    assert [value for value in required if ";" not in value] == ["numpy>=1.24"]
    for major, minor in VERSIONS:
        assert ["Classifier", f"Programming Language :: Python :: {major}.{minor}"] in metadata
    assert description.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


@pytest.mark.slow
def test_wheels_of_make_wheel_work_where_nothing_else_is(tmp_path: Path) -> None:
    found = interpreters()
    folder = tmp_path / "dist"
    succeed("make", "wheel", f"dist={folder}", f"interpreters={' '.join(found.values())}")
    files = {file.name: file for file in folder.iterdir()}
    assert set(files) == {f"tokenmill-{VERSION}.tar.gz", *(name for name in files if name.endswith(".whl"))}
    assert len(files) == len(found) + 1
    ids = []
    for (major, minor), python in found.items():
        tag = f"cp{major}{minor}"
        [wheel] = [file for name, file in files.items() if f"-{tag}-{tag}-" in name]
        wheel_is_whole(wheel)
        report = check(python, wheel)
        is_described(report["metadata"], report["description"])
        ids.append(report["ids"])
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, works with CPython {major}.{minor}")
    assert all(own == ids[0] for own in ids)
    twine_agrees(*files.values())


@pytest.mark.slow
def test_an_sdist_builds_in_an_empty_environment(sdist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its profile is the other test's business.
    monkeypatch.setenv("MATURIN_PEP517_ARGS", "--profile quick")
    for (major, minor), python in interpreters().items():
        report = check(python, sdist)
        is_described(report["metadata"], report["description"])
        print(f"{sdist.name} builds and works with CPython {major}.{minor}")


def commands(target: str) -> list[str]:
    """What `make` would run for a target in a clone in which nothing was made."""
    said = succeed("make", "--dry-run", "--always-make", "VENV=/nowhere/.venv", target)
    return [line for line in said.splitlines() if "/maturin " in line]


@pytest.mark.parametrize(
    ("target", "profile"),
    [
        ("build", "quick"),
        ("demo", "quick"),
        ("test", "quick"),
        ("check", "quick"),
        ("bench", "release"),
        ("wheel", "release"),
    ],
)
def test_only_what_is_measured_or_shipped_is_built_with_the_full_profile(target: str, profile: str) -> None:
    built = commands(target)
    assert built
    assert [line for line in built if f"--profile {profile}" not in line] == []


def test_the_benchmark_builds_right_before_it_measures() -> None:
    said = succeed("make", "--dry-run", "bench").splitlines()
    [measured] = [place for place, line in enumerate(said) if "bench/compare.py" in line]
    assert "develop --profile release" in said[measured - 1]
