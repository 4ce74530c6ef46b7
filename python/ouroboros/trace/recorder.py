"""What a candidate launched, and the plan that follows from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from ouroboros.trace import plan_writer
from ouroboros.trace.arena import Arena, Block
from ouroboros.trace.cubin import KernelInfo
from ouroboros.trace.kernel_sources import sources_file
from ouroboros.trace.plan_writer import Buffer, Dim3, Plan
from ouroboros.trace.refusal import RefusalError

__all__ = ["Kernel", "LoadedKernel", "MapDescription", "Place", "Recorder", "StaleMemoryError"]

# What the audit allows (PlanRules::launches): a flood ends here and not at the time limit.
MAX_LAUNCHES = 4096

# As of CUDA C++: a plan is made for every shape.
MAX_STATE_BYTES = 1 << 20


class StaleMemoryError(BaseException):
    """The candidate used memory that an earlier call left behind."""


@dataclass(frozen=True)
class Place:
    """A place in a block; `offset` is in bytes."""

    block: Block
    offset: int


@dataclass(frozen=True)
class MapDescription:
    """What a host-made TMA descriptor describes, as cuTensorMapEncodeTiled takes it."""

    address: int
    data_type: int
    sizes: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    oob_fill: int


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that the candidate compiled."""

    function: str
    cubin: bytes
    info: KernelInfo
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", hashlib.sha256(self.cubin).hexdigest())


@dataclass(frozen=True)
class Kernel:
    """A kernel launch, with blocks where the plan has buffers; `source` is no part of the plan."""

    kernel: LoadedKernel
    grid: Dim3
    block: Dim3
    cluster: Dim3
    shared_bytes: int
    cooperative: bool
    num_stages: int
    parameters: bytes
    pointers: tuple[tuple[int, Place], ...]
    tensor_maps: tuple[tuple[int, Place, MapDescription], ...]
    source: dict[str, Any]


@dataclass(frozen=True)
class _Memset:
    target: Place
    value: int
    width: int
    count: int


@dataclass(frozen=True)
class _Copy:
    target: Place
    source: Place
    bytes: int


