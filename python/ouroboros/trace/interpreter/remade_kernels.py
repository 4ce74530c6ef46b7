"""Kernels made again from the record of a dry trace, each in a namespace of its own.

The record is the word of a process that ran the candidate's host code, and Triton's interpreter
runs kernels as Python. So a kernel's text is held to what Triton's compiler takes: it refers to its
own variables, to the values that the record gives, and to the public parts of Triton's language.
Whatever else it says is not interpreted. Names that are something else give way to a refusal, which
counts where it is met: the compiler leaves branches out, and never looks at what they say.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import triton
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import JITCallable

from ouroboros.trace.interpreter.kernel_meaning import HELPERS, Meaning, around, refusal, unknown
from ouroboros.trace.interpreter.memory import Refused

__all__ = ["Record", "Remade", "function_of", "parsed", "unknown", "value_of"]

Record = Mapping[str, Any]
Remake = Callable[[Record], Any]
Rewrite = Callable[[Any], Any]

_NODES = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Expr, ast.Pass, ast.Assert),
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr),
    *(ast.For, ast.While, ast.If, ast.IfExp, ast.Break, ast.Continue),
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.boolop, ast.operator, ast.unaryop),
    *(ast.cmpop, ast.Call, ast.keyword, ast.Starred, ast.Attribute, ast.Subscript, ast.Slice),
    *(ast.Name, ast.Constant, ast.Tuple, ast.List, ast.ListComp, ast.comprehension),
    *(ast.JoinedStr, ast.FormattedValue, ast.expr_context),
)
"""What Triton's compiler knows, but for functions within functions."""


