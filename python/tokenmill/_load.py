"""``tokenmill.load``: any tokenizer file into a ``Tokenizer``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from . import _core
from ._core import Tokenizer
from ._forks import waited_for

__all__ = ["load"]


def load(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
    bos_token: str | None = None,
    eos_token: str | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    add_bos_token: bool | None = None,
    add_eos_token: bool | None = None,
    strict: bool = False,
    hooks: Mapping[str, Callable[[str], object]] | None = None,
    cache_bytes: int | None = None,
    revision: str | None = None,
    offline: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    expected_fingerprint: str | None = None,
    image_dir: str | os.PathLike[str] | None = None,
) -> Tokenizer:
    """Read a tokenizer from disk, or by the name of a published one.

    ``path`` is one of

    - a ``tokenizer.json``;
    - a SentencePiece model (``tokenizer.model``);
    - a ``tekken.json`` of Mistral;
    - a GGUF file, whose vocabulary is read and whose tensors are not;
    - a ``.tiktoken`` file of ranks (a line holds a token in base64 and its rank);
    - a ``vocab.json`` with its ``merges.txt`` beside it (either of the two may be named);
    - a ``vocab.txt`` of BERT, lower-casing where none of its tokens has an upper-case letter;
    - an image, a compiled tokenizer that ``Tokenizer.save("x.tokenmill")`` wrote, which is mapped;
    - a folder that holds one of them; with a ``tokenizer_config.json`` (or ``config.json``,
      ``special_tokens_map.json``, ``added_tokens.json``) beside a ``tokenizer.json`` it means what it means
      to ``transformers.AutoTokenizer``, tokenizer classes and chat templates included;
    - the name of a published encoding: ``gpt2``, ``r50k_base``, ``p50k_base``, ``p50k_edit``,
      ``cl100k_base``, ``o200k_base``, ``o200k_harmony``;
    - the id of a repository on the Hugging Face hub, ``"owner/name"``, of which ``revision`` (a branch, a
      tag or a commit) may be named.

    A path that exists always wins. What a file is, its content says, not its name.

    To name an encoding or a repository is to ask for its download: what is not in the cache is fetched,
    checked by its hash, and kept. The hub is asked each time what a branch holds now. ``offline=True`` makes
    no connection and takes what the cache has. Encodings are kept in ``cache_dir``, else where the
    variable ``TOKENMILL_CACHE`` says, else in the platform's place; repositories in ``cache_dir``, else in
    huggingface_hub's own cache. Both need the extra ``hub``. Unless ``cache_dir`` is given, an encoding that
    tiktoken has in its cache is copied from there.

    ``split`` (a name such as ``"cl100k"``, or a pattern) and ``special_tokens`` (literals, which take the
    ids after the last one, or a mapping of literals to ids) are for formats that hold neither. Published
    files of ranks are known by their hash and need no ``split``; a mapping replaces those of their special
    tokens that have one of its ids or literals.

    ``bos_token``, ``eos_token``, ``pad_token`` and the other roles name the token that has each of them, in
    place of what the file says; one that is not a token yet becomes a special token.
    ``add_bos_token`` and ``add_eos_token`` say whether ``add_special_tokens=True`` puts these tokens before
    and after each text. ``None`` leaves a setting as the file has it.

    What the format's own library lets pass is accepted and listed in ``load_report``; ``strict=True`` refuses
    it.

    ``hooks`` has the functions that a file names as normalizer or splitter, by name; what is not there is
    looked for among those of ``tokenmill.register_hook``. A file never causes an import.

    ``cache_bytes`` bounds the caches of all threads together, which keep pretokens of the texts so far with
    their ids; ``None`` is 32 MiB. It changes no result; a tokenizer made from this one has its own.

    ``expected_fingerprint`` is the ``fingerprint`` of the tokenizer that a model was trained with. Another
    tokenizer is a ``ManifestError`` with both. Chat templates and file layouts do not count.

    ``image_dir`` is a folder in which an image of the tokenizer is kept, found by a hash of all files and of
    the options of this call: later calls take some milliseconds, and the processes of a machine share its
    memory. Copies that are unpickled use it, too. A damaged image is made anew; where none can be written,
    ``load_report.notes`` says why. With ``strict=True``, for files of more than 64 MB and for tokenizers with
    ``hooks`` there is none. Who may write to the folder decides what is loaded from it, so choose one of
    your own. Images of other releases stay there and are not used.

    Raises ``FormatError`` with file, field and reason for what is broken or cannot be told apart, and
    ``OSError`` for a file that is missing or cannot be read: ``FileNotFoundError`` also for a name that
    stands for nothing and for what is not in the cache offline, ``ConnectionError`` for a server that
    cannot be reached. ``ManifestError`` has both hashes of a file that is not what was published;
    ``MissingExtraError`` says what to install.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"path must be str or os.PathLike, not {type(path).__name__}")
    if expected_fingerprint is not None and not isinstance(expected_fingerprint, str):
        raise TypeError(
            f"expected_fingerprint must be str or None, not {type(expected_fingerprint).__name__}"
        )
    of_encoding: Mapping[str, int] = {}
    if revision is not None or (isinstance(path, str) and not os.path.lexists(path)):
        with waited_for:
            from . import hub

        found = hub.find(path, revision=revision, offline=offline, cache_dir=cache_dir)
        path, of_encoding = found.path, found.special_tokens
    additions: dict[str, object] = {
        "special_tokens": of_encoding or special_tokens,
        "bos_token": bos_token,
        "eos_token": eos_token,
        "unk_token": unk_token,
        "sep_token": sep_token,
        "pad_token": pad_token,
        "cls_token": cls_token,
        "mask_token": mask_token,
        "add_bos_token": add_bos_token,
        "add_eos_token": add_eos_token,
    }
    tokenizer = _core.load_file(
        path,
        split=split,
        additions=additions,
        strict=strict,
        hooks=hooks,
        cache_bytes=cache_bytes,
        image_dir=image_dir,
    )
    if of_encoding and special_tokens:
        tokenizer = tokenizer.with_special_tokens(special_tokens)
    if expected_fingerprint is not None:
        _check_fingerprint(tokenizer, path, expected_fingerprint)
    return tokenizer


def _check_fingerprint(tokenizer: Tokenizer, path: str | os.PathLike[str], expected: str) -> None:
    found = tokenizer.fingerprint
    if found == expected:
        return
    with waited_for:
        from .errors import ManifestError

    raise ManifestError(
        f"{os.fspath(path)}: fingerprint: expected {expected}, found {found}: this is not the tokenizer "
        "that was asked for; load it without expected_fingerprint= to see what it is",
        field="fingerprint",
        expected=expected,
        found=found,
    )
