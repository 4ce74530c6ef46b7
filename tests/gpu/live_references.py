"""The shipped problems' references, in Python, and their first timed shapes.

With these the live trace can be tested where PyTorch is there and the native module is not.
tests/python/test_live_references.py keeps them equal to the shipped ones.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

SHAPES = {
    "softmax": [("x", (1024, 1024))],
    "log_softmax": [("x", (1024, 1024))],
    "rmsnorm": [("x", (1024, 1024)), ("weight", (1024,))],
    "layernorm": [("x", (1024, 1024)), ("weight", (1024,)), ("bias", (1024,))],
    "add_rmsnorm": [("x", (1024, 1024)), ("residual", (1024, 1024)), ("weight", (1024,))],
    "add_rmsnorm_gelu": [("x", (1024, 1024)), ("residual", (1024, 1024)), ("weight", (1024,))],
    "layernorm_silu": [("x", (1024, 1024)), ("weight", (1024,)), ("bias", (1024,))],
    "swiglu": [("gate", (1024, 1024)), ("up", (1024, 1024))],
    "geglu": [("gate", (1024, 1024)), ("up", (1024, 1024))],
    "rope": [("x", (8192, 128)), ("cos", (8192, 64)), ("sin", (8192, 64))],
    "cross_entropy": [("logits", (1024, 1024)), ("targets", (1024,))],
    "cumsum": [("x", (1024, 1024))],
}
SECOND_SHAPES = {
    name: [
        (key, {(1024, 1024): (256, 4096), (1024,): (4096,)}.get(shape, shape))
        for key, shape in shapes
    ]
    for name, shapes in SHAPES.items()
} | {
    "rope": [("x", (4096, 256)), ("cos", (4096, 128)), ("sin", (4096, 128))],
    "cross_entropy": [("logits", (256, 4096)), ("targets", (256,))],
}
OUTPUTS = {name: ["out"] for name in SHAPES} | {"add_rmsnorm": ["out", "sum"]}


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.to(torch.float32)


def _rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * (x.square().mean(-1, True) + 1e-6).rsqrt() * weight


def _layer(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(_wide(x), (x.size(-1),), _wide(weight), _wide(bias), 1e-5)


def softmax(x):
    return _wide(x).softmax(-1).to(x.dtype)


def log_softmax(x):
    return _wide(x).log_softmax(-1).to(x.dtype)


def rmsnorm(x, weight):
    return _rms(_wide(x), _wide(weight)).to(x.dtype)


def layernorm(x, weight, bias):
    return _layer(x, weight, bias).to(x.dtype)


def add_rmsnorm(x, residual, weight):
    total = _wide(x) + _wide(residual)
    return _rms(total, _wide(weight)).to(x.dtype), total.to(x.dtype)


def add_rmsnorm_gelu(x, residual, weight):
    total = _wide(x) + _wide(residual)
    return F.gelu(_rms(total, _wide(weight)), approximate="tanh").to(x.dtype)


def layernorm_silu(x, weight, bias):
    return F.silu(_layer(x, weight, bias)).to(x.dtype)


def swiglu(gate, up):
    return (F.silu(_wide(gate)) * _wide(up)).to(gate.dtype)


def geglu(gate, up):
    return (F.gelu(_wide(gate), approximate="tanh") * _wide(up)).to(gate.dtype)


def rope(x, cos, sin):
    low, high = _wide(x).chunk(2, -1)
    c, s = _wide(cos), _wide(sin)
    return torch.cat((low * c - high * s, high * c + low * s), -1).to(x.dtype)


def cross_entropy(logits, targets):
    rows = _wide(logits).log_softmax(-1)
    return rows.gather(-1, targets.unsqueeze(-1)).squeeze(-1).neg().to(logits.dtype)


def cumsum(x):
    return _wide(x).cumsum(-1).to(x.dtype)


REFERENCES = {name: globals()[name] for name in SHAPES}


def specs(name: str, dtype: str, *, second: bool = False) -> list[dict]:
    """Returns the inputs of a problem at its first or second timed shape."""
    return [
        {"name": key, "dtype": "int64" if key == "targets" else dtype, "shape": list(shape)}
        for key, shape in (SECOND_SHAPES if second else SHAPES)[name]
    ]


def matmul(a, b):
    return a @ b


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


EXTRA = {
    "matmul": (
        matmul,
        [
            {"name": "a", "dtype": "float16", "shape": [1024, 1024]},
            {"name": "b", "dtype": "float16", "shape": [1024, 1024]},
        ],
    ),
    "matmul_fp32": (
        matmul,
        [
            {"name": "a", "dtype": "float32", "shape": [512, 1024]},
            {"name": "b", "dtype": "float32", "shape": [1024, 256]},
        ],
    ),
    "scaled_dot_product_attention": (
        attention,
        [{"name": key, "dtype": "float16", "shape": [2, 8, 512, 64]} for key in "qkv"],
    ),
}
