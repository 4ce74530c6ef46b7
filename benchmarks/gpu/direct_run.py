"""Runs Triton candidates as their author would, and compares with what replays gave.

    python direct_run.py QUESTIONS.pt ANSWERS.pt

A process of its own: it runs the candidates' host code and has a CUDA context of PyTorch's.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import torch


def load(path: str) -> Any:
    """Imports a candidate."""
    spec = importlib.util.spec_from_file_location("candidate", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_bits(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
    """Whether two lists of tensors agree in dtype, shape and every bit."""
    return all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
        for a, b in zip(ours, theirs, strict=True)
    )


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Runs one candidate. One of its replayed configurations has to give the same bits."""
    try:
        returned = load(question["path"]).run(*(one.cuda() for one in question["inputs"]))
        torch.cuda.synchronize()
    except Exception as error:
        return {"equal": False, "error": f"{type(error).__name__}: {error}"[:400]}
    returned = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    direct = [one.cpu() for one in returned]
    return {"equal": any(same_bits(direct, replay) for replay in question["replays"])}


def main() -> None:
    questions = torch.load(sys.argv[1])
    torch.save([answer(question) for question in questions], sys.argv[2])


if __name__ == "__main__":
    main()
