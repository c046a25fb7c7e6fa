"""Installs wheels and sdists, each into an empty environment, and does the main job with what is there then.

    python tests/shipping/installed.py dist/*.tar.gz
    python tests/shipping/installed.py --python python3.12 dist/*-cp312-*.whl

Needs only Python (with venv). pip fetches numpy, and maturin to build an sdist. A wheel is installed and used
with a path in which there are the programs of the environment alone: no Rust, no compiler. An sdist is built
with the Rust that is in the path. Exit code 1 at the first thing that is not right.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIMIT = 4_700_000
"""Bytes of the largest wheel that there may be, without the data in it (decision 72)."""
DATA = "tokenmill/data/"
"""The folder of the data in a wheel: models of placeholder text."""
NEEDED = ("cargo", "rustc")
FOREIGN = ("PYTHON", "VIRTUAL_ENV", "CONDA", "TOKENMILL")
"""What the names of variables start with that could lead to another environment."""


class WrongError(Exception):
    """What was installed is not as it should be."""


class Environment:
    """A new environment with nothing in it but pip."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / ("Scripts" if os.name == "nt" else "bin")
        run(python, "-m", "venv", folder)

    def program(self, name: str) -> Path:
        """A program of the environment."""
        return self.programs / (f"{name}.exe" if os.name == "nt" else name)

    def run(self, program: str, *arguments: str | Path, path: str | None = None) -> str:
        """What a program of the environment prints; it finds others in ``path``, by default only its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        found = {**kept, "PATH": path or str(self.programs), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        # `make` sets it, and pip would show nothing.
        found.pop("PIP_QUIET", None)
        return run(self.program(program), *arguments, env=found, cwd=self.folder)


def run(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """What a program prints, which is to succeed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=env, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise WrongError(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def size(wheel: Path) -> int:
    """The bytes of a wheel without its data, which may have 1 MB."""
    with zipfile.ZipFile(wheel) as archive:
        data = sum(file.compress_size for file in archive.infolist() if file.filename.startswith(DATA))
    if data >= 1_000_000:
        raise WrongError(f"{wheel.name} has {data:,} bytes of data; it may have 1,000,000")
    return wheel.stat().st_size - data


def install(environment: Environment, file: Path) -> None:
    """Installs a wheel without a program in the path, or builds an sdist with those that are there."""
    own = str(environment.programs)
    if file.suffix == ".whl":
        if size(file) >= LIMIT:
            raise WrongError(f"{file.name} has {size(file):,} bytes; it may have {LIMIT:,}")
        for name in NEEDED:
            if shutil.which(name, path=own):
                raise WrongError(f"{own} is not empty: it has {name}")
        environment.run("python", "-m", "pip", "install", "--only-binary", ":all:", file)
    else:
        path = os.pathsep.join([own, os.environ.get("PATH", "")])
        for name in NEEDED:
            if not shutil.which(name, path=path):
                raise WrongError(f"an sdist is built with {name}, which is not in the path")
        environment.run("python", "-m", "pip", "install", "--no-cache-dir", file, path=path)


def use(environment: Environment, work: Path) -> dict[str, Any]:
    """Does the main job, by import and by command, and says what was used."""
    environment.run("python", "-m", "pip", "check")
    shown = environment.run("python", "-m", "pip", "show", "tokenmill")
    fields = dict(line.partition(": ")[::2] for line in shown.splitlines())
    said = environment.run("python", "-I", HERE / "main_job.py", work)
    report: dict[str, Any] = json.loads(said)
    if not Path(report["package"]).is_relative_to(environment.folder):
        raise WrongError(f"{report['package']} was used, which is not in {environment.folder}")
    for field, expected in (("Name", "tokenmill"), ("Version", report["version"]), ("Requires", "numpy")):
        if fields.get(field) != expected:
            raise WrongError(f"pip show has {field}: {fields.get(field)}, and not {expected}")
    for language in ("la", "en"):
        if len(environment.run("tokenmill", "lorem", "--words", "9", "--language", language).split()) < 9:
            raise WrongError(
                f"the model of placeholder text for {language} gives fewer words than were asked for"
            )
    counted = environment.run("tokenmill", "count", "-t", work / "mill", work / "lines.txt", "--json")
    return {**report, "count": json.loads(counted)}


def check(python: str, file: Path) -> dict[str, Any]:
    """Installs a file into an empty environment, does the main job there, and says what was used."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-") as folder:
        root = Path(folder).resolve()
        environment = Environment(python, root / "environment")
        install(environment, file.resolve())
        work = root / "work"
        work.mkdir()
        return use(environment, work)


def main() -> int:
    """Checks each file that is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a wheel or an sdist")
    parser.add_argument("--python", default=sys.executable, help="an interpreter; by default this one")
    options = parser.parse_args()
    for file in options.files:
        try:
            report = check(options.python, file)
        except WrongError as wrong:
            print(f"installed: {file.name}: {wrong}", file=sys.stderr)
            return 1
        print(f"{file.name}: tokenmill {report['version']} trains, saves, loads and encodes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
