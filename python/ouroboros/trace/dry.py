"""The dry trace: from Triton source to launch plans, without a GPU.

Run it in a process that is thrown away: `trace` executes the candidate's host code and makes this
process pretend to have CUDA. docs/dry-trace.md says what is recorded and what is refused.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import triton
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources, PTXASError

from ouroboros.trace.arena import Block
from ouroboros.trace.assembler import assemble_again
from ouroboros.trace.autotune import Choices, DroppedConfigError, install
from ouroboros.trace.devices import device_for
from ouroboros.trace.output import captured
from ouroboros.trace.plan_writer import Buffer, Plan
from ouroboros.trace.pretend import PretendedDevice, pretend_cuda
from ouroboros.trace.recorder import Recorder, StaleMemoryError
from ouroboros.trace.refusal import RefusalError
from ouroboros.trace.scratch import scratch_folder
from ouroboros.trace.signature import Signature
from ouroboros.trace.source_module import source_module
from ouroboros.trace.tensors import TraceMode
from ouroboros.trace.triton_driver import RecordingDriver, check_version

__all__ = ["trace", "warm"]

MAX_VARIANTS = 32

# What PyTorch says where it would need a device and does not come by the dispatcher, and what
# was asked for.
DEVICE_ERRORS = {
    "PyTorch is not linked with support for cuda": "moving a tensor to the device",
    "data pointer on an invalid python storage": "storage of a tensor",
}

_MOST_CAUSES = 4

NO_DRIVER = "libcuda.so cannot found"
"""Triton says so where its own tools look for the driver: no work that a library would do."""

WARM_SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.exp(values - tl.max(values, 0)), mask=at < n)


def run(x):
    out = torch.empty_like(x)
    _kernel[(1,)](x, out, x.numel(), BLOCK=128)
    return out
"""


def warm(target: str) -> None:
    """Traces a small kernel for `target`, so that later traces in forked children start quickly.

    Leaves one thread and no files behind. Raises `RuntimeError` when nothing can be traced here.
    """
    torch.set_num_threads(1)
    vector = {"name": "x", "dtype": "float32", "shape": [64], "strides": [1]}
    with tempfile.TemporaryDirectory(prefix="ouroboros-warm-") as scratch:
        (outcome,) = trace(
            {
                "source": WARM_SOURCE,
                "name": "warm",
                "target": target,
                "signatures": [{"inputs": [vector], "outputs": ["out"]}],
                "scratch": scratch,
            }
        )
    if outcome["refusal"] is not None:
        raise RuntimeError(f"the dry trace does not work here: {outcome['refusal']['message']}")


