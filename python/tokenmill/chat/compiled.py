"""Templates from their sources: parsed, checked, compiled, and cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import Template, nodes

from .environment import ChatEnvironment
from .sources import DEFAULT_ROLES
from .steps import MAX_NESTING, MAX_SOURCE, LimitError

__all__ = ["Compiled", "compiled", "line_of"]

_environment = ChatEnvironment()


class Compiled(NamedTuple):
    """A compiled template, and what was found in its source."""

    template: Template
    roles: frozenset[str]
    """The roles that messages may have: ``DEFAULT_ROLES``, and the strings that it compares roles with."""
    globals: dict[str, Any]
    """The functions that every template may call."""
    literals: tuple[str, ...]
    """Its literals: text outside of tags, and strings in them; each once, in order."""
    reads_roles: bool
    """Whether it looks at what a role is."""
    variables: frozenset[str]
    """The names that it reads and never sets."""


@lru_cache(maxsize=64)
def compiled(source: str) -> Compiled:
    """The template of this source. Raises what jinja2 raises, and ``LimitError``."""
    if len(source) > MAX_SOURCE:
        raise LimitError(f"its source has {len(source):,} characters, more than {MAX_SOURCE:,}")
    tree = _environment.parse(source)
    _check_nesting(tree)
    code = _environment.compile(tree)
    template = Template.from_code(_environment, code, _environment.make_globals(None))
    names_role = any(map(_names_role, tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Name))))
    roles = _roles(tree) | DEFAULT_ROLES
    functions = dict(_environment.globals)
    return Compiled(template, roles, functions, _literals(tree), names_role, _variables(tree))


def line_of(error: BaseException) -> int | None:
    """The line of the template that an error came from."""
    line: int | None = getattr(error, "lineno", None)
    traceback = error.__traceback__
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _check_nesting(tree: nodes.Template) -> None:
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_NESTING and not isinstance(
            node, (nodes.BinExpr, nodes.Const, nodes.Name, nodes.Getitem)
        ):
            raise LimitError(f"it nests deeper than {MAX_NESTING} levels, on line {node.lineno}")
        if depth > 10 * MAX_NESTING:
            raise LimitError(f"it nests deeper than {MAX_NESTING} levels, on line {node.lineno}")
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _roles(tree: nodes.Template) -> frozenset[str]:
    """The string constants of comparisons that a role takes part in."""
    found: set[str] = set()
    for compare in tree.find_all(nodes.Compare):
        if any(_names_role(node) for node in compare.find_all((nodes.Getattr, nodes.Getitem, nodes.Name))):
            sides = [compare.expr, *(operand.expr for operand in compare.ops)]
            for side in sides:
                items = side.items if isinstance(side, (nodes.List, nodes.Tuple)) else [side]
                found |= {i.value for i in items if isinstance(i, nodes.Const) and isinstance(i.value, str)}
    return frozenset(found)


def _names_role(node: Any) -> bool:
    if isinstance(node, nodes.Getattr):
        name: Any = node.attr
    elif isinstance(node, nodes.Getitem):
        name = node.arg.value if isinstance(node.arg, nodes.Const) else None
    else:
        name = node.name
    return isinstance(name, str) and "role" in name.lower()


def _variables(tree: nodes.Template) -> frozenset[str]:
    names: dict[str, set[str]] = {"load": set(), "store": set(), "param": set()}
    for node in tree.find_all(nodes.Name):
        names[node.ctx].add(node.name)
    return frozenset(names["load"] - names["store"] - names["param"])


def _literals(tree: nodes.Template) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in tree.find_all((nodes.TemplateData, nodes.Const)):
        text: Any = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
        if isinstance(text, str) and text:
            found[text] = None
    return tuple(found)
