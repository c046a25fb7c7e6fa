"""transformers 5.23 with tokenmill underneath, one tokenizer at a time.

>>> from tokenmill.compat.transformers import attach
>>> tokenizer = attach(AutoTokenizer.from_pretrained("folder"))  # doctest: +SKIP

``attach`` changes the tokenizer it is given and nothing else; ``tokenizer_object`` is for making one. What
differs is listed in docs/differences.md.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ... import Tokenizer
from ..._forks import waited_for
from ...errors import FormatError, MissingExtraError

if TYPE_CHECKING:
    from ._backend import Backend

__all__ = ["attach", "tokenizer_object"]

TokenizerT = TypeVar("TokenizerT")


def attach(tokenizer: TokenizerT, *, num_threads: int | None = 1) -> TokenizerT:
    """Let this tokenizer of transformers encode and decode with tokenmill, and return it.

    ``tokenizer`` is what ``AutoTokenizer.from_pretrained`` gives (a ``PreTrainedTokenizerFast``). No other
    tokenizer changes. It goes on as before: its calls, templates, added tokens, copies and pickles; what it
    saves is loaded without tokenmill. Batches are encoded on ``num_threads`` threads (``None``: all cores).
    A ``tokenizers.Tokenizer`` that was taken from it earlier is no longer part of it.

    Raises ``TypeError`` for what has no ``tokenizers.Tokenizer`` (tokenizers written in Python),
    ``FormatError`` for a setting that cannot be reproduced, such as dropout, ``MissingExtraError`` where
    transformers is not installed; the tokenizer is then as it was. Cost: about that of loading its file.
    """
    library = _tokenizers()
    backend_type = _backend_type()
    backend = getattr(tokenizer, "_tokenizer", None)
    if isinstance(backend, backend_type):
        attached = backend_type(backend.to_tokenizers(), num_threads=num_threads)
    elif isinstance(backend, library.Tokenizer):
        attached = backend_type(backend, num_threads=num_threads)
    else:
        raise TypeError(
            f"attach needs a tokenizer of transformers that stands on the tokenizers library, such as "
            f"AutoTokenizer.from_pretrained(...) gives, not {type(tokenizer).__name__}"
        )
    replaced = {} if isinstance(backend, backend_type) else vars(backend)
    wrap = getattr(tokenizer, "_wrap_decode_method_backend_tokenizer", None)
    if replaced and (wrap is None or replaced.keys() != {"decode"}):
        names = ", ".join(sorted(replaced))
        reason = f"code of its own has taken the place of its methods: {names}"
        raise FormatError(reason, path=None, field=names, kind="unsupported", reason=reason, limit=None)
    setattr(tokenizer, "_tokenizer", attached)  # noqa: B010 (the name is transformers')
    if wrap is not None:
        # CLIP puts its own decoding around that of the object.
        wrap()
    return tokenizer


def tokenizer_object(source: Any, *, num_threads: int | None = 1) -> Backend:
    """What ``PreTrainedTokenizerFast(tokenizer_object=...)`` takes, with tokenmill underneath.

    ``source`` is a ``tokenmill.Tokenizer`` or a ``tokenizers.Tokenizer``, which is copied. Roles
    (``bos_token=`` and so on) and a chat template are arguments of ``PreTrainedTokenizerFast``: the object
    has no place for them. ``num_threads`` and errors are those of ``attach``; ``FormatError`` also for a
    tokenizer that no tokenizer.json can hold.
    """
    library = _tokenizers()
    if isinstance(source, Tokenizer):
        with waited_for:  # tempfile has locks of its own for what it does first
            scratch = tempfile.TemporaryDirectory()
        with scratch as folder:
            # A folder has a place for roles; a file alone would refuse to lose them.
            source.save(folder, format="tokenizer.json")
            source = library.Tokenizer.from_file(os.fspath(Path(folder, "tokenizer.json")))
    if not isinstance(source, library.Tokenizer):
        raise TypeError(
            f"tokenizer_object needs a tokenmill.Tokenizer or a tokenizers.Tokenizer, "
            f"not {type(source).__name__}"
        )
    return _backend_type()(source, num_threads=num_threads)


def _tokenizers() -> Any:
    try:
        with waited_for:
            return import_module("tokenizers")
    except ImportError as error:
        raise MissingExtraError(
            'tokenmill.compat.transformers needs transformers: pip install "tokenmill[transformers]"',
            extra="transformers",
        ) from error


def _backend_type() -> type[Backend]:
    with waited_for:
        from ._backend import Backend

    return Backend
