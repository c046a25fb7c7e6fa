"""Rank files: where they are found, how they are read and written.

A file that tiktoken names by a URL is looked for, in this order, in the folder of ``set_folder`` and in
tiktoken's cache (``TIKTOKEN_CACHE_DIR``, else ``DATA_GYM_CACHE_DIR``, else ``data-gym-cache`` among the
temporary files), where it is called by the sha1 of its URL. Where none of the two variables is set it is
then looked for in tokenmill's own cache, by its own name. Wherever it is found its sha256 is checked.

A file that is in none of these places is downloaded, into the cache that a variable names, else into
tokenmill's own; an empty variable means that nothing is kept, as in tiktoken.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from ..._files import write_file
from ...errors import FormatError, MissingExtraError
from ...hub import download
from ...hub.caches import name_in_cache, named_cache, tiktoken_cache_paths
from ...hub.download import DownloadError, File
from ...hub.encodings import FILES
from ...hub.folder import cache_folder

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
    "set_folder",
]


_folder: Path | None = None
_offline = False


def set_folder(path: str | os.PathLike[str] | None, *, offline: bool = False) -> None:
    """Look for rank files in this folder before all others; ``None`` undoes it.

    They go by their own names there (``cl100k_base.tiktoken``, ``vocab.bpe``), or by tiktoken's names for
    its cache. Nothing is written to the folder. Encodings that were made before stay as they are.
    With ``offline=True`` nothing is downloaded until the next call of this function.

    Raises ``FileNotFoundError`` or ``NotADirectoryError`` for what is no folder.
    """
    if path is not None and not Path(path).is_dir():
        number = errno.ENOTDIR if Path(path).exists() else errno.ENOENT
        raise OSError(number, "no folder, in which rank files could be", os.fspath(path))
    take_folder(path, offline=offline)


def take_folder(path: str | os.PathLike[str] | None, *, offline: bool) -> None:
    """``set_folder`` without the check that the folder exists: a pickle may come from another machine."""
    global _folder, _offline
    _folder = None if path is None else Path(path).absolute()
    _offline = offline


def get_folder() -> tuple[str | None, bool]:
    """What ``set_folder`` has set, and whether it said ``offline``."""
    return (None if _folder is None else str(_folder)), _offline


# ---- finding ----------------------------------------------------------------------------------


def read_file(blobpath: str) -> bytes:
    """The bytes of a local file, or of what a URL names, past every cache."""
    return _fetch(blobpath, None, [], {}) if "://" in blobpath else Path(blobpath).read_bytes()


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether this is the sha256 of the bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """The bytes of a local file, or of what a URL names, from the places that the module names.

    Raises ``FormatError`` for a local file with another sha256 than expected. For a URL it raises
    ``ManifestError`` with both hashes for a download with another one, or offline for a file on this machine,
    ``FileNotFoundError`` where it is not on this machine, offline, or not on the server, ``ConnectionError``
    for a server that cannot be reached, and ``MissingExtraError``, which says where to put the file, without
    the extra ``hub``. The last two also name a file on this machine that has another hash.
    """
    if "://" not in blobpath:
        data = read_file(blobpath)
        if expected_hash is not None and not check_hash(data, expected_hash):
            raise _format_error(blobpath, "", "hash", f"its sha256 is not {expected_hash}")
        return data
    places = list(_places(blobpath, expected_hash))
    others: dict[Path, str] = {}
    for path in places:
        if path.is_file():
            data = path.read_bytes()
            if expected_hash is None or check_hash(data, expected_hash):
                return data
            others[path] = hashlib.sha256(data).hexdigest()
    return _fetch(blobpath, expected_hash, places, others)


def _places(url: str, sha256: str | None) -> Iterator[Path]:
    """Where the file of a URL may be. A download is kept in the last place, unless caching is off."""
    cached = name_in_cache(url)
    if _folder is not None:
        yield _folder / url.rsplit("/", 1)[-1]
        yield _folder / cached
    # Anyone may write among the temporary files, so only what can be checked is taken from there.
    if named_cache() is not None or sha256 is not None:
        yield from tiktoken_cache_paths(url)
    if named_cache() is None:
        with contextlib.suppress(MissingExtraError):
            # Files of other publishers may have the same name at different addresses.
            known = _known(url)
            yield cache_folder() / (known.name if known else f"{cached[:12]}-{url.rsplit('/', 1)[-1]}")


def _known(url: str) -> File | None:
    return next((file for file in FILES.values() if file.url == url), None)


def _fetch(url: str, sha256: str | None, places: list[Path], others: dict[Path, str]) -> bytes:
    """Download a file that is in none of ``places``; nothing else here uses the network.

    ``others`` are files that were found there with another sha256, which is given.
    """
    known, name = _known(url), url.rsplit("/", 1)[-1]
    file = File(name, url, sha256, known.size if known and known.sha256 == sha256 else None)
    if _offline:
        if others:
            path, found = next(iter(others.items()))
            raise download.hash_mismatch(
                str(path), file, found, "it is not used, and offline no other is downloaded"
            )
        looked = f" (looked for at {', '.join(map(str, places))})" if places else ""
        said = f"{name} is not on this machine{looked}, and offline nothing is downloaded"
        raise FileNotFoundError(errno.ENOENT, said, url)
    kept = places[-1] if places and named_cache() != "" else None
    not_used = {path: download.not_used(path, file, found) for path, found in others.items()}
    try:
        return download.read(file) if kept is None else download.ensure(file, kept).read_bytes()
    except ConnectionError as error:
        # Of the file at the place where the download would be kept, the error says so already.
        apart = [said for path, said in not_used.items() if path != kept]
        raise DownloadError(error.errno, "; ".join([str(error.strerror), *apart]), error.filename) from error
    except FileNotFoundError:
        raise
    except OSError:
        if named_cache() is not None:
            raise
        return download.read(file)  # the default cache cannot be written: nothing is kept, as in tiktoken
    except MissingExtraError as error:
        checked = f" (sha256 {sha256})" if sha256 else ""
        raise MissingExtraError(
            f'{name}{checked} is not on this machine; for its download: pip install "tokenmill[hub]". Or put '
            f"it into a folder and name that with tiktoken.set_folder(...), or let TIKTOKEN_CACHE_DIR name "
            "tiktoken's cache" + "".join(f"; {said}" for said in not_used.values()),
            extra="hub",
        ) from error


# ---- reading ----------------------------------------------------------------------------------


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Ranks by token, from a path or URL. Raises ``FormatError`` naming a line that is broken."""
    ranks: dict[bytes, int] = {}
    lines = read_file_cached(tiktoken_bpe_file, expected_hash).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except ValueError as error:
            reason = f"{line!r} is not a token in base64, a blank and a rank"
            raise _format_error(tiktoken_bpe_file, f"line {number}", "line", reason) from error
    return ranks


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Ranks by token, from a list of merges and a table of ids as GPT-2 has them.

    The 256 bytes come first, those that print before the others, then the merges in order. Raises
    ``FormatError`` where the table says otherwise; ``clobber_one_byte_tokens`` takes the ids of single
    bytes from the table.
    """
    printing = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in set(printing)]
    byte_of = {chr(byte): byte for byte in printing}
    byte_of |= {chr(256 + place): byte for place, byte in enumerate(others)}
    order = [*printing, *others]

    def spell(written: str) -> bytes:
        return bytes(byte_of[char] for char in written)

    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    tokens = [bytes([byte]) for byte in order]
    table = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    try:
        tokens += [spell("".join(merge.split())) for merge in merges]
        ids = {spell(written): number for written, number in table.items()}
    except KeyError as error:
        reason = f"{error.args[0]!r} is no character of the byte alphabet"
        raise _format_error(vocab_bpe_file, "", "character", reason) from error
    ranks = {token: rank for rank, token in enumerate(tokens)}
    for special in (b"<|endoftext|>", b"<|startoftext|>"):
        ids.pop(special, None)
    if clobber_one_byte_tokens:
        ranks |= {token: number for token, number in ids.items() if len(token) == 1}
    if ranks != ids:
        different = min(token for token in ranks.keys() | ids.keys() if ranks.get(token) != ids.get(token))
        reason = (
            f"{different!r} has the rank {ranks.get(different)} by the order of merges and "
            f"{ids.get(different)} by the table"
        )
        raise _format_error(encoder_json_file, "", "mismatch", reason)
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write ranks to a local file, in their order: it appears whole or not at all. A pipe is written to."""
    lines = [
        base64.b64encode(token) + b" %d\n" % rank
        for token, rank in sorted(bpe_ranks.items(), key=lambda entry: entry[1])
    ]
    write_file(tiktoken_bpe_file, lines)


def _format_error(path: str, field: str, kind: str, reason: str) -> FormatError:
    place = f"{path}: {field}" if field else path
    return FormatError(f"{place}: {reason}", path=path, field=field, kind=kind, reason=reason, limit=None)
