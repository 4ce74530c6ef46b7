"""What Triton's compiler means by a kernel's text, said in Python.

The interpreter runs a kernel as Python, and the two languages differ: to the compiler a variable of
a loop is an integer of so many bits, a constant that is assigned is one too, `and` asks all tensors
that it joins. A kernel that is right in one of them alone would be judged by the wrong one. What
cannot be said in Python is refused where it is met.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as interpreter

from ouroboros.trace.interpreter.memory import Refused

__all__ = ["HELPERS", "Meaning", "around", "refusal", "unknown"]

_PREFIX = "__around_"


def around(name: str) -> str:
    """Returns a name for what a text is given, which none that a candidate wrote can have."""
    return f"{_PREFIX}{name}"


def unknown(what: str) -> Refused:
    """Returns why something is not interpreted."""
    return Refused("unsupported", what, f"Triton's interpreter is not given {what}")


def refusal(what: str, node: ast.expr) -> ast.expr:
    """Returns an expression that refuses when it is met, for the place of another."""
    return _call("refused", node, ast.Constant(what))


def _call(helper: str, node: ast.expr, *arguments: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(around(helper), ast.Load()), list(arguments), [])
    return ast.copy_location(call, node)


class Meaning(ast.NodeTransformer):
    """Rewrites a function so that Python does what the compiler makes of it."""

    def __init__(self, stands_for: Callable[[ast.expr], Any]) -> None:
        """Rewrites functions of one namespace.

        Args:
            stands_for: What an expression names in Triton's language, or nothing.
        """
        self._stands_for = stands_for
        self._returns = _Returns([])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Knows how a function returns before it is rewritten."""
        self._returns = _Returns(node.body)
        self.generic_visit(node)
        asked = ast.Assign([ast.Name(_ASKED, ast.Store())], ast.List([], ast.Load()))
        node.body.insert(0, ast.copy_location(asked, node.body[0]))
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        """Remembers whether data decide what is returned."""
        decides = _returns(node)
        self.generic_visit(node)
        if decides:
            node.test = _call("asked", node.test, ast.Name(_ASKED, ast.Load()), node.test)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """Makes tensors of numbers where the compiler comes across other numbers, too."""
        alone, others = node in self._returns.last, self._returns.differ
        self.generic_visit(node)
        if node.value is not None and others:
            asked = ast.Name(_ASKED, ast.Load())
            node.value = _call("returned", node.value, asked, ast.Constant(alone), node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Makes tensors of numbers."""
        self.generic_visit(node)
        node.value = _call("assigned", node.value, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """Makes tensors of numbers here, too."""
        self.generic_visit(node)
        node.value = _call("assigned", node.value, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Assigns the result of the operator, as the compiler does."""
        left = copy.copy(node.target)
        left.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Keeps constants that are declared; of other annotations the compiler makes nothing."""
        constant = self._stands_for(node.annotation) is tl.constexpr
        if node.value is None:
            # It holds for the next assignment that the compiler comes across, in its own order.
            what = refusal("a constant that is declared before it is assigned", node.target)
            return ast.copy_location(ast.Expr(what) if constant else ast.Pass(), node)
        assign = ast.copy_location(ast.Assign([node.target], node.value), node)
        if constant:
            return self.generic_visit(assign)
        # The compiler comes by the value twice, and does twice what it says.
        once = ast.copy_location(ast.Expr(copy.deepcopy(node.value)), node)
        return [self.visit(once), self.visit(assign)]

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Gives the variable of a loop its type, but where the compiler unrolls it."""
        self.generic_visit(node)
        loop = node.iter
        kind = self._stands_for(loop.func) if isinstance(loop, ast.Call) else None
        if node.orelse:
            node.iter = refusal("a loop with an else", loop)
        elif isinstance(loop, ast.Call) and kind in (range, tl.range):
            loop.func = ast.copy_location(ast.Name(around("loop"), ast.Load()), loop.func)
        elif kind is not tl.static_range:
            node.iter = refusal("a loop over something else than a range", loop)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Leaves no constant of the language to an operator of Python's."""
        self.generic_visit(node)
        return _call("operated", node, _kind(node.op), node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Compares as `visit_BinOp` computes; a chain is a conjunction."""
        self.generic_visit(node)
        if len(node.ops) == 1:
            return _call("operated", node, _kind(node.ops[0]), node.left, *node.comparators)
        kinds: ast.expr = ast.Tuple([_kind(op) for op in node.ops], ast.Load())
        return _later("chained", node, [kinds], [node.left, *node.comparators])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Asks all tensors, and constants as Python does."""
        self.generic_visit(node)
        return _later("joined", node, [_kind(node.op)], node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Negates every element."""
        self.generic_visit(node)
        return _call("negated", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Makes tensors of numbers that data choose between."""
        self.generic_visit(node)
        return _later("chosen", node, [node.test], [node.body, node.orelse])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        """Shows what constants hold; the compiler reads no format."""
        self.generic_visit(node)
        node.value, node.format_spec = _call("shown", node.value, node.value), None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A constant has a value, which may be itself."""
        self.generic_visit(node)
        return _call("value", node, node.value) if node.attr == "value" else node


class _Returns:
    """How a function returns.

    Attributes:
        differ: Whether the compiler may come across several values.
        last: The statements after which it comes across no other, unless data decided before.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        whole = ast.Module(body, [])
        found = [node for node in ast.walk(whole) if isinstance(node, ast.Return)]
        looped = any(_returns(node) for node in ast.walk(whole) if isinstance(node, ast.For))
        self.differ = looped or len({ast.dump(node) for node in found}) > 1
        self.last: set[ast.Return] = set()
        self._find_last(body, followed=False)

    def _find_last(self, body: list[ast.stmt], *, followed: bool) -> None:
        for at, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                # The compiler leaves out what is behind, but not what is around.
                self.last |= set() if followed else {statement}
                return
            later = followed or any(_returns(one) for one in body[at + 1 :])
            if isinstance(statement, ast.If):
                self._find_last(statement.body, followed=later)
                self._find_last(statement.orelse, followed=later)


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


_ASKED = around("asked_data")


def _kind(node: ast.AST) -> ast.expr:
    return ast.Constant(type(node).__name__)


def _later(helper: str, node: ast.expr, now: list[ast.expr], later: list[ast.expr]) -> ast.expr:
    """Returns a call that evaluates what it is to evaluate later, if at all."""
    if any(isinstance(inner, ast.NamedExpr) for one in later for inner in ast.walk(one)):
        return refusal("an assignment within a condition", node)
    nothing = ast.arguments([], [], None, [], [], None, [])
    return _call(helper, node, *now, *(ast.Lambda(nothing, one) for one in later))


def _refused(what: Any) -> None:
    raise unknown(_plain(what))


setattr(_refused, tl.core.TRITON_BUILTIN, True)  # Or the compiler would not hear of it.


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _assigned(value: Any) -> Any:
    """Returns what a variable holds: numbers have become tensors, those of tuples, too."""
    if isinstance(value, (tuple, list)):
        return tuple(_assigned(one) for one in value)
    if isinstance(value, tl.tuple):
        items = [_assigned(one) for one in value]
        same = all(one is before for one, before in zip(items, value, strict=True))
        return value if same else tl.tuple(items)
    return interpreter.interpreter_semantic.to_tensor(value, False)


def _loop(first: Any, second: Any = None, step: Any = None, **_: Any) -> Iterator[Any]:
    """Yields the values of a loop's variable, of the type that its bounds give it."""
    semantic = interpreter.interpreter_semantic
    start, end = (0, first) if second is None else (first, second)
    bounds = [semantic.to_tensor(one) for one in (start, end, 1 if step is None else step)]
    kind = bounds[0].dtype
    for bound in bounds[1:]:
        kind = semantic.integer_promote_impl(kind, bound.dtype)
    numbers = [int(bound.handle.data.item()) for bound in bounds]
    if isinstance(step, tl.tensor) and numbers[2] < 1:
        raise unknown("a loop with a step that is not positive")
    for number in range(*numbers):
        yield semantic.scalar_constant(number, dtype=kind)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
}
_NUMBERS = (int, float, str)
_TUPLES = (tuple, list, tl.tuple)


def _operated(kind: str, left: Any, right: Any) -> Any:
    """Returns what the compiler makes of two operands."""
    # The compiler has no lists.
    left, right = (tuple(one) if isinstance(one, list) else _plain(one) for one in (left, right))
    if isinstance(left, str) and kind == "Mod" and type(right) not in _NUMBERS:
        raise unknown("a text made of something else than numbers")
    if kind in ("Is", "IsNot") and type(left) in _NUMBERS and type(right) in _NUMBERS:
        raise unknown("a number that is asked for its identity")
    if isinstance(left, _TUPLES) and kind in ("Eq", "NotEq") and _holds_tensors(left, right):
        # All tensors are equal to the compiler there.
        raise unknown("a comparison of tuples of tensors")
    return _OPERATORS[kind](left, right)


def _holds_tensors(*values: Any) -> bool:
    return any(
        _holds_tensors(*value) if isinstance(value, _TUPLES) else isinstance(value, tl.tensor)
        for value in values
    )


def _joined(kind: str, *values: Callable[[], Any]) -> Any:
    """Returns a conjunction or a disjunction; constants can decide it before all are asked."""
    return _of_truths(kind, (value() for value in values))


def _of_truths(kind: str, values: Iterator[Any]) -> Any:
    method, decides = ("logical_and", False) if kind == "And" else ("logical_or", True)
    tensors = []
    last: Any = None
    for value in values:
        last = _plain(value)
        if isinstance(last, tl.tensor):
            tensors.append(last)
        elif bool(last) is decides:
            return last
    if not tensors:
        return last
    made = tensors.pop()
    while tensors:
        made = getattr(tensors.pop(), method)(made)
    return made


def _chained(kinds: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
    """Returns whether all comparisons of a chain hold."""

    def comparisons() -> Iterator[Any]:
        left = operands[0]()
        for kind, operand in zip(kinds, operands[1:], strict=True):
            right = operand()
            yield _operated(kind, left, right)
            left = right

    return _of_truths("And", comparisons())


def _negated(value: Any) -> Any:
    value = _plain(value)
    return value.__not__() if isinstance(value, tl.tensor) else not value


def _chosen(test: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """Returns one of two values; of those that data choose between, as a tensor."""
    value = (one if test else other)()
    if not isinstance(test, tl.tensor):
        return value
    return interpreter.interpreter_semantic.to_tensor(value)


def _asked(data: list[bool], test: Any) -> Any:
    if isinstance(test, tl.tensor):
        data.append(True)
    return test


def _returned(asked: list[bool], alone: bool, value: Any) -> Any:
    """Returns what a function gives: of several numbers, the compiler makes tensors."""
    return value if alone and not asked else _assigned(value)


def _shown(value: Any) -> Any:
    """Returns a constant as it stands in a text."""
    value = _plain(value)
    if type(value) not in (*_NUMBERS, bool, type(None), tl.dtype):
        raise unknown("a text that shows something else than constants")
    return value


def _value(constant: Any) -> Any:
    return constant if type(constant) in (*_NUMBERS, bool, tl.dtype) else constant.value


HELPERS: dict[str, Any] = {
    around(helper.__name__.lstrip("_")): helper
    for helper in (
        *(_refused, _assigned, _loop, _operated, _joined, _chained, _negated, _chosen),
        *(_asked, _returned, _shown, _value),
    )
}
"""What rewritten texts call."""
