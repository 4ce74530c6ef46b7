"""An operation that compiles a request's Triton kernel, `kernel(x, out, n, BLOCK)`, to a cubin."""

import importlib.util
import os
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# Line tables name the source's file, whose folder is another one for every request.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

_WARM = """
import triton
import triton.language as tl

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
"""


def warm(target):
    with tempfile.TemporaryDirectory() as folder:
        _compile(_WARM, folder, target)


def trace(request):
    return [{"variants": [_compile(request["source"], request["scratch"], request["target"])]}]


def _compile(source, folder, target):
    path = Path(folder) / "candidate.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    described = ASTSource(module.kernel, signature, {"BLOCK": 256})
    compiled = triton.compile(described, target=GPUTarget("cuda", int(target[3:]), 32))
    return compiled.asm["cubin"]
