"""Keys for caches of encodings: they change with all that can change the result, and with nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ._core import Tokenizer
from .chat import literals
from .chat.applied import OWN
from .chat.preparing import refuse_others
from .chat.rendering import choose, roles_of
from .chat.selection import refuse_without_labels, selection_of
from .chat.tools import schema_of

__all__ = ["cache_key"]

#: Options that say how a call is done, or where its result goes, and cannot change the result.
_NO_RESULT = frozenset(("num_threads", "out", "progress"))
_CALLS = ("encode", "call", "apply_chat_template")


def cache_key(tok: Tokenizer, given: Any, *, call: str | None = None, **options: Any) -> str:
    """See ``Tokenizer.cache_key``."""
    is_chat = _is_chat(given)
    if call is None:
        call = "apply_chat_template" if is_chat else "encode"
    if call not in _CALLS:
        raise ValueError(f"call={call!r} is none of {', '.join(map(repr, _CALLS))}")
    facts: dict[str, Any] = {"call": call, "fingerprint": tok.fingerprint}
    if call == "apply_chat_template":
        facts["chat"] = tok.digests["chat"]
        facts["template"] = _template(tok, options)
        options = {**options, "tools": _tools(options.get("tools"))}
    facts["options"] = _options(call, _parameters(call), options)
    facts["given"] = _plain(given, "what is encoded")
    line = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return f"tmk1-{hashlib.sha256(line.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _is_chat(given: Any) -> bool:
    if hasattr(given, "messages"):
        return True
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not given:
        return False
    first = given[0]
    if isinstance(first, Sequence) and not isinstance(first, str | bytes):
        return bool(first) and _is_message(first[0])
    return _is_message(first) or hasattr(first, "messages")


def _is_message(given: Any) -> bool:
    return isinstance(given, Mapping) or _fields(given) is not None


def _fields(value: Any) -> Mapping[str, Any] | None:
    """What a template sees of a dataclass, or of an object with ``model_dump()``."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    fields: Mapping[str, Any] | None = None
    if callable(getattr(value, "model_dump", None)):
        fields = value.model_dump()
    return fields


def _template(tok: Tokenizer, options: Mapping[str, Any]) -> str:
    """The source of the template. Raises what the call raises for its options."""
    name, source = choose(tok.chat_templates, options.get("template"), options.get("tools"))
    of_template = {
        option: value
        for option, value in options.items()
        if option not in OWN and option not in ("template", "literals", "tools")
    }
    refuse_others(of_template, source, OWN)
    roles = roles_of(source, name, options.get("roles"))
    literals.check(options.get("literals", "text"), roles)
    refuse_without_labels(options)
    if options.get("return_labels"):
        selection_of(options.get("train_on", "assistant"), roles)
    if "strftime_now" in source and options.get("now") is None:
        raise TypeError(
            "the template writes the date, by strftime_now: without now= the ids are others tomorrow; pass "
            "now= to cache_key and to apply_chat_template"
        )
    return source


def _tools(tools: Any) -> Any:
    """Functions as the schemas that a template sees of them."""
    if tools is None:
        return None
    return [tool if isinstance(tool, Mapping) else schema_of(tool) for tool in tools]


@cache
def _parameters(call: str) -> Mapping[str, inspect.Parameter]:
    """What a method of ``_CALLS`` takes. To read a signature takes longer than to make a key."""
    return inspect.signature(Tokenizer.__call__ if call == "call" else getattr(Tokenizer, call)).parameters


def _options(
    call: str, parameters: Mapping[str, inspect.Parameter], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a call that can change its result, with the defaults of those that are not given."""
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    named = {name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    unknown = [name for name in options if name not in named]
    if unknown and not takes_all:
        raise TypeError(f"{call} takes no option {unknown[0]!r}; it takes {', '.join(named)}")
    found = {name: parameter.default for name, parameter in named.items()}
    found.update(options)
    return {
        name: _plain(value, name, in_template=name not in named)
        for name, value in found.items()
        if name not in _NO_RESULT
    }


def _plain(value: Any, what: str, *, in_template: bool = False) -> Any:
    """As JSON, with types told apart that would be written alike.

    In what a template sees, tuples and lists are told apart too: it may print them differently.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return {"number": int.__repr__(value)}
    if isinstance(value, float):
        return {"number": float.__repr__(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Mapping):
        items = value.items()
        return {"mapping": [[_plain(key, what), _plain(item, what, in_template=True)] for key, item in items]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(json.dumps(_plain(item, what), sort_keys=True) for item in value)}
    if _is_of_numpy(kind, "generic"):
        return _plain(value.item(), what, in_template=in_template)
    if _is_of_numpy(kind, "ndarray") and not in_template:
        return _plain(value.tolist(), what)
    if isinstance(value, Sequence):
        items_of = [_plain(item, what, in_template=in_template) for item in value]
        return {"tuple": items_of} if in_template and isinstance(value, tuple) else items_of
    if hasattr(value, "messages"):
        return _plain(value.messages, what)
    fields = _fields(value)
    if fields is not None:
        return _plain(fields, what)
    if hasattr(value, "isoformat"):
        zone = value.tzname() if hasattr(value, "tzname") else None
        return {"time": [value.isoformat(), zone]}
    if callable(value):
        return {"function": _name_of_function(value, what)}
    raise TypeError(
        f"{what}: no key can be made of {kind.__name__}, which may be another thing at every call; "
        "pass text, numbers, lists and dicts"
    )


def _is_of_numpy(kind: type, name: str) -> bool:
    """Whether this is a type of numpy of this name; told by names, so that numpy is not imported."""
    return any(base.__module__ == "numpy" and base.__name__ == name for base in kind.__mro__)


def _name_of_function(function: Any, what: str) -> str:
    """The name by which every process finds the same function."""
    shown = getattr(function, "__qualname__", type(function).__qualname__)
    if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
        module = function.__module__
        found: Any = None if module == "__main__" else sys.modules.get(module)
        for part in shown.split("."):
            found = getattr(found, part, None)
        if found is function:
            return f"{module}.{shown}"
    raise TypeError(
        f"{what}: no lasting key can be made of {shown}; pass a function that a module defines by this name, "
        "no method of an object, partial, decorated function, or function of a script"
    )
