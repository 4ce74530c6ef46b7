"""Run by test_live_trace.py in a process of its own: traces, calls directly, writes both down.

    python live_tracer.py FOLDER KIND...

FOLDER then holds index.json and, for each case, the plan, the inputs' bytes and the bytes that a
direct call gave.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
import traceback
from pathlib import Path

import live_references as references
import torch
from ouroboros.trace import live
from ouroboros.trace.baseline_worker import baseline_function, environment
from ouroboros.trace.live_session import session

TRITON_SOURCE = """
import torch, triton
import triton.language as tl

@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)

def run(x):
    print("tracing")
    out = torch.empty_like(x)
    n = x.numel()
    scaled[(triton.cdiv(n, 1024),)](x, out, n, 3.0, BLOCK=1024)
    return out
"""

DESCRIPTOR_SOURCE = """
import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def moved(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) * 2)

def run(x):
    out = torch.empty_like(x)
    block = [16, 64]
    a = TensorDescriptor.from_tensor(x, block)
    b = TensorDescriptor.from_tensor(out, block)
    moved[(x.shape[0] // 16,)](a, b, BLOCK=16)
    return out
"""


def storage_bytes(tensor: torch.Tensor) -> bytes:
    data = tensor.untyped_storage().cpu()
    return ctypes.string_at(data.data_ptr(), data.nbytes()) if data.nbytes() else b""


def reference_of(name: str):
    """Returns the shipped reference, or the same in Python where there is no native module."""
    try:
        from ouroboros.problems import load
    except ImportError:
        return references.REFERENCES[name]
    return load(f"builtin:{name}").reference


class Cases:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[dict] = []

    def add(self, name: str, fn, inputs, outputs, **options) -> None:
        """Traces a function, calls it on seeded values, and writes everything down."""
        entry: dict = {"name": name}
        began = time.perf_counter()
        try:
            plan = live.capture(fn, inputs, outputs, **options)
            entry["seconds"] = time.perf_counter() - began
            self._write(name, plan, fn, inputs, entry)
        except live.TraceRefusedError as error:
            entry |= {"refusal": error.kind, "message": error.message, "op": error.op}
        except Exception:
            entry["error"] = traceback.format_exc()
        self.done(entry)
        print(
            f"{time.perf_counter() - began:6.2f} s",
            {key: value for key, value in entry.items() if key != "seconds"},
            flush=True,
        )

    def done(self, entry: dict) -> None:
        self.entries.append(entry)
        self.write({})

    def write(self, figures: dict) -> None:
        document = {"cases": self.entries, "figures": figures}
        (self.folder / "index.json").write_text(json.dumps(document))

    def _write(self, name: str, plan: bytes, fn, inputs, entry: dict) -> None:
        place = self.folder / name
        place.mkdir(parents=True)
        (place / "plan").write_bytes(plan)
        tracer = session()
        with tracer.working():
            torch.manual_seed(len(self.entries) + 1)
            tensors = tracer.tensors(inputs)
            for one in tensors:
                one.normal_() if one.is_floating_point() else one.random_(0, 256)
            for index, one in enumerate(tensors):
                (place / f"input{index}").write_bytes(storage_bytes(one))
            results = fn(*tensors)
            results = [results] if isinstance(results, torch.Tensor) else results
            for index, one in enumerate(results):
                (place / f"output{index}").write_bytes(storage_bytes(one))
            entry["outputs"] = len(results)


def refused_cases() -> dict:
    driver = ctypes.CDLL("libcuda.so.1")
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    weight = torch.randn(64, device="cuda")
    kept = torch.empty(64, 64, device="cuda")

    def unjoined(x):
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            return x * 2

    def joined(x):
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            y = x * 2
        torch.cuda.current_stream().wait_stream(other)
        return y + 1

    def host_callback(x):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        driver.cuLaunchHostFunc(stream, callback, None)
        return x * 2

    def memoised(x):
        kept.copy_(x)
        return kept

    calls = []

    def changing(x):
        calls.append(1)
        return x * 2 if len(calls) % 2 else x + 1 - 2

    return {
        "item": lambda x: x * x.sum().item(),
        "random": lambda x: x + torch.rand_like(x),
        "dropout": lambda x: torch.nn.functional.dropout(x, 0.5),
        "unjoined": unjoined,
        "joined": joined,
        "host_callback": host_callback,
        "host_copy": lambda x: x.cpu().cuda(),
        "alias": lambda x: x.add_(1),
        "view": lambda x: (x * 2)[:32],
        "kept": memoised,
        "weight": lambda x: x * weight,
        "changing": changing,
        "wrong_count": lambda x: (x * 2, x * 3),
        "short_output": lambda x: x.to(torch.int16),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    kinds = sys.argv[2:]
    cases = Cases(folder)
    began = time.perf_counter()
    tracer = session()
    print(f"{time.perf_counter() - began:6.2f} s", "session", environment(), flush=True)

    for name, (fn, inputs) in references.EXTRA.items():
        cases.add(f"extra/eager/{name}", fn, inputs, ["out"])

    square = [{"name": "x", "dtype": "float32", "shape": [64, 64]}]
    with tracer.working():
        functions = refused_cases()
    for name, fn in functions.items():
        cases.add(f"course/{name}", fn, square, ["out"])
    del functions

    for name, source in (("triton", TRITON_SOURCE), ("descriptor", DESCRIPTOR_SOURCE)):
        request = {
            "source": source,
            "name": f"{name}_candidate",
            "target": tracer.target,
            "entry": "run",
            "signatures": [{"inputs": square, "outputs": ["out"]}],
            "scratch": str(folder / "scratch"),
        }
        (answer,) = live.capture_source(request)
        entry = {
            "name": f"source/{name}",
            "refusal": answer["refusal"],
            "log": answer["log"],
            "outputs": 1,
        }
        if answer["variants"]:
            place = folder / "source" / name
            place.mkdir(parents=True)
            (place / "plan").write_bytes(answer["variants"][0])
            x = torch.arange(4096, dtype=torch.float32).reshape(64, 64)
            factor = 3 if name == "triton" else 2
            (place / "input0").write_bytes(storage_bytes(x))
            (place / "output0").write_bytes(storage_bytes(x * factor))
            del entry["refusal"]
        entry["seen"] = tracer.seen
        cases.done(entry)
        print(entry, flush=True)

    inputs = references.specs("softmax", "float16")
    count = 30
    began = time.perf_counter()
    for _ in range(count):
        live.capture(references.softmax, inputs, ["out"], warm_ups=1)
    rate = count / (time.perf_counter() - began)
    print(f"{rate:.1f} traces a second", flush=True)

    for kind in kinds:
        for second in (False, True):
            for name in references.REFERENCES:
                reference = reference_of(name)
                inputs = references.specs(name, "float32" if second else "float16", second=second)
                if second and kind != "eager":
                    continue
                with tracer.working():
                    try:
                        fn = baseline_function(reference, inputs, kind)
                    except Exception:
                        cases.done({"name": name, "error": traceback.format_exc()})
                        print(traceback.format_exc(), flush=True)
                        continue
                suffix = "/second" if second else ""
                cases.add(f"baseline/{kind}/{name}{suffix}", fn, inputs, references.OUTPUTS[name])
                del fn

    tracer.trim()
    free, total = torch.cuda.mem_get_info()
    figures = {
        "live_traces_per_s": rate,
        "memory_in_use_mib": (total - free) / (1 << 20),
        "environment": environment(),
    }
    print(figures, flush=True)
    cases.write(figures)


if __name__ == "__main__":
    main()
