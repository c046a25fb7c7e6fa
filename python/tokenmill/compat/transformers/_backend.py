"""``Backend``, with the methods of ``tokenizers.Tokenizer`` 0.23.3 that transformers 5.23 calls.

Settings and vocabulary are kept in a ``tokenizers.Tokenizer``; texts and ids go through a
``tokenmill.Tokenizer`` that is compiled from it, again whenever it has changed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  # asyncio would import it with its first thread
import json
from collections.abc import Callable, Sequence
from typing import Any

import tokenizers
from tokenizers import models, normalizers

from ... import _core
from ..._core import Tokenizer
from ..._forks import OwnLock, waited_for
from ...errors import FormatError
from ._encoding import Encoding
from ._inputs import read_inputs

__all__ = ["Backend"]

_FORWARDED = frozenset(
    [
        "enable_padding",
        "enable_truncation",
        "get_added_tokens_decoder",
        "get_vocab",
        "get_vocab_size",
        "id_to_token",
        "no_padding",
        "no_truncation",
        "num_special_tokens_to_add",
        "padding",
        "save",
        "to_str",
        "token_to_id",
        "truncation",
    ]
)
"""What is passed on: it reads or sets data, and needs no new engine."""

_MODEL_SETTINGS = [
    "byte_fallback",
    "continuing_subword_prefix",
    "dropout",
    "end_of_word_suffix",
    "fuse_unk",
    "ignore_merges",
    "max_input_chars_per_word",
    "unk_token",
    "alpha",
    "nbest_size",
]
"""The attributes of models that can be set."""

_SAMPLING = ("dropout", "alpha", "nbest_size")


class _Component:
    """A stage of the pipeline. A caller that reads it gets the stage itself, and may change it in place."""

    def __set_name__(self, owner: type[Backend], name: str) -> None:
        self.name = name

    def __get__(self, backend: Backend | None, owner: type[Backend]) -> Any:
        return self if backend is None else backend._give(self.name)

    def __set__(self, backend: Backend, component: Any) -> None:
        backend._take(self.name, component)


class Backend:
    """Takes the place of a ``tokenizers.Tokenizer`` in a tokenizer of transformers.

    Threads may share it as long as none of them changes its settings. The ``tokenizers.Tokenizer`` has locks
    of its own, which a forked child would find held: so a fork waits until it has been changed or written.
    """

    normalizer = _Component()
    pre_tokenizer = _Component()
    post_processor = _Component()
    decoder = _Component()
    model = _Component()

    _engine: Tokenizer | None

    def __init__(self, plain: tokenizers.Tokenizer, *, num_threads: int | None = 1) -> None:
        """Take a copy of ``plain``; ``FormatError`` for what cannot be reproduced."""
        _refuse_sampling(plain.model)
        written = _Written(plain)
        self._start(written, plain.encode_special_tokens, num_threads)
        self._engine = written.compiled()
        # A wrong num_threads is an error now, and not at the first call.
        self._engine.decode_batch([], num_threads=num_threads)

    def _start(self, written: _Written, encode_special_tokens: bool, num_threads: int | None) -> None:
        # A copy: whoever holds stages of the original could change them unnoticed.
        self._plain = written.plain()
        self._plain.encode_special_tokens = encode_special_tokens
        self._num_threads = num_threads
        self._engine = None
        # The stages that callers have read, with the state of each when the engine was compiled.
        self._given: dict[str, Any] = {}
        self._lock = OwnLock()

    # ---- noticing changes -------------------------------------------------------------------------

    def _give(self, name: str) -> Any:
        with self._lock.held:
            if name not in self._given:
                self._given[name] = _state(self._plain, name)
            return getattr(self._plain, name)

    def _take(self, name: str, component: Any) -> None:
        with self._lock.held:
            # In this order: a child that is forked in between has no engine, and compiles again.
            self._engine = None
            self._given[name] = None
            with waited_for:
                setattr(self._plain, name, component)

    def _changed(self) -> None:
        with self._lock.held:
            self._engine = None

    def _current(self) -> Tokenizer:
        """The engine, compiled again if anything has changed."""
        engine = self._engine
        if engine is not None and not self._given:
            return engine
        with self._lock.held:
            states = {name: _state(self._plain, name) for name in self._given}
            engine = self._engine
            if engine is None or states != self._given:
                _refuse_sampling(self._plain.model)
                engine = self._engine = _Written(self._plain).compiled()
                self._given = states
            return engine

    # ---- text to ids ------------------------------------------------------------------------------

    def _encode(
        self,
        texts: list[Any],
        pairs: list[Any] | None,
        is_pretokenized: bool,
        add_special_tokens: bool,
        *,
        is_batch: bool,
    ) -> list[Encoding]:
        plain = self._plain
        try:
            encodings = _core.encode_inputs(
                self._current(),
                texts,
                pairs,
                is_batch=is_batch,
                add_special_tokens=add_special_tokens,
                is_pretokenized=is_pretokenized,
                special="text" if plain.encode_special_tokens else "parse",
                truncation=plain.truncation,
                padding=plain.padding,
                num_threads=self._num_threads,
            )
        except UnicodeEncodeError as error:
            raise TypeError(f"a text holds half of a surrogate pair: {error}") from error
        return [Encoding(encoding) for encoding in encodings]

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """The encoding of a text, or of two."""
        given = [sequence] if pair is None else [(sequence, pair)]
        texts, pairs = read_inputs(given, is_pretokenized=is_pretokenized)
        if (pairs is None) != (pair is None):
            raise TypeError("a pair is given as a second argument")
        return self._encode(texts, pairs, is_pretokenized, add_special_tokens, is_batch=False)[0]

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The encodings of texts, or of pairs of them."""
        texts, pairs = read_inputs(input, is_pretokenized=is_pretokenized)
        return self._encode(texts, pairs, is_pretokenized, add_special_tokens, is_batch=True)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The same as ``encode_batch``, offsets too."""
        return self.encode_batch(input, is_pretokenized, add_special_tokens)

    async def async_encode(self, *arguments: Any, **options: Any) -> Encoding:
        """As ``encode``, in a thread."""
        return await asyncio.to_thread(self.encode, *arguments, **options)

    async def async_encode_batch(self, *arguments: Any, **options: Any) -> list[Encoding]:
        """As ``encode_batch``, in a thread."""
        return await asyncio.to_thread(self.encode_batch, *arguments, **options)

    async def async_encode_batch_fast(self, *arguments: Any, **options: Any) -> list[Encoding]:
        """As ``encode_batch_fast``, in a thread."""
        return await asyncio.to_thread(self.encode_batch_fast, *arguments, **options)

    @property
    def encode_special_tokens(self) -> bool:
        """Whether the literals of special tokens are text like any other."""
        return self._plain.encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        with waited_for:
            self._plain.encode_special_tokens = value

    def post_process(
        self,
        encoding: Encoding | tokenizers.Encoding,
        pair: Encoding | tokenizers.Encoding | None = None,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """What the post-processor, truncation and padding make of encodings."""
        first = _plain_encoding(encoding)
        second = None if pair is None else _plain_encoding(pair)
        with waited_for:
            return Encoding(None, self._plain.post_process(first, second, add_special_tokens))

    # ---- ids to text ------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids; those that do not exist are skipped."""
        return self._current().decode(ids, skip_special_tokens=skip_special_tokens, undefined="skip")

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each row of ids."""
        return self._current().decode_batch(
            sequences,
            skip_special_tokens=skip_special_tokens,
            undefined="skip",
            num_threads=self._num_threads,
        )

    async def async_decode_batch(self, *arguments: Any, **options: Any) -> list[str]:
        """As ``decode_batch``, in a thread."""
        return await asyncio.to_thread(self.decode_batch, *arguments, **options)

    # ---- changes ----------------------------------------------------------------------------------

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens; how many were new."""
        with waited_for:
            count = self._plain.add_tokens(tokens)
        self._changed()
        return count

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Add special tokens; how many were new."""
        with waited_for:
            count = self._plain.add_special_tokens(tokens)
        self._changed()
        return count

    def train(self, files: Sequence[str], trainer: Any = None) -> None:
        """Train the model, which the tokenizers library does."""
        self._train(lambda plain: plain.train(files, trainer))

    def train_from_iterator(self, iterator: Any, trainer: Any = None, length: int | None = None) -> None:
        """Train the model, which the tokenizers library does."""
        self._train(lambda plain: plain.train_from_iterator(iterator, trainer, length))

    def _train(self, train: Callable[[tokenizers.Tokenizer], None]) -> None:
        # A copy is trained, and then replaces the original. The library locks an object while it trains it:
        # another thread would wait for it with the interpreter lock held, which the iterator needs.
        plain = self.to_tokenizers()
        train(plain)
        with self._lock.held:
            for name in self._given.keys() - {"model"}:
                # A caller that has read a stage may still change it.
                setattr(plain, name, getattr(self._plain, name))
            self._engine = None
            self._plain = plain

    # ---- as a whole -------------------------------------------------------------------------------

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same as a ``tokenizers.Tokenizer`` of its own, for code that takes nothing else."""
        plain = _Written(self._plain).plain()
        plain.encode_special_tokens = self._plain.encode_special_tokens
        return plain

    def __getattr__(self, name: str) -> Any:
        if name in _FORWARDED:
            return getattr(self._plain, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_FORWARDED})

    def __repr__(self) -> str:
        return f"Backend({self._plain.model.__class__.__name__}, vocab_size={self._plain.get_vocab_size()})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Backend:
        twin = _restore(*self.__reduce__()[1])
        with self._lock.held:
            if self._given == {name: _state(self._plain, name) for name in self._given}:
                # Compiling is what costs time, and an engine never changes.
                twin._engine = self._engine
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (_Written(self._plain).json, self.encode_special_tokens, self._num_threads)


