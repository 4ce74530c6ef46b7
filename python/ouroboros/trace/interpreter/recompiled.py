"""Whether a plan's modules are what the sources beside it compile to.

Both are the word of a process that ran the candidate's host code, which may have put another image
in the place of what was compiled, or other sources beside it. Where nothing replays the image, this
is what ties it to the sources that are interpreted.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from ouroboros.trace.assembler import assemble_again
from ouroboros.trace.cubin import code_of
from ouroboros.trace.interpreter.kernel_meaning import HELPERS
from ouroboros.trace.interpreter.memory import Refused
from ouroboros.trace.interpreter.remade_kernels import (
    Record,
    function_of,
    parsed,
    unknown,
    value_of,
)

__all__ = ["Image", "images", "odd_ones"]

# Compiling is what a verdict without a GPU takes longest for.
_MOST = 3
_USUAL_WARPS = 4
_OPTIONS = {"num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion", "debug"}
_OPTIONS |= {"launch_cooperative_grid", "sanitize_overflow", "default_dot_input_precision"}


@dataclass(frozen=True)
class Image:
    """A kernel's machine code, and what it is said to have been compiled from."""

    target: str
    function: str
    cubin: bytes
    source: str

    def check(self) -> None:
        """Compiles the source again.

        Raises:
            Refused: What comes out is other code, or this cannot be compiled here as it was there.
        """
        record = json.loads(self.source)
        odd = [*record["environment"], *sorted(set(record["options"]) - _OPTIONS)]
        number = re.match(r"sm_(\d+)", self.target)
        if odd or number is None:
            raise unknown(f"a kernel that was compiled with {', '.join(odd) or self.target}")
        target = GPUTarget("cuda", int(number[1]), 32)
        failed: Exception | None = None
        for at, options in enumerate(_ways(record["options"])):
            try:
                made = triton.compile(
                    _source(self.function, record), target=target, options=options
                )
            except Exception as error:
                failed = error if at == 0 else failed
                continue
            if code_of(made.asm["cubin"], _unmarked) == code_of(self.cubin):
                return
        if failed is not None:
            raise unknown(f"a kernel that does not compile again: {failed}") from failed
        raise Refused(
            "other_image",
            self.function,
            f"the image of {self.function} is not what its source compiles to, and there is "
            "no GPU here to show what it does",
        )


def images(plan: Mapping[str, Any], modules: Sequence[bytes], sources: bytes) -> list[Image]:
    """Returns the kernels that a plan launches.

    Args:
        plan: The plan's document.
        modules: The plan's images.
        sources: What its kernels were compiled from.

    Raises:
        ValueError: The sources are not those of this plan.
    """
    document = json.loads(sources)
    texts = [json.dumps(kernel) for kernel in document["kernels"]]
    launches = [one for one in plan["launches"] if one["kind"] == "kernel"]
    return [
        Image(
            plan["target"],
            launch["function"],
            modules[plan["modules"][launch["module"]]["image"]],
            texts[index],
        )
        for launch, index in zip(launches, document["launches"], strict=True)
    ]


def odd_ones(launched: Iterable[Image]) -> dict[Image, BaseException]:
    """Returns those whose source says something else; a few are looked at, drawn by lot."""
    assemble_again()
    left = list(dict.fromkeys(launched))
    odd: dict[Image, BaseException] = {}
    for _ in range(min(_MOST, len(left))):
        image = left.pop(secrets.randbelow(len(left)))
        try:
            image.check()
        except (Exception, Refused) as error:
            odd[image] = error
    return odd


def _ways(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields what a kernel may have been compiled with, the most likely first.

    Of one whose warps are specialised Triton says how many there are in all, which is more than
    were asked for. Whatever gives the image is what it was compiled with.
    """
    yield dict(options)
    warps = options.get("num_warps", _USUAL_WARPS)
    for fewer in (4, 8, 16, 2, 1):
        if fewer < warps:
            yield {**options, "num_warps": fewer}


def _source(function: str, record: Record) -> ASTSource:
    kernel = _Recorded(record["function"])
    if function != record["function"]["name"]:
        kernel._repr = lambda _: function
    arguments = [_Argument(one) for one in record["arguments"]]
    return ASTSource(
        kernel,
        {one.name: one.kind for one in arguments},
        {(at, *path): value for at, one in enumerate(arguments) for path, value in one.values},
        {tuple(path): value for path, value in record["attributes"]},
    )


class _Recorded(JITFunction[Any]):  # type: ignore[misc]
    """A function of a record, for the compiler."""

    def __init__(self, record: Record, name: str = "") -> None:
        tree, scope = parsed(record, _helper)
        names = dict(scope.values)
        names |= {name: getattr(module, member) for name, (module, member) in scope.members.items()}
        names |= HELPERS
        function = function_of(record, tree, names, _helper)
        function.__qualname__ = name or function.__qualname__
        super().__init__(function, noinline=record["noinline"])
        self._tree, self._record = tree, json.dumps(record)
        # Assertions put it into the image, once the text has been read under a name of its own.
        function.__code__ = function.__code__.replace(co_filename=record["file"])
        self.file_name = record["file"]
        self.starting_line_number = self.def_file_line_number = record["line"]

    @property
    def cache_key(self) -> str:
        """By which Triton finds what it has compiled: all of the record, defaults among it."""
        return hashlib.sha256(f"{super().cache_key} {self._record}".encode()).hexdigest()

    def parse(self) -> ast.Module:
        """Returns the function with its own numbers of lines, which assertions name."""
        return ast.Module([copy.deepcopy(self._tree)], [])


def _helper(record: Record) -> _Recorded:
    """Returns a function that a kernel calls, by a name that no other function has.

    Of functions with one name and arguments of the same types, Triton compiles the first alone.
    """
    mark = hashlib.sha256(json.dumps(record).encode()).hexdigest()
    return _Recorded(record, f"{record.get('qualname')}_marked_{mark}")


def _unmarked(symbol: str) -> str:
    """Returns a symbol by the name that it has in the candidate: of what is not inlined."""
    return re.sub("_marked_[0-9a-f]{64}", "", symbol)


class _Argument:
    """The type of an argument, and the constants within."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.name = record.get("name", "")
        self.kind: Any
        self.values: list[tuple[tuple[int, ...], Any]]
        if "items" in record:
            items = [_Argument(one) for one in record["items"]]
            self.kind = tuple(one.kind for one in items)
            self.values = [
                ((at, *path), value) for at, one in enumerate(items) for path, value in one.values
            ]
        elif "value" in record:
            self.kind, self.values = "constexpr", [((), value_of(record["value"], _helper))]
        else:
            self.kind, self.values = record["kind"], []
