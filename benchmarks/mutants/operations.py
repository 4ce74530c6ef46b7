"""What the tracer's zygote does for mutants: the library's own work, done once where it can be.

Plans come from the honest kernel, as a mutant's plan counts for nothing in the interpreter. Cases
are interpreted from the cheapest to the dearest. At the first whose outputs are clearly others than
the honest kernel's, the rest is left out, and the honest outputs stand there: whether the mutant is
wrong, the judge alone decides, by the cases that were run. Cases of thousands of rows, each of
which is a program to interpret, are run by the first kernel of a problem alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = ["interpret", "trace"]

STORE = "MUTANTS_STORE"
MOST_ROWS = 2048
OTHERWISE = 1e30
"""How far outputs are apart that cannot be compared: refused, of other shapes, infinite."""


def key_of(signature: Mapping[str, Any], data: Sequence[bytes] | str = ()) -> str:
    """Returns the name of one call's file: dtypes and shapes, and values where they count."""
    digest = hashlib.sha256()
    for one in signature["inputs"]:
        digest.update(f"{one['dtype']}{one['shape']}".encode())
    for value in [data] if isinstance(data, str) else data:
        digest.update(value.encode() if isinstance(value, str) else value)
    return digest.hexdigest()[:24]


def told(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what run.py says of a candidate: it is JSON in the candidate's name."""
    found: dict[str, Any] = json.loads(request["name"])
    return found


def folder_of(kernel: str) -> Path:
    return Path(os.environ[STORE]) / kernel


def kept(file: Path) -> Any:
    return pickle.loads(file.read_bytes()) if file.exists() else None


def keep(file: Path, value: Any) -> None:
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(pickle.dumps(value))
    new.replace(file)


def trace(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the honest kernel's plans; makes them where there are none."""
    from ouroboros.trace import dry

    kernel = told(request)["kernel"]
    files = [folder_of(kernel) / f"{key_of(one)}.plan" for one in request["signatures"]]
    results = [kept(file) for file in files]
    missing = [at for at, result in enumerate(results) if result is None]
    if missing:
        source = told(request).get("honest") or request["source"]
        signatures = [request["signatures"][at] for at in missing]
        made = dry.trace({**request, "source": source, "signatures": signatures})
        for at, result in zip(missing, made, strict=True):
            results[at] = result
            keep(files[at], result)
    return results


def interpret(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a candidate's outputs, in a mutant's case as said above."""
    about = told(request)
    values = list(request["inputs"])
    calls = list(zip(request["signatures"], values, strict=True))
    files = [
        folder_of(about["problem" if is_long(call[0]) else "kernel"]) / f"{key_of(*call)}.out"
        for call in calls
    ]
    honest = [kept(file) for file in files]
    if "mutant" not in about:
        for at, result in enumerate(honest):
            if result is None:
                honest[at] = called(request, *calls[at])
                keep(files[at], honest[at])
        return honest
    results = list(honest)
    ran, unequal, left = [], [], []
    for at in sorted(range(len(calls)), key=lambda i: honest[i]["seconds"]):
        if is_long(calls[at][0]):
            left.append(shape_of(calls[at][0]))
            continue
        results[at] = called(request, *calls[at])
        ran.append(at)
        distance = apart(results[at], honest[at])
        if distance > 0:
            unequal.append([shape_of(calls[at][0]), distance])
        if distance >= about["clearly"]:
            break
    report = {"ran": len(ran), "cases": len(calls), "unequal": unequal, "left": left}
    (folder_of("reports") / f"{about['mutant']}.json").write_text(json.dumps(report))
    return results


def is_long(signature: Mapping[str, Any]) -> bool:
    """Whether a call has too many rows for an interpreter."""
    return max(one["shape"][0] for one in signature["inputs"]) > MOST_ROWS


def called(request: Mapping[str, Any], signature: Any, data: Any) -> dict[str, Any]:
    """Interprets one call by itself."""
    from ouroboros.trace import interpret as library

    (result,) = library.run({**request, "signatures": [signature], "inputs": [data]})
    return result


def shape_of(signature: Mapping[str, Any]) -> str:
    first = signature["inputs"][0]
    return f"{first['dtype']} {'x'.join(map(str, first['shape']))}"


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Returns 0 for equal bits; else by how many units of the dtype outputs differ at most.

    A unit is a step at the largest value of the row: a difference of many is no rounding.
    """
    if one["refusal"] or other["refusal"]:
        return 0.0 if one["refusal"] == other["refusal"] else OTHERWISE
    most = 0.0
    for mine, yours in zip(one["outputs"], other["outputs"], strict=True):
        if (mine["dtype"], mine["shape"]) != (yours["dtype"], yours["shape"]):
            return OTHERWISE
        if mine["bytes"] != yours["bytes"]:
            most = max(most, units(mine, yours))
    return most


def units(mine: Mapping[str, Any], yours: Mapping[str, Any]) -> float:
    dtype = getattr(torch, mine["dtype"])
    a, b = (
        torch.frombuffer(bytearray(one["bytes"]), dtype=dtype).double().view(one["shape"])
        for one in (mine, yours)
    )
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf(), b.isinf()):
        return OTHERWISE
    a, b = (one.nan_to_num(0.0, 0.0, 0.0) for one in (a, b))
    scale = b.abs().amax(-1, keepdim=True) if b.dim() > 1 else b.abs()
    step = (scale * torch.finfo(dtype).eps).clamp_min(torch.finfo(dtype).smallest_normal)
    return max(float(((a - b).abs() / step).max()), 1e-9)
