"""Arrays that a model takes: what ``tok(..., return_tensors=)`` and ``tok.pad_batch`` give, and their masks.

``ModelInputs`` are the arrays by name, ``causal_mask`` says which token may attend to which, ``collator``
makes batches for the loader of a training loop. numpy is imported when the first array is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, final

from ._forks import waited_for
from .errors import MissingExtraError

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._core import Tokenizer
    from .ragged import Ragged

__all__ = ["Collator", "ModelInputs", "causal_mask", "collator"]

IGNORED = -100
"""The label of a token that is no target, as losses of torch and transformers have it."""


@final
class ModelInputs(dict[str, Any]):
    """Arrays by name, as a model takes them: ``model(**batch)``.

    A ``dict`` whose values are attributes as well, so that loaders, trainers and ``**`` take it. The names
    are those of transformers: ``input_ids``, ``attention_mask``, ``labels``, ... Two of them are equal if
    their names and arrays are.

    >>> import numpy as np
    >>> batch = ModelInputs(input_ids=np.array([[5, 6, 0]]), attention_mask=np.array([[1, 1, 0]]))
    >>> batch.input_ids.shape, "labels" in batch
    ((1, 3), False)
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            pass
        have = ", ".join(self) or "nothing"
        raise AttributeError(f"ModelInputs has no {name!r}; it has {have}", name=name, obj=self)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]

    def to(self, *arguments: Any, **options: Any) -> ModelInputs:
        """The same, with every tensor moved: ``tensor.to(*arguments, **options)``. Arrays of numpy stay."""
        moved = {
            name: value.to(*arguments, **options) if hasattr(value, "to") else value
            for name, value in dict(self).items()
        }
        return ModelInputs(moved)

    def copy(self) -> ModelInputs:
        """The same arrays under the same names, in a new mapping."""
        return ModelInputs(self)

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        # Copies: another thread may add a name meanwhile.
        own, others = dict(self), dict(other)
        return own.keys() == others.keys() and all(_are_equal(own[name], others[name]) for name in own)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return (
            f"ModelInputs({', '.join(f'{name}: {_described(value)}' for name, value in dict(self).items())})"
        )


def _are_equal(one: Any, other: Any) -> bool:
    with waited_for:
        from numpy import array_equal as same

    return bool(same(one, other))


def _described(value: Any) -> str:
    if not hasattr(value, "shape"):
        return repr(value)
    return f"{' x '.join(map(str, value.shape))} {str(value.dtype).removeprefix('torch.')}"


# ---- how arrays are made ------------------------------------------------------------------------


class _Columns:
    """Makes the arrays of a call, new ones or parts of ``out``, and returns them as arrays or tensors."""

    def __init__(self, tensors: object, dtype: npt.DTypeLike, out: object) -> None:
        with waited_for:
            import numpy as np

        if tensors not in ("np", "pt"):
            raise ValueError(f'return_tensors={tensors!r} is neither "np" nor "pt"')
        self._torch = _torch() if tensors == "pt" else None
        self.dtype = np.dtype(dtype)
        if out is None:
            self._out: dict[str, Any] = {}
        elif isinstance(out, Mapping):
            self._out = dict(out)
        else:
            self._out = {"input_ids": out}
        arrays = [(name, array) for name, array in self._out.items() if isinstance(array, np.ndarray)]
        for at, (name, array) in enumerate(arrays):
            for other, another in arrays[:at]:
                if np.may_share_memory(array, another):
                    raise ValueError(
                        f"out[{name!r}] and out[{other!r}] share memory: one would overwrite the other"
                    )

    def allocated(self, name: str, rows: int, length: int, dtype: npt.DTypeLike = None) -> Any:
        """An array to be written to: rows x length."""
        with waited_for:
            import numpy as np

        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if name not in self._out:
            return np.empty((rows, length), wanted)
        out = self._out.pop(name)
        if not isinstance(out, np.ndarray) or out.ndim != 2:
            is_tensor = type(out).__module__.split(".")[0] == "torch"
            raise TypeError(
                f"out[{name!r}] must be a numpy array of two dimensions, not {_kind(out)}"
                + ("; tensor.numpy() is one, of the same memory" if is_tensor else "")
            )
        if out.dtype != wanted:
            raise ValueError(f"out[{name!r}] is an array of {out.dtype}, but dtype is {wanted}")
        if out.shape[0] < rows or out.shape[1] < length:
            raise ValueError(
                f"out[{name!r}] has room for {out.shape[0]} x {out.shape[1]} ids, {rows} x {length} are "
                "needed"
            )
        if not out.flags.writeable:
            raise ValueError(f"out[{name!r}] is read-only")
        return out[:rows, :length]

    def allocated_pairs(self, rows: int, length: int) -> Any:
        """A new array of rows x length x 2, to be written to."""
        with waited_for:
            import numpy as np

        return np.empty((rows, length, 2), np.int64)

    def finish(self, columns: dict[str, Any]) -> ModelInputs:
        """The arrays, as they are or as tensors of torch that share their memory."""
        if self._out:
            raise ValueError(
                f"out has arrays for {', '.join(map(repr, self._out))}, which this call does not return "
                f"there; it returns {', '.join(columns)}"
            )
        if self._torch is None:
            return ModelInputs(columns)
        return ModelInputs({name: self._torch.from_dlpack(column) for name, column in columns.items()})


