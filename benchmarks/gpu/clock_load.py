"""Keeps a GPU busy, as another user of it would: until it is killed. Says so once it does.

python clock_load.py compute|contexts|bursts
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time

import torch


@functools.cache
def say_once() -> None:
    print("busy", flush=True)


def compute() -> None:
    a = torch.rand(4096, 4096, device="cuda")
    while True:
        for _ in range(20):
            a = torch.sin(a @ a * 1e-3)
        torch.cuda.synchronize()
        say_once()


def contexts() -> None:
    while True:
        subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"])
        say_once()


def bursts() -> None:
    """Draws as much power as it can for a fifth of a second, and nothing for the next."""
    a = torch.rand(8192, 8192, device="cuda", dtype=torch.bfloat16)
    while True:
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            for _ in range(10):
                a @ a
            torch.cuda.synchronize()
        say_once()
        time.sleep(0.2)


if __name__ == "__main__":
    {"compute": compute, "contexts": contexts, "bursts": bursts}[sys.argv[1]]()