def _elementwise(of_tensors: str, of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `max` or `min` as the compiler has it: of tensors, element by element."""

    def chosen(*args: Any) -> Any:
        values = [one.value if isinstance(one, tl.constexpr) else one for one in args]
        if not any(isinstance(one, tl.tensor) for one in values):
            return of_numbers(*values)
        return functools.reduce(getattr(tl, of_tensors), values)

    return chosen


_BUILTINS: dict[str, Any] = {one.__name__: one for one in (float, int, len, list, range)}
_BUILTINS |= {"max": _elementwise("maximum", max), "min": _elementwise("minimum", min)}
_BUILTINS |= {"print": lambda *_, **__: None}
"""Of those that the compiler knows, the ones that cannot tell who is asking."""

_MODULES: dict[str, ModuleType] = {"triton": triton, "math": math}

_OF_VALUES: tuple[Any, ...] = (
    tl.tensor,
    tl.constexpr(0),
    tl.tuple,
    tl.tensor_descriptor,
    tl.float32,
)
_OF_VALUES += (tl.pointer_type(tl.float32), tl.block_type(tl.float32, [1]))
_ATTRIBUTES = {name for one in _OF_VALUES for name in dir(one) if not name.startswith("_")}
_ATTRIBUTES |= {"shape", "dtype", "type", "numel", "block_shape", "strides"}
_ATTRIBUTES -= {"handle", "to_ir"}
"""What a value in a kernel has; `handle` is what the interpreter keeps behind it."""


class Remade(interpreter.InterpretedFunction):  # type: ignore[misc]
    """A function of a record, ready to be called by another, or to be launched."""

    def __init__(self, record: Record) -> None:
        """Makes the function of what `kernel_sources` recorded."""
        tree, scope = parsed(record, Remade)
        names = {**scope.values, **_AROUND, **HELPERS}
        super().__init__(function_of(record, tree, names, Remade, _rewritten(scope)))

    def launch(self, grid: tuple[int, ...], arguments: Mapping[str, Any]) -> None:
        """Runs all programs of a grid, one after another.

        Args:
            grid: How many there are, along each axis.
            arguments: By name. What is a number here was a constant to the compiler, whether it
                was declared one or not.
        """
        executor = interpreter.GridExecutor(self.fn, self.arg_names, grid)
        executor.constexprs = self.arg_names
        executor(**arguments)

    def rewrite(self) -> Any:
        """Returns the function, which was rewritten before it was made."""
        return self.fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it from a kernel, whose launch has put the interpreter's operators in place."""
        return self.fn(*args, **kwargs)


def parsed(record: Record, remake: Remake) -> tuple[ast.FunctionDef, Scope]:
    """Returns a function's text and the names around it, once nothing in it is unknown.

    Args:
        record: A function, as recorded.
        remake: Makes the functions that this one calls.
    """
    if "unknown" in record:
        raise unknown(record["unknown"])
    (tree,) = ast.parse(record["source"]).body
    if not isinstance(tree, ast.FunctionDef) or tree.name != record["name"]:
        raise unknown("a text that is no function")
    # What would be evaluated when the function is made.
    tree.decorator_list, tree.returns = [], None
    for argument in ast.walk(tree.args):
        if isinstance(argument, ast.arg):
            constant = argument.arg in record["declared"]
            argument.annotation = ast.Constant("constexpr") if constant else None
    tree.args.defaults, tree.args.kw_defaults = [], [None] * len(tree.args.kwonlyargs)
    scope = Scope(record["globals"], remake)
    scope.check(tree)
    return tree, scope


def _rewritten(scope: Scope) -> Rewrite:
    return lambda tree: scope.visit(Meaning(scope.stands_for).visit(tree))


def function_of(
    record: Record,
    tree: ast.FunctionDef,
    names: dict[str, Any],
    remake: Remake,
    rewrite: Rewrite = lambda tree: tree,
) -> FunctionType:
    """Returns the function of a text, in a namespace of its own.

    Args:
        record: The function, as recorded.
        tree: Its text.
        names: What the namespace holds.
        remake: Makes the functions that are among its defaults.
        rewrite: Says the text as Python is to run it; tracebacks show the one before.
    """
    text = ast.unparse(ast.fix_missing_locations(tree))
    # Triton reads what it compiles through here, and tracebacks what they show. By a name that the
    # record says, it would read this where it looks for a function of its own library.
    file = f"/kernels/{next(_numbers)}/{tree.name}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {**names, "__builtins__": dict(_BUILTINS), "__name__": "candidate"}
    defined: dict[str, Any] = {}
    whole = ast.fix_missing_locations(ast.Module([rewrite(ast.parse(text).body[0])], []))
    exec(compile(whole, file, "exec", dont_inherit=True), names, defined)
    made: FunctionType = defined[tree.name]
    defaults = {name: value_of(value, remake) for name, value in record["defaults"].items()}
    positional = made.__code__.co_varnames[: made.__code__.co_argcount]
    made.__defaults__ = tuple(defaults[name] for name in positional if name in defaults) or None
    made.__kwdefaults__ = {
        name: value for name, value in defaults.items() if name not in positional
    }
    return made


_numbers = itertools.count()

# What the interpreter looks for around a kernel.
_AROUND = {around("language"): tl, around("core"): tl.core}


class Scope(ast.NodeTransformer):
    """The names around a function: values, and what is looked up in Triton's modules when used."""

    def __init__(self, described: Mapping[str, Any], remake: Remake) -> None:
        self.values: dict[str, Any] = {}
        self.members: dict[str, tuple[ModuleType, str]] = {}
        self.unknown: dict[str, str] = {}
        self.foreign: dict[tuple[str, str], str] = {}
        self._own: set[str] = set()
        for name, value in described.items():
            if name.startswith(around("")):
                continue
            try:
                self._add(name, value, remake)
            except Refused as refused:
                self.unknown[name] = refused.op

    def _add(self, name: str, value: Any, remake: Remake) -> None:
        if not (isinstance(value, dict) and "module" in value):
            self.values[name] = value_of(value, remake)
            return
        for attribute, member in value.get("members", {}).items():
            # No variable begins with a number.
            found = around(f"{len(self.foreign)}_{attribute}")
            self.values[found] = value_of(member, remake)
            self.foreign[name, attribute] = found
        module = module_of(value["module"])
        if "name" not in value:
            self.values[name] = module
            return
        # The interpreter replaces members of modules for a launch.
        checked_member(module, value["name"])
        self.members[name] = (module, value["name"])
        self.values[around(f"module_{name}")] = module

    def check(self, tree: ast.FunctionDef) -> None:
        """Refuses a text that says more than a kernel needs to; a name only where it is met."""
        inner = {node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} - {tree}
        for node in ast.walk(tree):
            if not isinstance(node, _NODES) or node in inner:
                raise unknown(f"the statement {type(node).__name__}")
        own = {node.id for node in _names(tree) if not isinstance(node.ctx, ast.Load)}
        own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for name in own:
            if name.startswith("__"):
                raise unknown(f"a variable that is called {name}")
        self._own = own
        _Names(self, own).visit(tree)
        for name in _of_lists_and_others(tree):
            raise unknown(f"the variable {name} of a list and of its surroundings")

    def stands_for(self, node: ast.expr) -> Any:
        """Returns what an expression names in Triton's language, or nothing."""
        if isinstance(node, ast.Attribute):
            owner = self.stands_for(node.value)
            with contextlib.suppress(Refused):
                return checked_member(owner, node.attr) if isinstance(owner, _OWNERS) else None
        if not isinstance(node, ast.Name) or node.id in self._own:
            return None
        if node.id in self.members:
            return checked_member(*self.members[node.id])
        around_it = None if node.id in self.unknown else _BUILTINS.get(node.id)
        return self.values.get(node.id, around_it)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Looks members of modules up where they are used."""
        if node.id in self.members and node.id not in self._own:
            module = ast.Name(around(f"module_{node.id}"), ast.Load())
            return ast.Attribute(module, self.members[node.id][1], ast.Load())
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Says what the compiler makes of it, and leaves out unless a launch asks for it."""
        self.generic_visit(node)
        language = ast.Name(around("language"), ast.Load())
        check = ast.Attribute(language, "device_assert", ast.Load())
        return ast.Expr(ast.Call(check, [node.test, *([node.msg] if node.msg else [])], []))


class _Names(ast.NodeTransformer):
    """Puts a refusal in the place of every name that stands for nothing that a kernel may use."""

    def __init__(self, scope: Scope, own: set[str]) -> None:
        self._scope, self._own = scope, own

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            raise unknown(f"setting the attribute {node.attr}")
        if isinstance(node.value, ast.Name) and node.value.id not in self._own:
            found = self._scope.foreign.get((node.value.id, node.attr))
            if found is not None:
                return ast.copy_location(ast.Name(found, ast.Load()), node)
        try:
            value, rest = self._resolve(node)
            for name in rest:
                if name not in _ATTRIBUTES:
                    raise unknown(f"the attribute {name}")
        except Refused as refused:
            return refusal(refused.op, node)
        return self.generic_visit(node) if isinstance(value, ast.AST) else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._own:
            return node
        if isinstance(self._scope.values.get(node.id), ModuleType):
            return refusal("a module as a value", node)
        what = self._unknown(node.id)
        return refusal(what, node) if what else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if self._scope.stands_for(node.annotation) is not tl.constexpr:
            node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        # What a text says to its readers could be taken for what it does.
        comment = isinstance(node.value, ast.Constant)
        return ast.copy_location(ast.Pass(), node) if comment else self.generic_visit(node)

    def _unknown(self, name: str) -> str:
        """Says what a name of the surroundings is, if it is nothing that a kernel may use."""
        scope = self._scope
        known = any(name in those for those in (scope.values, scope.members, _BUILTINS))
        if known and name not in scope.unknown and not name.startswith(around("")):
            return ""
        return scope.unknown.get(name, f"the name {name}")

    def _resolve(self, node: ast.Attribute) -> tuple[Any, list[str]]:
        """Follows a chain of attributes through modules and classes, as far as these go."""
        names: list[str] = []
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            names.insert(0, root.attr)
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self._own:
            return root, names
        if what := self._unknown(root.id):
            raise unknown(what)
        if not isinstance(self._scope.values.get(root.id), ModuleType):
            return root, names
        value: Any = self._scope.values[root.id]
        while names and (isinstance(value, (ModuleType, type))):
            value = checked_member(value, names.pop(0))
        if isinstance(value, ModuleType):
            raise unknown("a module as a value")
        return value, names


def _of_lists_and_others(tree: ast.FunctionDef) -> Iterator[str]:
    """Yields variables of list comprehensions that are named elsewhere, too.

    Python finds there what is around the list, and the compiler what the list has left behind.
    """
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.ListComp)]
    bound: set[str] = set()
    homes: Counter[ast.Name] = Counter()
    for node in lists:
        targets = [name for one in node.generators for name in _names(one.target)]
        own = {name.id for name in targets}
        parts = [node.elt, *(test for one in node.generators for test in one.ifs)]
        inside = [*targets, *(name for part in parts for name in _names(part))]
        homes.update(name for name in inside if name.id in own)
        bound |= own
    for name in _names(tree):
        if name.id in bound and homes[name] != 1:
            yield name.id


