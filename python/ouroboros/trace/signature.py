"""Between a problem's signature and a candidate's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ouroboros.dtypes import DTYPE_NAMES, DTYPES
from ouroboros.trace.arena import Block
from ouroboros.trace.plan_writer import Buffer
from ouroboros.trace.recorder import Recorder
from ouroboros.trace.refusal import RefusalError
from ouroboros.trace.tensors import ArenaTensor, allocate, dense_bytes

__all__ = ["Signature"]


class Signature:
    """Inputs with their geometry, and the names of outputs."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._inputs = [
            (entry["name"], DTYPES[entry["dtype"]], entry["shape"], entry["strides"])
            for entry in description["inputs"]
        ]
        self._outputs: list[str] = list(description["outputs"])

    def make_inputs(self, recorder: Recorder) -> list[ArenaTensor]:
        """Returns fresh inputs."""
        return [
            allocate(recorder, torch.empty_strided(shape, strides, dtype=dtype, device="meta"))
            for _, dtype, shape, strides in self._inputs
        ]

    def buffers(
        self, inputs: list[Block], returned: Any, recorder: Recorder
    ) -> list[tuple[Block, Buffer]]:
        """Returns inputs and outputs in order; refuses what cannot be outputs.

        Args:
            inputs: Where the inputs lay when the candidate was called, which may have changed
                their geometry in place, or made others of them.
            returned: What the candidate returned.
            recorder: Who is told of what is used.
        """
        buffers = [
            (block, _buffer(block, name, "input", dtype, shape, strides))
            for block, (name, dtype, shape, strides) in zip(inputs, self._inputs, strict=True)
        ]
        if isinstance(returned, dict):
            raise _refusal(
                "run returned a dict: return the outputs as a tuple, in the problem's order "
                f"({', '.join(self._outputs)})."
            )
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(outputs) != len(self._outputs):
            raise _refusal(
                f"run returned {len(outputs)} values where the problem has "
                f"{len(self._outputs)} outputs ({', '.join(self._outputs)})."
            )
        owners: dict[Block, str] = {block: f"input {buffer.name!r}" for block, buffer in buffers}
        for name, tensor in zip(self._outputs, outputs, strict=True):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "cuda":
                raise _refusal(f"output {name!r} is on {tensor.device}, not on the GPU.")
            if isinstance(tensor, torch.Tensor) and not isinstance(tensor, ArenaTensor):
                raise _refusal(f"output {name!r} is a {type(tensor).__name__}, no plain tensor.")
            if not isinstance(tensor, ArenaTensor):
                raise _refusal(f"output {name!r} is a {type(tensor).__name__}, not a tensor.")
            if tensor.block in owners:
                raise _refusal(f"output {name!r} shares its memory with {owners[tensor.block]}.")
            tensor = _of_its_own(tensor, recorder)
            if dense_bytes(tensor.meta) != tensor.block.bytes:
                raise _refusal(
                    f"output {name!r} is a view of a part of a larger allocation; "
                    "return a tensor that fills its own, its clone() say."
                )
            if tensor.dtype not in DTYPE_NAMES:
                raise _refusal(f"output {name!r} has dtype {tensor.dtype}, which no problem has.")
            recorder.use(tensor.block)
            owners[tensor.block] = f"output {name!r}"
            meta = tensor.meta
            buffer = _buffer(tensor.block, name, "output", meta.dtype, meta.size(), meta.stride())
            buffers.append((tensor.block, buffer))
        return buffers


def _of_its_own(tensor: ArenaTensor, recorder: Recorder) -> ArenaTensor:
    """Returns an output that fills its allocation: of a part that has no gaps, a copy.

    `contiguous()` makes none where it finds the part contiguous, as of a single padded row.
    """
    size = dense_bytes(tensor.meta)
    if size == tensor.block.bytes or not tensor.meta.is_contiguous():
        return tensor
    made = allocate(recorder, torch.empty(tensor.shape, dtype=tensor.dtype, device="meta"))
    recorder.copy(made.place, tensor.place, size or 0)
    return made


def _refusal(message: str) -> RefusalError:
    return RefusalError("signature", message)


def _buffer(
    block: Block,
    name: str,
    role: str,
    dtype: torch.dtype,
    shape: Sequence[int],
    strides: Sequence[int],
) -> Buffer:
    return Buffer(
        name=name,
        role=role,
        bytes=block.bytes,
        dtype=DTYPE_NAMES[dtype],
        shape=tuple(shape),
        strides=tuple(strides),
    )