def trace(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Traces one candidate.

    Args:
        request: "source"; "name" of the candidate; "target", e.g. "sm_90"; "signatures", each with
            "inputs" (name, dtype, shape, strides) and the names of "outputs"; and, if wanted,
            "device" (the name of the GPU), "entry" (the function, "run"), "max_variants"
            and "scratch" (a folder that the process may write to).

    Returns:
        One dictionary a signature: "variants" (plan files), "sources" (what the kernels of each
        were compiled from), "refusal" (None, or why there are no variants), "log" (what the
        candidate printed), "kernels", "notes" and "seconds".
    """
    return _Tracer(request).trace()


class _Tracer:
    """One candidate, all its signatures."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.source: str = request["source"]
        self.target: str = request["target"]
        self.entry: str = request.get("entry") or "run"
        self.limit: int = request.get("max_variants") or MAX_VARIANTS
        self.signatures = [Signature(description) for description in request["signatures"]]
        self.scratch: str | None = request.get("scratch")
        self.device = device_for(self.target, request.get("device"))
        stem = "".join(letter if letter.isalnum() else "_" for letter in request.get("name") or "")
        self.filename = f"/candidate/{stem or 'candidate'}.py"
        self.recorder = Recorder()
        self.function: Any = None

    def trace(self) -> list[dict[str, Any]]:
        """Returns one outcome a signature."""
        with scratch_folder(self.scratch) as folder:
            results = []
            for signature in self.signatures:
                started = time.perf_counter()
                outcome: dict[str, Any] = {
                    "variants": [],
                    "sources": [],
                    "refusal": None,
                    "log": "",
                    "kernels": [],
                    "notes": [],
                }
                with captured(folder) as log:
                    try:
                        self._trace_signature(signature, outcome)
                    except BaseException as error:
                        outcome["variants"] = []
                        outcome["sources"] = []
                        outcome["refusal"] = self._explain(error)
                outcome["log"] = log.text
                outcome["seconds"] = time.perf_counter() - started
                results.append(outcome)
            return results

    def _trace_signature(self, signature: Signature, outcome: dict[str, Any]) -> None:
        check_version()
        assemble_again()
        pretend_cuda(self.device)
        triton.runtime.driver.set_active(RecordingDriver(self.device, self.recorder))
        warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
        choices = Choices()
        install(choices)
        kernels: dict[tuple[str, int, int], dict[str, Any]] = {}
        while True:
            try:
                first = self._trace_variant(signature, choices, kernels)
                break
            except DroppedConfigError as dropped:
                outcome["notes"].append(f"dropped {choices.text()}: {dropped}")
                if not choices.drop():
                    raise dropped.cause from None
        plans, traced = {_launched(first): first}, 1
        outcome["sources"] = [self.recorder.sources()]
        for _ in choices.others():
            if traced == self.limit:
                outcome["notes"].append(f"only the first {self.limit} configurations were traced")
                break
            try:
                plan = self._trace_variant(signature, choices, kernels)
            except DroppedConfigError as dropped:
                outcome["notes"].append(f"dropped {choices.text()}: {dropped}")
                continue
            traced += 1
            # Launching the same once more would only be another draw of the clock.
            if plans.setdefault(_launched(plan), plan) is plan:
                outcome["sources"].append(self.recorder.sources())
            else:
                outcome["notes"].append(f"{plan.variant} launches what an earlier one does")
        outcome["variants"] = [plan.to_bytes() for plan in plans.values()]
        outcome["kernels"] = list(kernels.values())

    def _trace_variant(
        self,
        signature: Signature,
        choices: Choices,
        kernels: dict[tuple[str, int, int], dict[str, Any]],
    ) -> Plan:
        try:
            buffers = self._call(signature)
        except StaleMemoryError:
            # A plan is what a first call does: fresh inputs are all that it may depend on.
            self.function = None
            try:
                buffers = self._call(signature)
            except StaleMemoryError:
                raise RefusalError.unsupported(
                    "memory of an earlier call", "what a call uses it must be given or make itself"
                ) from None
        plan = self.recorder.plan(self.target, choices.text(), buffers)
        for launch in self.recorder.kernels():
            kernel = launch.kernel
            num_warps = launch.block[0] // self.device.warp_size
            kernels[kernel.sha256, launch.shared_bytes, num_warps] = {
                "function": kernel.function,
                "module": kernel.sha256,
                "registers": kernel.info.registers,
                "spills": kernel.info.stack_bytes // 4,
                "shared_bytes": launch.shared_bytes,
                "num_warps": num_warps,
                "num_stages": launch.num_stages,
            }
        return plan

    def _call(self, signature: Signature) -> list[tuple[Block, Buffer]]:
        """Calls the candidate once; returns inputs and outputs."""
        # Nor are there gradients: what PyTorch keeps for them asks a device for its stream.
        with torch.no_grad(), TraceMode(self.recorder), PretendedDevice():
            if self.function is None:
                self.function = self._load()
            self.recorder.begin()
            try:
                inputs = signature.make_inputs(self.recorder)
                blocks = [one.block for one in inputs]
                returned = self.function(*inputs)
                return signature.buffers(blocks, returned, self.recorder)
            finally:
                self.recorder.end()

    def _load(self) -> Any:
        module = source_module("candidate", self.source, self.filename)
        function = getattr(module, self.entry, None)
        if not callable(function):
            raise RefusalError(
                "missing_entry_point",
                f"the source defines no function {self.entry!r}, which is given the inputs and "
                f"returns the outputs. One for a module: def {self.entry}(x): return model(x)",
            )
        return function

    def _explain(self, error: BaseException) -> dict[str, str]:
        """Returns a refusal for whatever ended the trace."""
        if isinstance(error, RefusalError):
            return error.to_dict(self.filename)
        op = _device_op(error)
        if NO_DRIVER in str(error):
            refusal = RefusalError.unsupported(
                "the CUDA driver", "a dry trace has none; trace live."
            )
        elif op:
            refusal = RefusalError.needs_device(op)
        else:
            kind = "compile_error" if _of_compiler(error) else "runtime_error"
            refusal = RefusalError(kind, _said(error))
        return refusal.with_traceback(error.__traceback__).to_dict(self.filename)


def _launched(plan: Plan) -> bytes:
    """Returns what tells plans that launch the same from others."""
    return hashlib.sha256(replace(plan, variant="").to_bytes()).digest()


def _said(error: BaseException | None) -> str:
    """Returns what an error says, and some that it came of: Triton's may show a line alone."""
    said: list[str] = []
    while error is not None and len(said) < _MOST_CAUSES:  # They may go in circles.
        text = str(error).strip()
        said.append(f"{type(error).__name__}: {text}" if text else repr(error))
        error = error.__cause__
    return "\n".join(said)


def _of_compiler(error: BaseException) -> bool:
    """Whether a kernel, or the source itself, does not compile or does not fit the target."""
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if (code.co_filename, code.co_name) == (triton.compiler.compiler.__file__, "compile"):
            return True
        traceback = traceback.tb_next
    return isinstance(error, (CompilationError, OutOfResources, PTXASError, SyntaxError))


def _device_op(error: BaseException) -> str:
    """Names what failed for want of a device; empty when the failure is the candidate's own."""
    for text, what in DEVICE_ERRORS.items():
        if text in str(error):
            return what
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is not None:
        code = traceback.tb_frame.f_code
        if Path(code.co_filename).parent.parts[-2:] == ("torch", "cuda"):
            return f"torch.cuda.{code.co_name}"
    return ""
