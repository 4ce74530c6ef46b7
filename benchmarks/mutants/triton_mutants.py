"""Makes wrong kernels of right ones: mutants of Triton modules, one change each.

An operator is a function that looks at one node of the syntax tree and yields what might stand in
its place. `mutants` applies every operator everywhere, in kernels and in the host code that
launches them. The same source gives the same mutants in the same order.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["OPERATORS", "Mutant", "chosen", "mutants"]


@dataclass(frozen=True)
class Mutant:
    """One wrong kernel, if it is wrong."""

    operator: str
    line: int  #: Of the original source.
    before: str  #: The text that was replaced,
    after: str  #: and what stands there now.
    source: str

    @property
    def key(self) -> str:
        """A short name that is the source's own."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]


Operator = Callable[[ast.AST, "Scope"], Iterator[ast.AST]]
OPERATORS: dict[str, Operator] = {}


@dataclass(frozen=True)
class Scope:
    """Where a node stands."""

    kernel: bool  #: In a function that Triton compiles.
    names: frozenset[str]  #: Arguments and variables of the function.
    parents: tuple[ast.AST, ...]  #: The innermost last.

    def inside(self, *functions: str) -> bool:
        """Whether the node is part of an argument of one of these functions of `tl`."""
        return any(called(parent) in functions for parent in self.parents)


def operator(function: Operator) -> Operator:
    """Enters an operator under its name."""
    OPERATORS[function.__name__] = function
    return function


def parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def called(node: ast.AST) -> str:
    """Returns `sum` for ``tl.sum(...)`` and ``.to`` for ``x.to(...)``; nothing for the rest."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    if isinstance(node.func.value, ast.Name) and node.func.value.id in ("tl", "triton"):
        return node.func.attr
    return "." + node.func.attr


def renamed(node: ast.Call, name: str) -> ast.Call:
    new = copy.deepcopy(node)
    assert isinstance(new.func, ast.Attribute)
    new.func.attr = name
    return new


def with_keyword(node: ast.Call, name: str, value: ast.expr | None) -> ast.Call:
    """Returns a call whose keyword has another value, or is gone."""
    new = copy.deepcopy(node)
    new.keywords = [one for one in new.keywords if one.arg != name]
    if value is not None:
        new.keywords.append(ast.keyword(name, value))
    return new


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in node.keywords if one.arg == name), None)


def binary(node: ast.AST, *kinds: type[ast.operator]) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, kinds)


def plus(node: ast.expr, number: int) -> ast.BinOp:
    kind = ast.Add() if number > 0 else ast.Sub()
    return ast.BinOp(copy.deepcopy(node), kind, ast.Constant(abs(number)))


def wrapped(node: ast.AST, text: str) -> ast.expr:
    """Puts a node where `_` stands in a text."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return copy.deepcopy(node) if name.id == "_" else name

    return Put().visit(parse(text))


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_infinite(node: ast.AST | None) -> bool:
    return node is not None and "float('inf')" in ast.unparse(node)


def is_address(node: ast.AST) -> bool:
    """Whether an expression is an address: one of its names ends as pointers' names do."""
    return any(isinstance(one, ast.Name) and one.id.endswith("_ptr") for one in ast.walk(node))


# Masks and bounds.


@operator
def drop_mask(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) in ("load", "store") and keyword(node, "mask") is not None:
        # There is no padding without a mask.
        yield with_keyword(with_keyword(node, "mask", None), "other", None)


@operator
def wrong_padding(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) == "load" and (other := keyword(node, "other")) is not None:
        yield with_keyword(node, "other", ast.Constant(0.0 if is_infinite(other) else 1.0))