class Recorder:
    """Collects launches, one call of the candidate after another.

    Attributes:
        arena: Where all tensors lie.
        launches: Of the present call, in order.
    """

    def __init__(self) -> None:
        self.arena = Arena()
        self.launches: list[Kernel | _Memset | _Copy] = []
        self._fills_at_import: list[_Memset] = []
        self._run = 0
        self._running = False

    def begin(self) -> None:
        """Starts the record of a new call."""
        self._run += 1
        self._running = True
        self.launches = []

    def end(self) -> None:
        """The call has ended.

        Its plan starts with the fills at import of what it used, since it is that of a first call.
        """
        self._running = False
        fills = self._fills_at_import
        self.launches[:0] = [one for one in fills if one.target.block.run == self._run]

    def allocate(self, size: int) -> Block:
        """Returns a new block."""
        return self.arena.allocate(size, self._run if self._running else None)

    def upload(self, contents: bytes) -> Block:
        """Returns a new block that holds values of the host before every call."""
        block = self.allocate(len(contents))
        block.contents = contents
        return block

    def place(self, address: int) -> Place:
        """Returns where `address` points to."""
        block = self.arena.find(address)
        if block is None:
            raise RefusalError.unsupported(
                f"pointer 0x{address:x}",
                "it points to no tensor that the candidate was given or made",
            )
        self.use(block)
        return Place(block, address - block.address)

    def use(self, block: Block) -> None:
        """Says that the present call uses `block`."""
        if not self._running or block.contents is not None:
            return
        if block.run is None:
            block.run = self._run
        if block.run != self._run:
            raise StaleMemoryError

    def kernel(self, launch: Kernel) -> None:
        """Records a kernel launch."""
        self._add(launch)

    def memset(self, target: Place, size: int, pattern: bytes) -> bool:
        """Records that `size` bytes are filled with a pattern; whether a memset can do that."""
        if size == 0:
            return True
        self.use(target.block)
        for period in (1, 2, 4):
            unit = pattern[:period]
            if len(pattern) % period == 0 and pattern == unit * (len(pattern) // period):
                break
        else:
            return False
        width = next(
            width
            for width in (4, 2, 1)
            if width >= period and size % width == 0 and target.offset % width == 0
        )
        value = int.from_bytes(unit * (width // period), "little")
        self._add(_Memset(target, value, width, size // width))
        return True

    def copy(self, target: Place, source: Place, size: int) -> None:
        """Records a copy between two places on the device that do not overlap, or are the same."""
        if size == 0 or target == source:
            return
        self.use(target.block)
        self.use(source.block)
        self._add(_Copy(target, source, size))

    def _add(self, launch: Kernel | _Memset | _Copy) -> None:
        if self._running:
            self.launches.append(launch)
        elif isinstance(launch, _Memset) and launch.target.block.contents is None:
            self._fills_at_import.append(launch)
        else:
            raise RefusalError.unsupported(
                "launch outside run",
                "of what happens at import, a launch plan has fills alone; do it in run",
            )
        if max(len(self.launches), len(self._fills_at_import)) > MAX_LAUNCHES:
            raise RefusalError(
                "too_many_launches", f"The candidate makes more than {MAX_LAUNCHES} launches."
            )

    def kernels(self) -> list[Kernel]:
        """Returns the kernel launches of the present call."""
        return [launch for launch in self.launches if isinstance(launch, Kernel)]

    def sources(self) -> bytes:
        """Returns what the kernels of the present call were compiled from."""
        return sources_file([launch.source for launch in self.kernels()])

    def plan(self, target: str, variant: str, signature: list[tuple[Block, Buffer]]) -> Plan:
        """Returns the plan of the present call.

        Args:
            target: What the kernels were compiled for.
            variant: The autotune configuration in words.
            signature: Inputs and outputs, in order.
        """
        if any(block.contents for block, _ in signature):
            raise RefusalError.unsupported(
                "values of the host as an output", "return a copy of them on the device: clone()"
            )
        index = {block: position for position, (block, _) in enumerate(signature)}
        plan = Plan(target, variant, [buffer for _, buffer in signature])
        modules: dict[str, int] = {}

        def place(where: Place) -> tuple[int, int]:
            block = where.block
            if block not in index:
                index[block] = len(plan.buffers)
                role = "state" if block.contents else "scratch"
                name = f"{role}{len(plan.buffers) - len(signature)}"
                buffer = Buffer(name, role, block.bytes, contents=block.contents or b"")
                plan.buffers.append(buffer)
            return index[block], where.offset

        def module(kernel: LoadedKernel) -> int:
            if kernel.sha256 not in modules:
                modules[kernel.sha256] = len(plan.modules)
                plan.modules.append(kernel.cubin)
            return modules[kernel.sha256]

        for launch in self.launches:
            if isinstance(launch, _Memset):
                plan.launches.append(
                    plan_writer.Memset(
                        *place(launch.target), launch.value, launch.width, launch.count
                    )
                )
            elif isinstance(launch, _Copy):
                plan.launches.append(
                    plan_writer.Copy(*place(launch.target), *place(launch.source), launch.bytes)
                )
            else:
                plan.launches.append(
                    plan_writer.Kernel(
                        module=module(launch.kernel),
                        function=launch.kernel.function,
                        grid=launch.grid,
                        block=launch.block,
                        cluster=launch.cluster,
                        shared_bytes=launch.shared_bytes,
                        cooperative=launch.cooperative,
                        parameters=launch.parameters,
                        fields=launch.kernel.info.fields,
                        pointers=tuple(
                            plan_writer.Pointer(at, *place(where)) for at, where in launch.pointers
                        ),
                        tensor_maps=tuple(
                            _tensor_map(at, place(where), description)
                            for at, where, description in launch.tensor_maps
                        ),
                    )
                )
        held = sum(len(buffer.contents) for buffer in plan.buffers)
        if held > MAX_STATE_BYTES:
            raise RefusalError.unsupported(
                "values of the host",
                f"kernels use {held} bytes of them, and a launch plan of a dry trace holds "
                f"{MAX_STATE_BYTES}",
            )
        return plan


def _tensor_map(
    at: int, where: tuple[int, int], description: MapDescription
) -> plan_writer.TensorMap:
    l2_promotion_128 = 2  # What Triton's driver asks for, always.
    return plan_writer.TensorMap(
        at,
        *where,
        data_type=description.data_type,
        sizes=description.sizes,
        strides_bytes=description.strides_bytes,
        box=description.box,
        element_strides=(1,) * len(description.sizes),
        interleave=0,
        swizzle=description.swizzle,
        l2_promotion=l2_promotion_128,
        oob_fill=description.oob_fill,
    )