def _kind(value: object) -> str:
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    return kind if shape is None else f"{kind} of shape {tuple(shape)}"


def _torch() -> Any:
    try:
        with waited_for:
            return import_module("torch")
    except ImportError as missing:
        raise MissingExtraError(
            'return_tensors="pt" needs torch: pip install torch; "np" gives arrays of numpy', extra="torch"
        ) from missing


# ---- masks --------------------------------------------------------------------------------------


def causal_mask(batch: Mapping[str, Any] | npt.ArrayLike, *, dtype: npt.DTypeLike = bool) -> Any:
    """Which token attends to which: ``mask[row, i, j]`` says whether token ``i`` sees token ``j``.

    It does if ``j <= i``, ``j`` is no padding, and both are of the same document where ``batch`` has
    ``document_ids``. ``batch`` is a mapping with ``attention_mask`` (without one, nothing is padding), or
    that array alone. The result has the shape rows x length x length, or length x length for a mask of one
    dimension; it is a tensor of torch if the mask is one. A row that is padding may see nothing.

    >>> causal_mask([[0, 1, 1]]).astype(int)
    array([[[0, 0, 0],
            [0, 1, 0],
            [0, 1, 1]]])
    """
    with waited_for:
        import numpy as np

    documents = None
    if isinstance(batch, Mapping):
        documents = batch.get("document_ids")
        given = batch.get("attention_mask")
        if given is None and "input_ids" not in batch:
            raise ValueError("causal_mask needs a mapping with attention_mask or input_ids")
        mask = np.ones(np.shape(batch["input_ids"]), bool) if given is None else np.asarray(given) != 0
    else:
        given, mask = batch, np.asarray(batch) != 0
    if mask.ndim not in (1, 2):
        raise ValueError(f"attention_mask has one dimension or two, not {mask.ndim}")
    length = int(np.shape(mask)[-1])
    seen: Any = np.tri(length, dtype=bool) & np.expand_dims(mask, -2)
    if documents is not None:
        of = np.asarray(documents)
        if of.shape != mask.shape:
            raise ValueError(f"document_ids have the shape {of.shape}, attention_mask {mask.shape}")
        seen &= of[..., :, None] == of[..., None, :]
    made = seen.astype(dtype, copy=False)
    is_tensor = type(given).__module__.split(".")[0] == "torch"
    return _torch().from_dlpack(made) if is_tensor else made


# ---- batches for a loader -----------------------------------------------------------------------


