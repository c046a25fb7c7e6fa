"""Tokenizers in worker processes: sent once, and made once in each process."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from collections.abc import Callable
from typing import Any

from .._core import Tokenizer
from ..errors import HookError, MissingExtraError

__all__ = ["SentTokenizer", "missing"]

#: The tokenizers of this process, the latest last.
_made: dict[str, Tokenizer] = {}

#: How many are kept: a worker process of a cluster may live for days and serve many jobs.
_KEPT = 4


class SentTokenizer:
    """A tokenizer on its way to worker processes.

    It is pickled as the tokenizer's bytes or as what they are sent by (an object with ``value``), and made
    when it is first called in a process, after ``init``.
    """

    def __init__(
        self,
        tok: Tokenizer,
        init: Callable[[], object] | None,
        send: Callable[[bytes], Any] = lambda state: state,
    ) -> None:
        if not isinstance(tok, Tokenizer):
            raise TypeError(f"tok must be a Tokenizer, not {type(tok).__name__}")
        if init is not None and not callable(init):
            raise TypeError(f"init must be a function or None, not {type(init).__name__}")
        if init is None and tok._hook_names:
            names = ", ".join(map(repr, tok._hook_names))
            raise HookError(
                f"the tokenizer calls a function of Python ({names}), which worker processes do not have; "
                "pass init=, a function that registers it in each of them by tokenmill.register_hook",
                hook=tok._hook_names[0],
                position=None,
            )
        state = pickle.dumps(tok, protocol=5)
        self._key = hashlib.sha256(state).hexdigest()
        if tok._hook_names:
            # A name stands for whatever function has it now. A worker that outlives a job makes it anew.
            self._key += uuid.uuid4().hex
        self._state = send(state)
        self._init = init

    def __call__(self) -> Tokenizer:
        """The tokenizer of this process."""
        tok = _made.pop(self._key, None)
        if tok is None:
            if self._init is not None:
                self._init()
            tok = pickle.loads(getattr(self._state, "value", self._state))
        _made[self._key] = tok
        for key in list(_made)[:-_KEPT]:
            _made.pop(key, None)
        return tok


def missing(module: str, library: str, extra: str) -> MissingExtraError:
    """The error of a module of this package whose library is not installed."""
    return MissingExtraError(f'{module} needs {library}: pip install "tokenmill[{extra}]"', extra=extra)
