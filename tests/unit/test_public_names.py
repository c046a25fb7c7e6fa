"""Every public name with its signature, as it was when someone last looked: a change is a decision.

TOKENMILL_RENEW=1 python -m pytest tests/unit/test_public_names.py      writes public_names.txt anew
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parent / "public_names.txt"
MODULES = [
    "tokenmill",
    "tokenmill.algorithms",
    "tokenmill.chat",
    "tokenmill.checkpoint",
    "tokenmill.errors",
    "tokenmill.explain",
    "tokenmill.findings",
    "tokenmill.manifest",
    "tokenmill.model_inputs",
    "tokenmill.packing",
    "tokenmill.placeholder",
    "tokenmill.ragged",
    "tokenmill.reports",
    "tokenmill.spans",
    "tokenmill.stages",
    "tokenmill.vocab_sizes",
    "tokenmill.reference",
    "tokenmill.hub",
    "tokenmill.compat.tiktoken",
    "tokenmill.compat.transformers",
]


def public(module: Any) -> list[str]:
    def is_own(value: Any) -> bool:
        return str(getattr(value, "__module__", "")).startswith("tokenmill")

    own = [name for name, value in vars(module).items() if not name.startswith("_") and is_own(value)]
    return sorted(getattr(module, "__all__", own))


def signature(value: Any) -> str:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(...)"


def members(name: str, cls: type) -> Iterator[str]:
    """The methods and properties that a class defines itself, and what it inherits from this package."""
    seen: set[str] = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("tokenmill"):
            continue
        for member, value in vars(owner).items():
            if (member.startswith("_") and member != "__call__") or member in seen:
                continue
            seen.add(member)
            plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            yield f"{name}.{member}{signature(plain) if callable(plain) else ''}"


def names() -> list[str]:
    lines = []
    for name in MODULES:
        module = importlib.import_module(name)
        lines.append(f"# {name}")
        for public_name in public(module):
            value = getattr(module, public_name)
            if inspect.isclass(value):
                bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
                lines.append(f"class {public_name}({bases})")
                lines += sorted(f"    {member}" for member in members(public_name, value))
            elif callable(value):
                lines.append(f"def {public_name}{signature(value)}")
            else:
                lines.append(public_name)
    return lines


def test_public_names_and_signatures_are_those_of_the_list() -> None:
    pytest.importorskip("transformers")
    now = names()
    if os.environ.get("TOKENMILL_RENEW"):
        FILE.write_text("\n".join(now) + "\n", encoding="utf-8")
    listed = FILE.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(listed, now, "public_names.txt", "the package", lineterm="", n=0))
    assert not changes, "\n".join([*changes, "", "meant so? TOKENMILL_RENEW=1 writes the list anew"])


def test_dir_shows_public_names_alone(native: Any) -> None:
    shown = [name for name in dir(native) if not (name.startswith("__") and name.endswith("__"))]
    assert [name for name in shown if name.startswith("_")] == []
    assert set(native.__all__) - set(shown) == {"__version__"}
    for name in shown:
        assert (
            importlib.import_module(f"tokenmill.{name}")
            if name not in native.__all__
            else getattr(native, name)
        )


def test_help_shows_types_that_mean_something(native: Any) -> None:
    private = [line for line in names() if re.search(r"[\[ (,|'\"]_[A-Z]\w+", line)]
    assert private == []
    page = pydoc.plain(pydoc.render_doc(native.train))
    assert "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None" in page
