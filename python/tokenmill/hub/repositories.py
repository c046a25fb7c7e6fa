"""The tokenizer of a repository on the Hugging Face hub: its files, and no others, in a folder.

huggingface_hub makes the requests and keeps the cache, which it shares with other libraries. Files that are
named after their hash in that cache are checked against it here, at each use.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path
from typing import Any

from .._forks import waited_for
from ..errors import FormatError, ManifestError
from .download import DownloadError
from .folder import missing_extra

__all__ = ["FILES", "fetch_repository"]

_VOCABULARIES = (
    *("tokenizer.json", "vocab.json", "vocab.txt", "tekken.json", "*.tiktoken"),
    *("tokenizer.model", "tiktoken.model", "spiece.model", "spm.model"),
    *("sentencepiece.model", "sentencepiece.bpe.model"),
)
FILES = (
    *_VOCABULARIES,
    *(
        "merges.txt",
        "tokenizer.*.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
    ),
    *("config.json", "chat_template.jinja", "additional_chat_templates/*.jinja", "tokenmill.json"),
)
"""What is downloaded: files of the top folder of a repository, and the templates in one folder below it."""

_DEEPER = tuple(f"*/{pattern}" for pattern in FILES if "*" in pattern and "/" not in pattern)
"""Files of other folders, which the patterns match too but which are left out."""

_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def fetch_repository(
    repository: str,
    revision: str | None = None,
    *,
    offline: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Path:
    """The folder with the files of a tokenizer from a repository (``"owner/name"``).

    The hub is asked whether ``revision`` (a branch, a tag or a commit; default: the main branch) has
    changed, and only what is not in the cache is downloaded. Where the hub cannot be reached, or
    ``offline``, the cache answers. A commit with all its 40 digits always means the same.

    Raises ``FileNotFoundError`` for a repository, revision or cached folder that does not exist,
    ``PermissionError`` for one whose terms are not accepted, ``ConnectionError`` where the hub cannot be
    reached, ``FormatError`` for a repository without a tokenizer, ``ManifestError`` with both hashes for
    a damaged file, ``MissingExtraError`` without the extra ``hub``.
    """
    try:
        with waited_for:
            import huggingface_hub
    except ImportError as error:
        what = f"{repository}, which is no path here and may be a repository of the hub,"
        raise missing_extra(what, "huggingface_hub") from error
    folder = _snapshot(huggingface_hub, repository, revision, offline, cache_dir)
    if damaged := _damaged(folder):
        if offline:
            raise damaged[0][1]
        for path, _ in damaged:
            _forget(path)
        folder = _snapshot(huggingface_hub, repository, revision, offline, cache_dir)
        if damaged := _damaged(folder):
            raise damaged[0][1]
    if not any(path.is_file() for pattern in _VOCABULARIES for path in folder.glob(pattern)):
        if offline:
            said = f"the tokenizer of {repository} is not in the cache, and offline nothing is downloaded"
            raise FileNotFoundError(errno.ENOENT, _not_here(repository) + said, str(folder))
        reason = f"the repository holds no tokenizer: none of {', '.join(_VOCABULARIES)}"
        raise FormatError(
            f"{repository}: {reason}", path=repository, field="", kind="missing", reason=reason, limit=None
        )
    return folder


def _snapshot(
    hub: Any, repository: str, revision: str | None, offline: bool, cache_dir: str | os.PathLike[str] | None
) -> Path:
    with waited_for:
        from huggingface_hub import constants, errors
        from tqdm import tqdm

    class Silent(tqdm):  # type: ignore[misc]
        """A progress bar that shows nothing."""

        def __init__(self, *args: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*args, **{**options, "disable": True})

    place = Path(cache_dir) if cache_dir is not None else Path(constants.HF_HUB_CACHE)
    shown = f"{repository} at {revision}" if revision else repository
    try:
        found = hub.snapshot_download(
            repository,
            revision=revision,
            cache_dir=place,
            local_files_only=offline,
            allow_patterns=list(FILES),
            ignore_patterns=list(_DEEPER),
            tqdm_class=Silent,
        )
    except errors.LocalEntryNotFoundError as error:
        if offline or isinstance(error.__cause__, errors.OfflineModeIsEnabled):
            said = f"{shown} is not in the cache, and offline nothing is downloaded"
            at = place / f"models--{repository.replace('/', '--')}"
            raise FileNotFoundError(errno.ENOENT, _not_here(repository) + said, str(at)) from error
        raise _unreachable(repository, error.__cause__ or error) from error
    except errors.GatedRepoError as error:
        said = "its owner wants terms to be accepted on the hub, and a login (hf auth login)"
        raise PermissionError(errno.EACCES, said, repository) from error
    except errors.RepositoryNotFoundError as error:
        said = "no file or folder here, and no repository of the hub, or a private one (hf auth login)"
        raise FileNotFoundError(errno.ENOENT, said, repository) from error
    except errors.RevisionNotFoundError as error:
        said = f"the repository has no revision {revision}"
        raise FileNotFoundError(errno.ENOENT, said, repository) from error
    except errors.HfHubHTTPError as error:
        raise _unreachable(repository, error) from error
    except Exception as error:
        # The HTTP client has errors of its own, whose names change between versions.
        if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "requests", "urllib3", "hf_xet"):
            raise _unreachable(repository, error) from error
        raise
    return Path(found)


def _unreachable(repository: str, error: BaseException) -> ConnectionError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    said = re.sub(r"\[Errno -?\d+\] ", "", lines[0])
    said = f"{_not_here(repository)}the hub cannot be reached: {said}"
    return DownloadError(errno.ECONNABORTED, said, repository)


def _not_here(repository: str) -> str:
    """Why the hub is asked at all: the name may be a misspelt path."""
    if os.path.lexists(repository):
        return ""
    return "no file or folder here, so taken for a repository of the hub (owner/name): "


# ---- hashes -----------------------------------------------------------------------------------


def _damaged(folder: Path) -> list[tuple[Path, ManifestError]]:
    """The files that are not what their names in the cache say.

    A file stands there as a link to a blob, which is named after its sha256, or, for small files, after
    git's hash. Mirrors name some after a plain sha1. Other names say nothing.
    """
    damaged = []
    for pattern in FILES:
        for path in sorted(folder.glob(pattern)):
            expected = path.resolve().name
            if not path.is_symlink() or not _DIGEST.fullmatch(expected) or not path.is_file():
                continue
            content = path.read_bytes()
            found = _hashes(content) if len(expected) == 40 else [hashlib.sha256(content).hexdigest()]
            if expected not in found:
                error = ManifestError(
                    f"{path}: is not the file that was published: expected hash {expected}, found {found[0]}",
                    field=path.name,
                    expected=expected,
                    found=found[0],
                )
                damaged.append((path, error))
    return damaged


def _hashes(content: bytes) -> list[str]:
    parts = [b"blob %d\0" % len(content) + content, content]
    return [hashlib.sha1(part, usedforsecurity=False).hexdigest() for part in parts]


def _forget(path: Path) -> None:
    """Remove a file from the cache, so that it is downloaded again."""
    blob = path.resolve()
    path.unlink(missing_ok=True)
    blob.unlink(missing_ok=True)