@final
class Collator:
    """Makes a batch of a list of rows: what a ``DataLoader`` or a ``Trainer`` calls. Made by ``collator``."""

    def __init__(
        self, tok: Tokenizer, padding: dict[str, Any], texts: dict[str, Any], makes_labels: bool, plain: bool
    ) -> None:
        self._tok, self._padding, self._texts = tok, padding, texts
        self._makes_labels, self._plain = makes_labels, plain

    def __call__(
        self, rows: Sequence[Any] | Ragged | Mapping[str, Sequence[Any] | Ragged]
    ) -> ModelInputs | dict[str, Any]:
        """The batch: of texts as ``tok(...)`` makes it, of all else as ``tok.pad_batch`` does."""
        if isinstance(rows, str | bytes):
            raise TypeError(f"rows must be a list of texts or of rows of ids, not {type(rows).__name__}")
        # Of a mapping, which has columns, a list would have the names.
        if not isinstance(rows, Mapping):
            rows = list(rows)
        # Tensors come last: labels are made of arrays.
        tensors = self._padding["return_tensors"]
        columns = _Columns(tensors, self._padding["dtype"], None)
        padding = {**self._padding, "return_tensors": "np"}
        if isinstance(rows, list) and rows and all(isinstance(row, str | bytes) for row in rows):
            del padding["pad_values"], padding["own_length"]
            batch = self._tok(rows, **padding, **self._texts)
            self._check_length(batch)
        else:
            batch = self._tok.pad_batch(rows, **padding)
        if self._makes_labels and "labels" not in batch:
            if columns.dtype.kind == "u":
                raise ValueError(f"dtype {columns.dtype} cannot hold {IGNORED}, a value of labels; use int64")
            with waited_for:
                from numpy import where

            batch["labels"] = where(batch["attention_mask"] != 0, batch["input_ids"], IGNORED)
        made = columns.finish(batch)
        return dict(made) if self._plain else made

    def _check_length(self, batch: ModelInputs) -> None:
        """Refuses texts that are longer than ``max_length``, as ``pad_batch`` refuses such rows."""
        most, multiple = self._padding["max_length"], self._padding["pad_to_multiple_of"] or 1
        length = batch["input_ids"].shape[1]
        if most is not None and length > most + -most % multiple:
            raise ValueError(
                f"a text has {length} ids, more than max_length={most}; pass truncation=True, or raise "
                "max_length"
            )

    def __repr__(self) -> str:
        return f"Collator({self._tok!r})"


def collator(
    tok: Tokenizer,
    *,
    padding: Literal["longest", "max_length"] | bool = True,
    max_length: int | None = None,
    pad_to_multiple_of: int | None = None,
    padding_side: Literal["left", "right"] | None = None,
    pad_id: int | None = None,
    pad_values: Mapping[str, int | float] | None = None,
    own_length: Sequence[str] = (),
    return_tensors: Literal["np", "pt"] = "pt",
    return_position_ids: bool = False,
    make_labels: bool = False,
    add_special_tokens: bool = True,
    truncation: Literal["longest_first", "only_first", "only_second"] | bool | None = None,
    special: Literal["text", "parse", "raise"] | AbstractSet[str] = "text",
    dtype: npt.DTypeLike = "int64",
    num_threads: int | None = 1,
    plain: bool = False,
) -> Collator:
    """A function that makes a batch of a list of rows, for ``DataLoader(collate_fn=)`` or a ``Trainer``.

    Rows are texts, which are encoded as ``tok(texts, ...)`` does, or what ``tok.pad_batch`` takes: lists of
    ids, mappings with ``input_ids`` and more columns, a ``Ragged``, or one mapping with the columns of all
    rows. The arguments are those of these two; ``add_special_tokens``, ``truncation`` and ``special`` are for
    texts: ids are never cut. With ``make_labels`` rows without ``labels`` get them: their ids, and -100 where
    padding is. Labels are not shifted.

    It can be pickled, so loaders with worker processes take it. The batch is ``ModelInputs``, with ``plain``
    a ``dict``. Raises what the calls raise, and ``ValueError`` for what is longer than ``max_length``, up to
    the next multiple of ``pad_to_multiple_of``; ``MissingExtraError`` at the first batch if torch is missing.

    >>> import tokenmill
    >>> tok = tokenmill.train(texts=["low lower lowest"] * 3, vocab_size=260)
    >>> collate = collator(tok, pad_id=0, return_tensors="np", make_labels=True)
    >>> collate(["low", "lower"])["labels"]
    array([[ 257, -100, -100],
           [ 257,  101,  114]])
    """
    shared = {
        "padding": padding,
        "max_length": max_length,
        "pad_to_multiple_of": pad_to_multiple_of,
        "padding_side": padding_side,
        "pad_id": pad_id,
        "pad_values": None if pad_values is None else dict(pad_values),
        "own_length": tuple(own_length),
        "return_tensors": return_tensors,
        "return_position_ids": return_position_ids,
        "dtype": dtype,
        "num_threads": num_threads,
    }
    texts = {"add_special_tokens": add_special_tokens, "truncation": truncation, "special": special}
    return Collator(tok, shared, texts, make_labels, plain)
