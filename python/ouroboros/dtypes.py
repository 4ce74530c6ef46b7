"""Element types that the referee can judge."""

from __future__ import annotations

import torch

__all__ = ["DTYPES", "DTYPE_NAMES"]

DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int32": torch.int32,
    "int64": torch.int64,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}
"""PyTorch's types by the names that problems, plans and verdicts have for them."""

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
