"""One module under two names, where the caller has put this package in the place of tiktoken.

After ``sys.modules["tiktoken"] = tokenmill.compat.tiktoken`` the statement ``import tiktoken.core`` would
read ``core.py`` a second time, as another module. The finder gives it the module that is there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["find_modules_by_alias"]

_PACKAGE = __name__.rpartition(".")[0]


def find_modules_by_alias() -> None:
    """Let the modules of this package be found by every name that the package itself has."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds nothing but the loaded modules of this package by another name of it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # as the import system calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        parent, _, name = fullname.rpartition(".")
        package = sys.modules.get(_PACKAGE)
        if package is None or parent == _PACKAGE or sys.modules.get(parent) is not package:
            return None
        module = sys.modules.get(f"{_PACKAGE}.{name}")
        return None if module is None else ModuleSpec(fullname, _AsItIs(module))


class _AsItIs(Loader):
    """Returns a module that is loaded already, unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # which the import system has replaced
