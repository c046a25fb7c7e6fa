"""Keys for caches of encodings: they change with all that can change the result, and with nothing else."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Tokenizer

__all__ = ["cache_key"]

#: How a call is done, and where the result goes: nothing that it says.
_NO_RESULT = frozenset(("num_threads", "out", "progress"))
_CALLS = ("encode", "call", "apply_chat_template")


def cache_key(tok: Tokenizer, given: Any, *, call: str | None = None, **options: Any) -> str:
    """See ``Tokenizer.cache_key``."""
    is_chat = _is_chat(given)
    if call is None:
        call = "apply_chat_template" if is_chat else "encode"
    if call not in _CALLS:
        raise ValueError(f"call={call!r} is none of {', '.join(map(repr, _CALLS))}")
    method: Callable[..., Any] = tok.__call__ if call == "call" else getattr(tok, call)
    facts: dict[str, Any] = {
        "call": call,
        "fingerprint": tok.fingerprint,
        "options": _options(call, method, options),
        "given": _plain(given, "what is encoded"),
    }
    if call == "apply_chat_template":
        facts["chat"] = tok.digests["chat"]
    line = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return f"tmk1-{hashlib.sha256(line.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _is_chat(given: Any) -> bool:
    if hasattr(given, "messages"):
        return True
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not given:
        return False
    first = given[0]
    return isinstance(first, Mapping) or (
        isinstance(first, Sequence)
        and not isinstance(first, str | bytes)
        and bool(first)
        and isinstance(first[0], Mapping)
    )


def _options(call: str, method: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call that can change its result: those that are not given as they are by default."""
    parameters = inspect.signature(method).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    named = {name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    unknown = [name for name in options if name not in named]
    for name in unknown if takes_all else ():
        near = get_close_matches(name, named, 1, 0.8)
        if near:
            raise TypeError(f"{name}= is no argument of {call}; is it {near[0]}=?")
    if unknown and not takes_all:
        raise TypeError(f"{call} takes no option {unknown[0]!r}; it takes {', '.join(named)}")
    found = {name: parameter.default for name, parameter in named.items()}
    found.update(options)
    return {name: _plain(value, name) for name, value in found.items() if name not in _NO_RESULT}


def _plain(value: Any, what: str) -> Any:
    """As JSON, with types told apart that would be written alike."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return {"number": repr(value)}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Mapping):
        return {"mapping": [[_plain(key, what), _plain(item, what)] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(json.dumps(_plain(item, what), sort_keys=True) for item in value)}
    if isinstance(value, Sequence):
        return [_plain(item, what) for item in value]
    if hasattr(value, "messages"):
        return _plain(value.messages, what)
    if hasattr(value, "isoformat"):
        return {"time": value.isoformat()}
    if callable(value) and hasattr(value, "__qualname__"):
        if "<" in value.__qualname__:
            raise TypeError(
                f"{what}: no lasting key can be made of {value.__qualname__}; define the function in a module"
            )
        return {"function": f"{value.__module__}.{value.__qualname__}"}
    raise TypeError(
        f"{what}: no key can be made of {type(value).__name__}, which may be another thing at every call; "
        "pass text, numbers, lists and dicts"
    )
