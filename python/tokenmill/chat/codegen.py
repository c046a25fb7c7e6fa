"""Templates to Python code whose strings are tracked.

jinja2 compiles a template to a Python module. This generator writes the same module with other operations
in a few places: constants are tracked strings, made once for the module; ``+``, ``~``, ``%``, ``*`` and
output go through functions of ``operations``; loops are charged for each iteration, and loops over messages
record whose turn is being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, operators

__all__ = ["TrackingGenerator"]

#: Filters whose arguments may become part of the text; the arguments of all others only select and compare.
_TEXT_FILTERS = frozenset(
    ("d", "default", "join", "replace", "indent", "format", "batch", "slice", "map", "truncate")
)
#: Methods whose arguments only select and compare.
_SELECTING_METHODS = frozenset(
    (
        *("split", "rsplit", "strip", "lstrip", "rstrip", "startswith", "endswith", "find", "rfind", "index"),
        *("rindex", "count", "removeprefix", "removesuffix", "partition", "rpartition"),
    )
)
_SELECTING_FUNCTIONS = frozenset(("raise_exception", "range"))


class TrackingGenerator(CodeGenerator):
    """Generates a module whose strings are tracked."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._constants: dict[str, str] = {}
        # Whether constants stay plain strings, as they do where they only select or compare.
        self._plain_constants = False
        # The call to write around an expression: its text up to the expression, by the id of the node.
        self._calls_around: dict[int, str] = {}
        # The loop or macro of each body that is to be charged, by the id of the list of its nodes.
        self._charged_bodies: dict[int, nodes.For] = {}
        # For each enclosing loop, two variables of the generated code: the message that it is at, and the
        # message whose turn it was before the loop.
        self._loops: list[tuple[str, str]] = []

    # ---- the module ---------------------------------------------------------------------------

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        super().visit_Template(node, frame)
        # The module's functions run when all of it is loaded, so what they use may be defined at its end.
        self.writeline("from tokenmill.chat.operations import *", extra=1)
        for text, name in self._constants.items():
            self.writeline(f"{name} = literal({text!r})")

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("_s = context.state")
        self.writeline("concat = _s.concat")

    def macro_body(self, node: Any, frame: Frame) -> Any:
        loops, self._loops = self._loops, []
        self._charged_bodies[id(node.body)] = node
        result = super().macro_body(node, frame)
        self._loops = loops
        return result

    def visit(self, node: nodes.Node, *args: Any, **options: Any) -> Any:
        before = self._calls_around.pop(id(node), None)
        if before is None:
            return super().visit(node, *args, **options)
        self.write(before)
        super().visit(node, *args, **options)
        self.write(")")
        return None

    @contextmanager
    def _constants_are(self, plain: bool) -> Iterator[None]:
        before, self._plain_constants = self._plain_constants, plain
        yield
        self._plain_constants = before

    # ---- constants and output -----------------------------------------------------------------

    def _constant(self, text: str) -> str:
        return self._constants.setdefault(text, f"k_{len(self._constants)}")

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        if isinstance(node.value, str) and not self._plain_constants:
            self.write(self._constant(node.value))
        else:
            super().visit_Const(node, frame)

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return self._constant("".join(group))

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        # Other constant expressions are computed by the rendering, which counts their steps.
        if isinstance(node, (nodes.TemplateData, nodes.Const)):
            return super()._output_child_to_const(node, frame, finalize)
        raise nodes.Impossible

    def _output_child_pre(self, *_: Any) -> None:
        self.write("(_t if type(_t := ")

    def _output_child_post(self, *_: Any) -> None:
        self.write(") is Tracked else as_text(_s, _t))")

    # ---- operators ----------------------------------------------------------------------------

    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:
        parts: list[nodes.Expr] = []
        left: nodes.Expr = node
        while isinstance(left, nodes.Add):  # the whole chain at once
            parts.append(left.right)
            left = left.left
        parts.append(left)
        self._call("add", reversed(parts), frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self._call("concatenated", node.nodes, frame)

    def visit_Mul(self, node: nodes.BinExpr, frame: Frame) -> None:
        self._call("times", (node.left, node.right), frame)

    def visit_Pow(self, node: nodes.BinExpr, frame: Frame) -> None:
        self._call("power", (node.left, node.right), frame)

    def visit_Mod(self, node: nodes.BinExpr, frame: Frame) -> None:
        self._call("modulo", (node.left, node.right), frame)

    def _call(self, function: str, arguments: Iterable[nodes.Node], frame: Frame) -> None:
        self.write(f"{function}(_s")
        for argument in arguments:
            self.write(", ")
            self.visit(argument, frame)
        self.write(")")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        if not any(_is_const(side) for side in sides) or any(op.op in ("in", "notin") for op in node.ops):
            # Such a comparison may look at all of both sides.
            for side in sides:
                self._charge_reading(side)
        with self._constants_are(plain=True):
            self.write("(")
            self.visit(node.expr, frame)
            for operand in node.ops:
                self.write(f" {operators[operand.op]} ")
                self.visit(operand.expr, frame)
            self.write(")")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        self.write("getattribute(environment, ")
        with self._constants_are(plain=False):
            # A method may return parts of the text that it is called on, so constants in it are tracked.
            self.visit(node.node, frame)
        self.write(f", {node.attr!r})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if isinstance(node.arg, nodes.Slice):
            self.write("part(_s, ")
            self.visit(node.node, frame)
            for bound in (node.arg.start, node.arg.stop, node.arg.step):
                self.write(", ")
                if bound is None:
                    self.write("None")
                else:
                    self.visit(bound, frame)
        else:
            self._charge_reading(node.arg)
            self.write("getitem(environment, ")
            self.visit(node.node, frame)
            self.write(", ")
            with self._constants_are(plain=True):
                self.visit(node.arg, frame)
        self.write(")")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        for pair in node.items:
            self._charge_reading(pair.key)
        super().visit_Dict(node, frame)

    def _charge_reading(self, node: nodes.Expr) -> None:
        """Write this expression so that reading all of its value is charged."""
        if not _is_const(node):
            self._calls_around[id(node)] = "_s.reading("

    # ---- calls --------------------------------------------------------------------------------

    def visit_Filter(self, node: nodes.Filter, frame: Frame) -> None:
        before = self._plain_constants
        with self._filter_test_common(node, frame, True):
            self._plain_constants = False
            if node.node is not None:
                self.visit(node.node, frame)
            else:
                self.write(f"concat({frame.buffer})")
            # The arguments follow.
            self._plain_constants = node.name not in _TEXT_FILTERS
        self._plain_constants = before

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:
        with self._constants_are(plain=True):
            super().visit_Test(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        called = node.node
        only_selects = (isinstance(called, nodes.Getattr) and called.attr in _SELECTING_METHODS) or (
            isinstance(called, nodes.Name) and called.name in _SELECTING_FUNCTIONS
        )
        with self._constants_are(plain=only_selects):
            super().visit_Call(node, frame, forward_caller=forward_caller)

    # ---- statements ---------------------------------------------------------------------------

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        outer, turn = self.temporary_identifier(), self.temporary_identifier()
        self.writeline(f"{outer} = _s.message")
        self._calls_around[id(node.iter)] = f"_s.iterated(cost={_cost(node.body)}, values="
        self._charged_bodies[id(node.body)] = node
        self._loops.append((turn, outer))
        super().visit_For(node, frame)
        self._loops.pop()
        self.writeline(f"_s.message = {outer}")
        if frame.buffer is not None:
            self.writeline(f"{frame.buffer}.append(turn_mark(_s))")

    def blockvisit(self, nodes_: Iterable[nodes.Node], frame: Frame) -> None:
        node: Any = self._charged_bodies.pop(id(nodes_), None)
        if isinstance(node, nodes.For):
            turn, outer = self._loops[-1]
            if isinstance(node.target, nodes.Name):
                self.writeline(f"{turn} = message_index_of({frame.symbols.ref(node.target.name)})")
                self.writeline(f"_s.message = {outer} if {turn} is None else {turn}")
            else:
                self.writeline(f"{turn} = None")
            if frame.buffer is not None:
                self.writeline(f"{frame.buffer}.append(turn_mark(_s))")
        elif node is not None:
            self.writeline(f"_s.charge({_cost(node.body)})")
        super().blockvisit(nodes_, frame)

    def visit_Assign(self, node: nodes.Assign, frame: Frame) -> None:
        in_loop = bool(self._loops)
        if in_loop and _may_hold_literals(node.node):
            self._calls_around[id(node.node)] = "_s.with_bound_literals("
        super().visit_Assign(node, frame)
        if in_loop and isinstance(node.target, nodes.Name):
            # A loop over indices assigns its message to a variable: ``message = messages[i]``.
            ref = frame.symbols.ref(node.target.name)
            outside_messages = " and ".join(f"{turn} is None" for turn, _ in self._loops)
            self.writeline(f"if type({ref}) is Message and {outside_messages}: _s.message = {ref}.index")


def _is_const(node: nodes.Expr) -> bool:
    if isinstance(node, (nodes.List, nodes.Tuple)):
        return all(_is_const(item) for item in node.items)
    return isinstance(node, nodes.Const)


def _may_hold_literals(node: nodes.Node) -> bool:
    """Whether the value may be a text with literals of the template in it."""
    if isinstance(node, nodes.Const):
        return isinstance(node.value, str)
    if isinstance(node, nodes.Filter) and node.node is not None and not node.args:
        return _may_hold_literals(node.node)
    if isinstance(node, (nodes.CondExpr, nodes.Or, nodes.And)):
        return any(_may_hold_literals(child) for child in node.iter_child_nodes())
    return isinstance(node, (nodes.Add, nodes.Concat, nodes.Call, nodes.Filter, nodes.Name, nodes.Mod))


def _cost(body: list[nodes.Node]) -> int:
    """How many nodes there are in a body: the steps that running it once costs."""
    count, waiting = 1, list(body)
    while waiting:
        count += 1
        waiting += waiting.pop().iter_child_nodes()
    return count
