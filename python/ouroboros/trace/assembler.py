"""Triton's assembler runs in a process of its own, which something outside may kill."""

from __future__ import annotations

import functools
from typing import Any

from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.errors import PTXASError

__all__ = ["assemble_again"]

_ATTEMPTS = 3
_KILLED = "failed with error code -9"


@functools.cache
def assemble_again() -> None:
    """Has Triton repeat what failed because its assembler was killed.

    A kill says nothing about the kernel, which must not come to grief over it, nor lose one of its
    configurations. The candidate sees none of this: it would see an exception of the compiler's.
    """
    once = CUDABackend.make_cubin

    @functools.wraps(once)
    def make_cubin(*arguments: Any, **options: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            try:
                return once(*arguments, **options)
            except PTXASError as error:
                if _KILLED not in str(error):
                    raise
        return once(*arguments, **options)

    CUDABackend.make_cubin = make_cubin
