"""What the tables of mutations are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Content = bytes | Callable[[Path], None]
"""A file's bytes, or what writes it: for files that are too large to be made in memory."""


@dataclass(frozen=True)
class Source:
    """One tokenizer as its files, in a folder of their own."""

    files: Mapping[str, Content]
    opens: str
    """The file that is loaded."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What `load` is told besides."""
    saves_as: str | None = None
    """The format for `save`, where it is one to save in."""
    others: Mapping[str, bytes] = field(default_factory=dict)
    """Files of another model, to take in the place of its own."""

    def bytes_of(self, name: str) -> bytes:
        content = self.files[name]
        assert isinstance(content, bytes)
        return content

    def with_file(self, name: str, content: Content) -> Source:
        return replace(self, files={**self.files, name: content})

    def without_file(self, name: str) -> Source:
        return replace(self, files={other: self.files[other] for other in self.files if other != name})

    def write(self, folder: Path) -> Path:
        """Write the files; the path of the one to load."""
        for name, content in self.files.items():
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                content(folder / name)
        return folder / self.opens


Damage = Callable[[Source], Source]


@dataclass(frozen=True)
class Mutation:
    """One kind of damage. Several may share a number: ways to do the same thing."""

    number: int
    name: str
    damage: Damage
    sources: tuple[str, ...]
    """The names of the sources that it is done to."""
    asks_reference: bool = True
    """Not where its answer would cost minutes or gigabytes."""
    is_slow: bool = False


Encode = Callable[[str, bool], list[int]]
"""A reference's ids of a text: with special tokens recognised, or as plain text."""


@dataclass(frozen=True, eq=False)
class Format:
    """A format with its sources, its mutations, and the library that says what its files mean."""

    name: str
    source: Callable[[Path, str], Source]
    """A source by name, from the unpacked test data."""
    mutations: list[Mutation]
    reference: Callable[[Source, Path], Encode]
    """Loads the file at a path with the format's own library, or raises what that raises."""
    differs: Mapping[str, str]
    """Why the outcome of a mutation, by name, is not that of the reference."""


def in_bytes(change: Callable[[bytes], Content], name: str | None = None) -> Damage:
    """Damage to the bytes of one file: the one that is loaded, if none is named."""

    def damage(source: Source) -> Source:
        which = name or source.opens
        return source.with_file(which, change(source.bytes_of(which)))

    return damage


def larger_than(size: int) -> Callable[[bytes], Content]:
    """The file, and nothing behind it up to this size: the file system keeps no zeros."""

    def change(data: bytes) -> Content:
        def write(path: Path) -> None:
            with path.open("wb") as file:
                file.write(data)
                file.truncate(size)

        return write

    return change
