"""Between a problem's signature and a candidate's tensors."""

from __future__ import annotations

from typing import Any

import torch

from ouroboros.dtypes import DTYPE_NAMES, DTYPES
from ouroboros.trace.arena import Block
from ouroboros.trace.plan_writer import Buffer
from ouroboros.trace.recorder import Recorder
from ouroboros.trace.refusal import RefusalError
from ouroboros.trace.tensors import ArenaTensor, allocate

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
        return [allocate(recorder, meta) for meta in self._metas()]

    def _metas(self) -> list[torch.Tensor]:
        return [
            torch.empty_strided(shape, strides, dtype=dtype, device="meta")
            for _, dtype, shape, strides in self._inputs
        ]

    def buffers(
        self, inputs: list[ArenaTensor], returned: Any, recorder: Recorder
    ) -> list[tuple[Block, Buffer]]:
        """Returns inputs and outputs in order; refuses what cannot be outputs."""
        # Host code may have changed an input's geometry in place: it is what the problem says.
        buffers = [
            _buffer(ArenaTensor(meta, tensor.block, recorder), name, "input")
            for tensor, meta, (name, *_) in zip(inputs, self._metas(), self._inputs, strict=True)
        ]
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
            if tensor.dtype not in DTYPE_NAMES:
                raise _refusal(f"output {name!r} has dtype {tensor.dtype}, which no problem has.")
            whole = torch.empty(tensor.size(), dtype=tensor.dtype, device="meta")
            if tensor.block.bytes == whole.nbytes and tensor.is_contiguous():
                # Of axes with one element, strides say nothing: the usual ones.
                tensor = ArenaTensor(whole, tensor.block, recorder)
            else:
                # A view of a part, or a transposed one: what a plan returns fills its own memory.
                tensor = allocate(recorder, whole).copy_(tensor)
            recorder.use(tensor.block)
            owners[tensor.block] = f"output {name!r}"
            buffers.append(_buffer(tensor, name, "output"))
        return buffers


def _refusal(message: str) -> RefusalError:
    return RefusalError("signature", message)


def _buffer(tensor: ArenaTensor, name: str, role: str) -> tuple[Block, Buffer]:
    return tensor.block, Buffer(
        name=name,
        role=role,
        bytes=tensor.block.bytes,
        dtype=DTYPE_NAMES[tensor.dtype],
        shape=tuple(tensor.meta.size()),
        strides=tuple(tensor.meta.stride()),
    )
