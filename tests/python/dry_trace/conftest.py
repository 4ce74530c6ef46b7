"""A tracer that tests can ask, and a reader of plan files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HEADER = """
import torch
import triton
import triton.language as tl
"""


class PlanFile:
    """A plan file, read by what docs/plan.md says, with every checksum checked."""

    def __init__(self, data: bytes) -> None:
        magic, version, document_bytes, image_bytes = struct.unpack_from("<8sIIQ", data)
        assert (magic, version) == (b"OUROPLAN", 1)
        assert data[24:56] == hashlib.sha256(data[56:]).digest()
        self.document = json.loads(data[56 : 56 + document_bytes])
        position = 56 + document_bytes
        assert len(data) == position + image_bytes
        self.images = []
        for image in self.document["images"]:
            self.images.append(data[position : position + image["bytes"]])
            assert hashlib.sha256(self.images[-1]).hexdigest() == image["sha256"]
            position += image["bytes"]
        assert position == len(data)

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        return [launch for launch in self["launches"] if launch["kind"] == "kernel"]

    @property
    def kinds(self) -> list[str]:
        return [launch["kind"] for launch in self["launches"]]

    def parameter(self, launch: int, index: int, form: str) -> Any:
        """The value of a kernel's parameter, read as the kernel does."""
        kernel = self["launches"][launch]
        offset, size = kernel["fields"][index]
        assert size == struct.calcsize(form)
        return struct.unpack_from("<" + form, bytes.fromhex(kernel["parameters"]), offset)[0]

    def pointee(self, launch: int, index: int) -> tuple[str, int] | None:
        """Name of the buffer that a pointer parameter points into, and the offset in bytes."""
        kernel = self["launches"][launch]
        offset, _ = kernel["fields"][index]
        for pointer in kernel["pointers"]:
            if pointer["at"] == offset:
                return self["buffers"][pointer["buffer"]]["name"], pointer["offset"]
        return None


@dataclass
class Outcome:
    plans: list[PlanFile]
    refusal: dict[str, str] | None
    log: str
    kernels: list[dict[str, Any]]
    notes: list[str]
    sources: list[dict[str, Any]]

    @property
    def plan(self) -> PlanFile:
        assert self.refusal is None, self.refusal
        (plan,) = self.plans
        return plan

    @property
    def refused(self) -> dict[str, str]:
        assert self.refusal is not None and not self.plans
        return self.refusal


def tensor(
    name: str,
    shape: list[int],
    dtype: str = "float32",
    strides: list[int] | None = None,
) -> dict[str, Any]:
    if strides is None:
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return {"name": name, "dtype": dtype, "shape": shape, "strides": strides}


@dataclass
class Tracer:
    process: subprocess.Popen[str]
    threads: int
    target: str = "sm_90"
    tensor: Any = field(default=staticmethod(tensor))

    def __call__(
        self,
        source: str,
        *inputs: dict[str, Any],
        outputs: tuple[str, ...] = ("out",),
        more: list[tuple[dict[str, Any], ...]] | None = None,
        **options: Any,
    ) -> Any:
        """Traces a source on one signature, or on several: then returns a list of outcomes."""
        request = {
            "source": HEADER + textwrap.dedent(source),
            "name": "test",
            "target": self.target,
            "signatures": [
                {"inputs": list(each), "outputs": list(outputs)} for each in [inputs, *(more or [])]
            ],
            **options,
        }
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert isinstance(reply, list), reply
        outcomes = [
            Outcome(
                [PlanFile(base64.b64decode(plan)) for plan in outcome["variants"]],
                outcome["refusal"],
                outcome["log"],
                outcome["kernels"],
                outcome["notes"],
                [json.loads(text) for text in outcome["sources"]],
            )
            for outcome in reply
        ]
        return outcomes if more else outcomes[0]


@pytest.fixture(scope="session")
def dry() -> Iterator[Tracer]:
    pytest.importorskip("triton")
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forker.py")), "sm_90"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # NumPy's and PyTorch's libraries start threads when they are imported.
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    with process:
        assert process.stdout and process.stdin
        yield Tracer(process, json.loads(process.stdout.readline())["threads"])
        process.stdin.close()
