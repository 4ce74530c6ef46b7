"""Launch plans: what a GPU candidate would launch, as data.

from ouroboros import plan

found = plan.load("softmax.plan")
for refusal in found.audit():
    print(refusal.kind, refusal.evidence)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ouroboros._ouroboros import (
    InvalidArgumentError,
    IOFailure,
    KernelResources,
    LaunchPlan,
    NotFoundError,
    PlanRefusal,
    cubin_target,
    kernel_resources,
)

__all__ = [
    "Difference",
    "KernelResources",
    "LaunchPlan",
    "Module",
    "PlanRefusal",
    "cubin_target",
    "diff",
    "kernel_resources",
    "load",
    "modules",
]


def load(path: str | Path) -> LaunchPlan:
    """Reads a plan file.

    Raises:
        NotFoundError: There is no such file.
        IOFailure: It cannot be read.
        InvalidArgumentError: It is no plan, or one that is not sound.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise IOFailure(f"'{path}' cannot be read: {error.strerror}") from None
    return LaunchPlan.from_bytes(data)


@dataclass(frozen=True)
class Module:
    """One module of a plan.

    Attributes:
        origin: "candidate" or "library".
        image_bytes: Size of its image.
        sha256: Of its image.
        target: The architecture of its code, or None when it is no cubin.
        kernels: What its kernels use; empty when it is no cubin.
    """

    origin: str
    image_bytes: int
    sha256: str
    target: str | None
    kernels: tuple[KernelResources, ...]

    def kernel(self, function: str) -> KernelResources | None:
        """Returns what a kernel uses, or None when the module has no such kernel."""
        return next((one for one in self.kernels if one.function == function), None)

    def to_dict(self) -> dict[str, Any]:
        """Returns the module as plain data."""
        return {
            "origin": self.origin,
            "bytes": self.image_bytes,
            "sha256": self.sha256,
            "target": self.target,
            "kernels": [
                {
                    "function": one.function,
                    "registers": one.registers,
                    "stack_bytes": one.stack_bytes,
                    "shared_bytes": one.shared_bytes,
                    "parameter_bytes": one.parameter_bytes,
                    "parameters": [list(field) for field in one.parameters],
                }
                for one in self.kernels
            ],
        }


def modules(plan: LaunchPlan) -> list[Module]:
    """Returns the modules of a plan, with what their cubins say of themselves."""
    document = plan.document()
    return [_module(plan, document["images"], entry) for entry in document["modules"]]


def _module(plan: LaunchPlan, images: list[dict[str, Any]], entry: dict[str, Any]) -> Module:
    cubin = plan.image(entry["image"])
    target: str | None = None
    kernels: tuple[KernelResources, ...] = ()
    try:
        kernels = tuple(kernel_resources(cubin))
        target = cubin_target(cubin)
    except InvalidArgumentError:
        pass  # The audit says it.
    sha256 = images[entry["image"]]["sha256"]
    return Module(entry["origin"], len(cubin), sha256, target, kernels)


@dataclass(frozen=True)
class Difference:
    """A field that two plans do not share.

    Attributes:
        path: The field, e.g. "launches[2].grid[0]".
        first: Its value in the first plan, or None where it has no such field.
        second: Its value in the second plan.
    """

    path: str
    first: Any
    second: Any


def diff(first: LaunchPlan, second: LaunchPlan) -> list[Difference]:
    """Returns every field in which two plans differ, in the document's order."""
    return list(_differences("", first.document(), second.document()))


def _differences(path: str, first: Any, second: Any) -> Iterator[Difference]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in [*first, *(key for key in second if key not in first)]:
            below = f"{path}.{key}" if path else key
            yield from _differences(below, first.get(key), second.get(key))
    elif isinstance(first, list) and isinstance(second, list):
        for index in range(max(len(first), len(second))):
            yield from _differences(
                f"{path}[{index}]",
                first[index] if index < len(first) else None,
                second[index] if index < len(second) else None,
            )
    elif first != second or type(first) is not type(second):
        yield Difference(path, first, second)