def _restore(json: bytes, encode_special_tokens: bool, num_threads: int | None) -> Backend:
    backend = Backend.__new__(Backend)
    backend._start(_Written(json), encode_special_tokens, num_threads)
    return backend


class _Written:
    """A tokenizer as its tokenizer.json, from which exact copies are made.

    The tokenizers library may be off by one bit where it reads the scores of a Unigram model; Python reads
    them as they were written, to the last bit.
    """

    def __init__(self, source: tokenizers.Tokenizer | bytes) -> None:
        if isinstance(source, bytes):
            self.json = source
        else:
            try:
                with waited_for:
                    self.json = source.to_str().encode()
            except Exception as error:  # the library has no type for it
                raise _unsupported("", f"it cannot be written as tokenizer.json: {error}") from error

    def plain(self) -> tokenizers.Tokenizer:
        plain = tokenizers.Tokenizer.from_buffer(self.json)
        if isinstance(plain.model, models.Unigram):
            model = self._model()
            pieces = [(token, score) for token, score in model["vocab"]]
            plain.model = models.Unigram(pieces, model["unk_id"], model["byte_fallback"])
        return plain

    def compiled(self) -> Tokenizer:
        model = self._model() if b'"Unigram"' in self.json else {}
        is_unigram = model.get("type") == "Unigram"
        return _core.from_tokenizer_json(
            self.json, [score for _, score in model["vocab"]] if is_unigram else None
        )

    def _model(self) -> dict[str, Any]:
        model: dict[str, Any] = json.loads(self.json)["model"]
        return model


