"""Functions as tools: the JSON schema of a function, from its type hints and its docstring.

The schemas are those of transformers 5.23 (``get_json_schema``), key for key: what a model reads of a tool
must be what it was trained to read.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from enum import Enum
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from ..errors import TemplateError

__all__ = ["schema_of"]

#: The JSON type of each Python type.
_SCALARS: dict[type, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
}
_PLAIN: dict[Any, dict[str, str]] = {
    **{kind: {"type": name} for kind, name in _SCALARS.items()},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
}

_SECTIONS = r"(?:Args:|Returns:|Raises:|\Z)"
_SUMMARY = re.compile(rf"^(.*?)[\n\s]*{_SECTIONS}", re.DOTALL)
_ARGUMENTS = re.compile(r"\n\s*Args:\n(.*?)[\n\s]*(?:Returns:|Raises:|\Z)", re.DOTALL)
_RETURNS = re.compile(r"\n\s*Returns:\n\s*(.*?)[\n\s]*(?:Raises:|\Z)", re.DOTALL)
#: An argument begins on a line "name:"; lines that are indented deeper belong to the one above.
_ARGUMENT = re.compile(r"([ \t]*)(\w+):\s*(.*)", re.DOTALL)
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)


def schema_of(tool: Any) -> dict[str, Any]:
    """The schema of a function or method.

    Each argument has a type hint and a line in the section ``Args:`` of the docstring; one that has a default
    is not required; ``(choices: ["a", "b"])`` at the end of its line lists its values. Anything else is a
    ``TemplateError``.

    >>> def add(a: int, b: int = 1):
    ...     '''Add two numbers.
    ...
    ...     Args:
    ...         a: The first.
    ...         b: The second.
    ...     '''
    >>> schema_of(add)["function"]["parameters"]["required"]
    ['a']
    """
    if not (inspect.isfunction(tool) or inspect.ismethod(tool)):
        _fail(f"a tool is a schema (a dict) or a function with type hints and a docstring, not {tool!r}")
    name = tool.__name__
    text = (inspect.getdoc(tool) or "").strip()
    if not text:
        _fail(f"tool {name} has no docstring: say what it does, and each argument in a section Args:")
    summary, described, returns = _read(text)
    parameters, returned = _parameters(tool, name)
    for argument, schema in parameters["properties"].items():
        if argument not in described:
            _fail(
                f"tool {name}: the docstring says nothing of argument {argument!r}; add a line to its Args:"
            )
        line = described[argument]
        choices = _CHOICES.search(line)
        if choices:
            schema["enum"] = _choices(name, argument, choices[1])
            line = line[: choices.start()].strip()
        schema["description"] = line
    function = {"name": name, "description": summary, "parameters": parameters}
    if returned is not None:
        if returns is not None:
            returned["description"] = returns
        function["return"] = returned
    return {"type": "function", "function": function}


def _fail(message: str) -> NoReturn:
    raise TemplateError(message, template=None, line=None, message=message)


def _choices(name: str, argument: str, listed: str) -> list[Any]:
    try:
        values = json.loads(listed)
        return [value.strip() if isinstance(value, str) else value for value in values]
    except (ValueError, TypeError):
        _fail(f"tool {name}: the choices of argument {argument!r} are a list of JSON, not {listed}")


# ---- the docstring ------------------------------------------------------------------------------


def _read(text: str) -> tuple[str | None, dict[str, str], str | None]:
    """The summary, and the descriptions of the arguments and of the result."""
    summary, arguments, returns = _SUMMARY.search(text), _ARGUMENTS.search(text), _RETURNS.search(text)
    return (
        summary[1].strip() if summary else None,
        _read_arguments(arguments[1]) if arguments else {},
        returns[1].strip() if returns else None,
    )


def _read_arguments(section: str) -> dict[str, str]:
    """The description of each argument."""
    found: dict[str, list[str]] = {}
    margin, lines = "", None
    for line in section.split("\n"):
        if not line.strip():
            continue
        begins = _ARGUMENT.fullmatch(line)
        deeper = (
            lines is not None
            and line.startswith(margin)
            and line[len(margin) : len(margin) + 1] in (" ", "\t")
        )
        if begins and not deeper:
            margin, lines = begins[1], [begins[3]]
            found[begins[2]] = lines
        elif lines is not None:
            lines.append(line)
    return {name: re.sub(r"\s*\n+\s*", " ", "\n".join(lines).strip()) for name, lines in found.items()}


# ---- the type hints -----------------------------------------------------------------------------


def _parameters(tool: Any, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The schema of the arguments, and that of the result where it has one."""
    signature = inspect.signature(tool)
    try:
        hints = get_type_hints(tool)
    except Exception as error:
        _fail(f"tool {name}: its type hints cannot be resolved: {error}")
    arguments = dict(signature.parameters)
    first = next(iter(arguments), None)
    if first in ("self", "cls") and arguments[first].annotation is inspect.Parameter.empty:
        del arguments[first]  # the instance of a method, which no model passes
        hints.pop(first, None)
    for argument, parameter in arguments.items():
        if parameter.annotation is inspect.Parameter.empty:
            _fail(f"tool {name}: argument {argument!r} has no type hint")
    returned: dict[str, Any] | None = None
    properties: dict[str, Any] = {}
    for argument, hint in hints.items():
        try:
            schema = _schema(hint)
        except _UnknownTypeError as unknown:
            if argument != "return":  # no model writes the result: its type is left out where unknown
                _fail(f"tool {name}: the type of argument {argument!r}: {unknown}")
            continue
        if argument == "return":
            returned = schema
        else:
            properties[argument] = schema
    schema = {"type": "object", "properties": properties}
    required = [a for a, parameter in arguments.items() if parameter.default is inspect.Parameter.empty]
    if required:
        schema["required"] = required
    return schema, returned


