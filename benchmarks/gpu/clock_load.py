"""Keeps a GPU busy, as another user of it would: until it is killed.

python clock_load.py compute|contexts
"""

from __future__ import annotations

import subprocess
import sys

import torch


def compute() -> None:
    a = torch.rand(4096, 4096, device="cuda")
    while True:
        for _ in range(20):
            a = torch.sin(a @ a * 1e-3)
        torch.cuda.synchronize()


def contexts() -> None:
    while True:
        subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"])


if __name__ == "__main__":
    {"compute": compute, "contexts": contexts}[sys.argv[1]]()