def _plain_encoding(encoding: Encoding | tokenizers.Encoding) -> tokenizers.Encoding:
    return encoding.to_tokenizers() if isinstance(encoding, Encoding) else encoding


def _refuse_sampling(model: Any) -> None:
    for name in _SAMPLING:
        if getattr(model, name, None):
            reason = (
                f"{name} is {getattr(model, name)}, so that each call would give other ids; set it to None, "
                f"and draw ids with sample() of a tokenmill.Tokenizer"
            )
            raise _unsupported(f"model.{name}", reason)


def _state(plain: tokenizers.Tokenizer, name: str) -> Any:
    """What changes when a stage is changed in place."""
    component = getattr(plain, name)
    if name == "model":
        return [(setting, getattr(component, setting, None)) for setting in _MODEL_SETTINGS]
    # The map of a Precompiled normalizer is long, and cannot be changed.
    if component is None or type(component) is normalizers.Precompiled:
        return None
    try:
        return component.__getstate__()
    except Exception:  # the library has no type for it
        # A stage in Python has no state to compare; compiling it says what is wrong.
        return object()


def _unsupported(field: str, reason: str) -> FormatError:
    place = f"{field}: " if field else ""
    return FormatError(place + reason, path=None, field=field, kind="unsupported", reason=reason, limit=None)