def _names(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]


def module_of(name: Any) -> ModuleType:
    """Returns one of the modules that kernels may use."""
    if name in _MODULES:
        return _MODULES[name]
    if isinstance(name, str) and f"{name}.".startswith("triton.language."):
        found = sys.modules.get(name)
        if found is not None:
            return found
    raise unknown(f"the module {name}")


def checked_member(owner: ModuleType | type, name: str) -> Any:
    """Returns a part of Triton's language, or of `math`, that kernels may use."""
    shown = f"{owner.__name__}.{name}"
    value = getattr(owner, name, None)
    # Kernels call `_log2` and its like, which are kernels' functions themselves.
    inner = owner is tl.standard and isinstance(value, _FUNCTIONS)
    if value is None or (name.startswith("_") and not inner):
        raise unknown(shown)
    if isinstance(value, ModuleType):
        return module_of(value.__name__)
    home = str(getattr(value, "__module__", ""))
    fine = (
        isinstance(value, _MEMBERS)
        or tl.core.is_builtin(value)
        or (isinstance(value, type) and home == "triton.language.core")
        or owner is math
        or owner.__name__.endswith(".libdevice")
        or (isinstance(owner, type) and isinstance(value, owner))  # A member of an enumeration.
        or (isinstance(value, type) and hasattr(value, "__members__"))
    )
    if not fine:
        raise unknown(shown)
    return value


_OWNERS = (ModuleType, type)
_FUNCTIONS: tuple[Any, ...] = (JITCallable, interpreter.InterpretedFunction)
_MEMBERS: tuple[Any, ...] = (bool, int, float, str, tl.constexpr, tl.dtype, *_FUNCTIONS)


_DTYPES = {one.name: one for one in vars(tl.core).values() if type(one) is tl.dtype}


def value_of(described: Any, remake: Remake) -> Any:
    """Returns the value that `kernel_sources` described."""
    if described is None or isinstance(described, (bool, int, float, str)):
        return described
    if "constexpr" in described:
        return tl.constexpr(value_of(described["constexpr"], remake))
    if "dtype" in described:
        # Kernels may ask whether it is this one.
        return _DTYPES[described["dtype"]]
    if "items" in described:
        return tuple(value_of(item, remake) for item in described["items"])
    if "function" in described:
        return remake(described["function"])
    if "module" in described:
        if "name" in described:
            return checked_member(module_of(described["module"]), described["name"])
        return module_of(described["module"])
    raise unknown(str(described.get("unknown", "a value of no known kind")))