class _UnknownTypeError(Exception):
    """A type that JSON has no schema for."""


def _schema(hint: Any) -> dict[str, Any]:
    """The schema of one type hint."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        return _schema_of_type(hint)
    if origin is Union or origin is types.UnionType:
        return _schema_of_union(arguments)
    if origin is Literal and arguments:
        return _enumeration(list(arguments), "a Literal")
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])} if arguments else {"type": "array"}
    if origin is tuple:
        if len(arguments) == 1 or ... in arguments:
            raise _UnknownTypeError(f"{hint} is no list of types: write list[...] for any number of items")
        return (
            {"type": "array", "prefixItems": [_schema(item) for item in arguments]}
            if arguments
            else dict(_PLAIN[tuple])
        )
    if origin is dict:
        return {
            "type": "object",
            **({"additionalProperties": _schema(arguments[1])} if len(arguments) == 2 else {}),
        }
    raise _UnknownTypeError(f"{hint} has no schema; give the tool as a dict")


def _schema_of_type(hint: Any) -> dict[str, Any]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        values = [member.value for member in hint]
        if not values:
            raise _UnknownTypeError(f"the Enum {hint.__name__} has no members")
        return _enumeration(values, f"the Enum {hint.__name__}")
    try:
        return dict(_PLAIN[hint])
    except (KeyError, TypeError):
        raise _UnknownTypeError(f"{hint!r} has no schema; give the tool as a dict") from None


def _enumeration(values: list[Any], what: str) -> dict[str, Any]:
    if any(type(value) not in _SCALARS for value in values):
        raise _UnknownTypeError(f"{what} has values that are no numbers, strings, truth values or None")
    names = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": names[0] if len(names) == 1 else names, "enum": values}


def _schema_of_union(arguments: tuple[Any, ...]) -> dict[str, Any]:
    schemas = [_schema(item) for item in arguments if item is not type(None)]
    schema: dict[str, Any]
    if len(schemas) == 1:
        schema = schemas[0]
    elif all(each.keys() == {"type"} and isinstance(each["type"], str) for each in schemas):
        names = sorted({each["type"] for each in schemas})
        schema = {"type": names[0] if len(names) == 1 else names}
    else:
        schema = {"anyOf": schemas}
    if type(None) in arguments:
        schema["nullable"] = True
    return schema