@operator
def less_equal_for_less(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
        yield ast.Compare(node.left, [ast.LtE()], node.comparators)


@operator
def bound_one_short(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
        yield ast.Compare(node.left, node.ops, [plus(node.comparators[0], -1)])


@operator
def other_comparison(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if not scope.kernel or not isinstance(node, ast.Compare):
        return
    turned = {ast.Lt: ast.GtE, ast.Eq: ast.NotEq, ast.GtE: ast.Lt, ast.Gt: ast.LtE}
    if type(node.ops[0]) in turned:
        yield ast.Compare(node.left, [turned[type(node.ops[0])]()], node.comparators)


@operator
def half_of_a_conjunction(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if binary(node, ast.BitAnd):
        yield node.left
        yield node.right


# Blocks and loops.


@operator
def skipped_last_block(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.For) and len(node.iter.args) == 3:
        new = copy.deepcopy(node)
        _, stop, step = new.iter.args
        new.iter.args[1] = ast.BinOp(stop, ast.Sub(), copy.deepcopy(step))
        yield new


@operator
def skipped_first_block(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.For) and len(node.iter.args) == 3:
        new = copy.deepcopy(node)
        start, _, step = new.iter.args
        new.iter.args[0] = ast.BinOp(start, ast.Add(), copy.deepcopy(step))
        yield new


@operator
def loop_one_short(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.For) and len(node.iter.args) == 3:
        new = copy.deepcopy(node)
        new.iter.args[1] = plus(new.iter.args[1], -1)
        yield new


@operator
def one_turn_of_the_loop(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.For) and len(node.iter.args) == 3:
        new = copy.deepcopy(node)
        first = new.iter.args[0]
        new.iter.args[1] = plus(first, 1)
        yield new


@operator
def too_few_programs(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The grid leaves out what is no whole block."""
    if not scope.kernel and called(node) == "cdiv":
        yield ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
        yield wrapped(ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1]), "max(1, _)")


@operator
def too_small_a_block(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Only so many columns of a row are ever seen."""
    if not scope.kernel and called(node) == "next_power_of_2":
        yield wrapped(node, "min(4096, _)")
        yield wrapped(node, "max(1, _ // 2)")


# Arithmetic.


@operator
def other_arithmetic(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """+ for -, * for +, * for /."""
    other = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
    if not scope.kernel:
        return
    if isinstance(node, ast.BinOp) and type(node.op) in other and not is_address(node.left):
        yield ast.BinOp(node.left, other[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield ast.AugAssign(node.target, ast.Sub(), node.value)


@operator
def swapped_operands(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and binary(node, ast.Sub, ast.Div, ast.FloorDiv):
        yield ast.BinOp(node.right, node.op, node.left)


@operator
def dropped_term(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and binary(node, ast.Add, ast.Sub, ast.Mult, ast.Div):
        in_exp = isinstance(node.op, ast.Sub) and scope.parents and called(scope.parents[-1])
        if in_exp not in ("exp", "exp2"):
            yield node.left
        if isinstance(node.op, (ast.Add, ast.Mult)) and not is_address(node.left):
            yield node.right


@operator
def missing_max_subtraction(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if binary(node, ast.Sub) and scope.parents and called(scope.parents[-1]) in ("exp", "exp2"):
        yield node.left


@operator
def divisor_off_by_one(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and binary(node, ast.Div) and name_of(node.right) in ("cols", "count", "half"):
        yield ast.BinOp(node.left, ast.Div(), plus(node.right, -1))
        yield ast.BinOp(node.left, ast.Div(), plus(node.right, 1))


@operator
def divides_by_the_block(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The padded size, not the true one."""
    if binary(node, ast.Div) and name_of(node.right) == "cols" and "BLOCK" in scope.names:
        yield ast.BinOp(node.left, ast.Div(), ast.Name("BLOCK"))


@operator
def epsilon_size(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is float and 0 < node.value < 1e-3:
        yield ast.Constant(float(f"{node.value * 10:.3g}"))
        yield ast.Constant(float(f"{node.value / 10:.3g}"))
        yield ast.Constant(0.0)


@operator
def epsilon_place(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Outside the root; before the division."""
    if called(node) not in ("rsqrt", "sqrt") or not binary(node.args[0], ast.Add):
        return
    inner = node.args[0]
    if is_number(inner.right):
        epsilon = ast.unparse(inner.right)
        yield wrapped(inner.left, f"tl.rsqrt(_) + {epsilon}")
        yield wrapped(inner.left, f"1.0 / (tl.sqrt(_) + {epsilon})")
        if binary(inner.left, ast.Div):
            above, below = ast.unparse(inner.left.left), ast.unparse(inner.left.right)
            yield parse(f"tl.rsqrt(({above} + {epsilon}) / {below})")


@operator
def rough_constant(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """A constant of a formula, a little wrong."""
    if not scope.kernel or scope.inside("load", "full"):
        return
    if isinstance(node, ast.Constant) and type(node.value) is float and 1e-3 < node.value < 100:
        yield ast.Constant(float(f"{node.value:.2g}") if node.value != 2.0 else 2.01)
        yield ast.Constant(node.value * 1.001)


@operator
def one_pass_variance(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """E[x^2] - E[x]^2, which cancels."""
    if not binary(node, ast.Div) or "mean" not in scope.names:
        return
    text = ast.unparse(node)
    if called(node.left) == "sum" and "centred * centred" in text:
        yield parse(f"({text.replace('centred * centred', 'x * x')}) - mean * mean")


# Reductions.


@operator
def minimum_for_maximum(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    other = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max"}
    if scope.kernel and called(node) in other:
        yield renamed(node, other[called(node)])


@operator
def other_reduction(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    other = {"sum": "max", "max": "sum", "cumsum": "cumprod"}
    if called(node) in other:
        yield renamed(node, other[called(node)])


@operator
def wrong_axis(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) in ("sum", "max", "min", "cumsum"):
        axis = keyword(node, "axis")
        if isinstance(axis, ast.Constant) and axis.value == 1:
            yield with_keyword(node, "axis", ast.Constant(0))


@operator
def wrong_start(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The initial value of a reduction."""
    if scope.kernel and called(node) == "zeros":
        dtype = keyword(node, "dtype") or node.args[1]
        yield parse(f"tl.full({ast.unparse(node.args[0])}, 1.0, {ast.unparse(dtype)})")
    if scope.kernel and called(node) == "full" and is_infinite(node.args[1]):
        yield parse(f"tl.zeros({ast.unparse(node.args[0])}, {ast.unparse(node.args[2])})")


@operator
def forgotten_accumulation(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The last block's value in place of all blocks'."""
    if scope.kernel and isinstance(node, ast.AugAssign):
        target = ast.unparse(node.target)
        yield ast.parse(f"{target} = {target} * 0 + {ast.unparse(node.value)}").body[0]


@operator
def stale_value(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """A variable is not brought up to date."""
    if not scope.kernel or not isinstance(node, (ast.Assign, ast.AugAssign)):
        return
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    again = isinstance(node, ast.AugAssign) or any(
        isinstance(one, ast.Name) and one.id == ast.unparse(target) for one in ast.walk(node.value)
    )
    in_loop = any(isinstance(one, ast.For) for one in scope.parents)
    if again or (in_loop and is_copy(node)):
        yield ast.Pass()


def is_copy(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)


# Functions.


@operator
def other_function(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    other = {"exp": "exp2", "log": "log2", "rsqrt": "sqrt", "sigmoid": "exp", "exp2": "exp"}
    if called(node) in other:
        yield renamed(node, other[called(node)])


@operator
def dropped_function(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) in ("exp", "log", "rsqrt", "sigmoid", "sqrt"):
        yield node.args[0]


@operator
def rough_function(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """What fast mathematics might make of it: short constants, short series."""
    if called(node) == "exp":
        yield wrapped(node.args[0], "tl.exp2(_ * 1.4427)")
        yield wrapped(node.args[0], "tl.exp2(_ * 1.442695)")
    if called(node) == "log":
        yield wrapped(node.args[0], "tl.log2(_) * 0.6931")
    if called(node) == "rsqrt":
        yield wrapped(node.args[0], "(tl.rsqrt(_) * 4096.0).to(tl.int32).to(tl.float32) / 4096.0")
    if called(node) == "sigmoid":
        yield wrapped(node.args[0], "1.0 / (1.0 + tl.exp2(_ * -1.4427))")
        yield wrapped(node.args[0], "tl.minimum(tl.maximum(_ / 6.0 + 0.5, 0.0), 1.0)")


@operator
def wrong_activation(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The other GELU, and units that look alike."""
    if not binary(node, ast.Mult) or called(node.right) != "sigmoid":
        return
    yield wrapped(node.left, "tl.maximum(_, 0.0)")
    yield wrapped(node.left, "_ * tl.sigmoid(1.702 * _)")
    yield wrapped(node.left, "0.5 * _ * (1.0 + tl.erf(_ * 0.7071067811865476))")


@operator
def other_choice(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) == "where":
        yield node.args[1]
        yield node.args[2]
        new = copy.deepcopy(node)
        new.args[1:] = reversed(new.args[1:])
        yield new


# Precision.


@operator
def dropped_cast(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and called(node) == ".to" and ast.unparse(node.args[0]) == "tl.float32":
        yield node.func.value


@operator
def dropped_wide_index(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and called(node) == ".to" and ast.unparse(node.args[0]) == "tl.int64":
        yield node.func.value


@operator
def half_input(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Inputs rounded on their way in."""
    if scope.kernel and called(node) == ".to" and ast.unparse(node.args[0]) == "tl.float32":
        for kind in ("float16", "bfloat16"):
            yield wrapped(node.func.value, f"_.to(tl.{kind}).to(tl.float32)")


@operator
def half_accumulator(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if scope.kernel and isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target, value = ast.unparse(node.target), ast.unparse(node.value)
        for kind in ("float16", "bfloat16"):
            text = f"{target} = ({target} + {value}).to(tl.{kind}).to(tl.float32)"
            yield ast.parse(text).body[0]


@operator
def half_intermediate(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The terms of a sum, or a function's result, in 16 bits."""
    if not scope.kernel:
        return
    for kind in ("float16", "bfloat16"):
        if called(node) in ("sum", "cumsum"):
            new = copy.deepcopy(node)
            new.args[0] = wrapped(new.args[0], f"(_).to(tl.{kind}).to(tl.float32)")
            yield new
        if called(node) in ("sum", "max", "exp", "log", "rsqrt", "sigmoid"):
            yield wrapped(node, f"_.to(tl.{kind}).to(tl.float32)")


# Addresses.


@operator
def stride_off_by_one(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    sizes = ("cols", "half", "chunks", "BLOCK", "ROWS", "COLS")
    if scope.kernel and binary(node, ast.Mult) and name_of(node.right) in sizes:
        yield ast.BinOp(node.left, ast.Mult(), plus(node.right, 1))
        yield ast.BinOp(node.left, ast.Mult(), plus(node.right, -1))


@operator
def shifted_address(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) in ("load", "store"):
        for number in (1, -1):
            new = copy.deepcopy(node)
            new.args[0] = plus(new.args[0], number)
            yield new


@operator
def other_program_axis(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if called(node) in ("program_id", "num_programs") and isinstance(node.args[0], ast.Constant):
        new = copy.deepcopy(node)
        new.args[0] = ast.Constant(1 - node.args[0].value)
        yield new


@operator
def other_pointer(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Reads one input in place of another."""
    if scope.inside("load") and name_of(node).endswith("_ptr"):
        pointers = sorted(n for n in scope.names if n.endswith("_ptr") and "out" not in n)
        others = [one for one in pointers if one != name_of(node)]
        yield from (ast.Name(one) for one in others[:1])


# Inputs and outputs.


@operator
def folded_input(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """An input that is usually one or zero is taken for a constant."""
    if called(node) == "load":
        for value in (0.0, 1.0):
            yield wrapped(node, f"(_ * 0 + {value})")


@operator
def dropped_store(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and called(node.value) in ("store", ".store"):
        yield ast.Pass()


@operator
def store_of_first_programs(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The others write nothing."""
    if called(node) == "store" and (mask := keyword(node, "mask")) is not None:
        yield with_keyword(node, "mask", wrapped(mask, "_ & (_ * tl.program_id(0) < 20)"))


@operator
def swapped_outputs(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield ast.Return(ast.Tuple(node.value.elts[::-1], ast.Load()))


@operator
def swapped_arguments(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Two arguments of a launch that stand side by side."""
    if not scope.kernel and isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
        for at in range(min(3, len(node.args) - 1)):
            new = copy.deepcopy(node)
            new.args[at], new.args[at + 1] = new.args[at + 1], new.args[at]
            yield new


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(one).startswith("triton.") for one in node.decorator_list
    )


def names_of(function: ast.FunctionDef) -> frozenset[str]:
    arguments = {one.arg for one in function.args.args}
    stored = {
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return frozenset(arguments | stored)


def sites(tree: ast.Module) -> Iterator[tuple[int, ast.AST, Scope]]:
    """Yields what may be changed, with its number in the tree's order."""
    number = 0
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        scope = Scope(is_kernel(function), names_of(function), ())
        stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [
            (one, ()) for one in reversed(function.body)
        ]
        while stack:
            node, parents = stack.pop()
            yield number, node, Scope(scope.kernel, scope.names, parents)
            number += 1
            children = list(ast.iter_child_nodes(node))
            stack += [(one, (*parents, node)) for one in reversed(children)]


def replaced(tree: ast.Module, number: int, new: ast.AST) -> str:
    """Returns the module's text with another node in one place."""
    tree = copy.deepcopy(tree)
    old = next(node for at, node, _ in sites(tree) if at == number)

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree))) + "\n"


def mutants(source: str) -> list[Mutant]:
    """Returns every mutant of a module, each text once."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree) + "\n"}
    made = []
    for name, change in OPERATORS.items():
        for number, node, scope in sites(tree):
            if isinstance(node, (ast.expr_context, ast.operator, ast.cmpop)):
                continue
            for new in change(node, scope):
                text = replaced(tree, number, copy.deepcopy(new))
                if text not in seen:
                    seen.add(text)
                    line = getattr(node, "lineno", 0)
                    made.append(Mutant(name, line, short(node), short(new), text))
    return made


def short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 160 else text[:157] + "..."


def chosen(all_mutants: list[Mutant], each: int) -> list[Mutant]:
    """Returns at most so many of each operator, by their keys: a sample that stays the same."""
    taken: list[Mutant] = []
    for name in dict.fromkeys(one.operator for one in all_mutants):
        of_name = sorted((one for one in all_mutants if one.operator == name), key=lambda m: m.key)
        taken += of_name[:each]
    return taken
