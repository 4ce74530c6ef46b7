"""What the tracer's zygote does for mutants: the library's own work, done once where it can be.

Calls of a mutant that are never run have the plans of an honest kernel of the problem. Mutants'
cases are interpreted, those of few rows first, as each row may be a program. At the first
whose outputs are clearly not the reference's, the rest is left out, and the reference's outputs
stand there: whether the mutant is wrong, the judge alone decides, by the cases that were run. Cases
of more rows than the candidate's name allows are never run.
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


def folder_of(name: str) -> Path:
    return Path(os.environ[STORE]) / name


def kept(file: Path) -> Any:
    return pickle.loads(file.read_bytes()) if file.exists() else None


def keep(file: Path, value: Any) -> None:
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(pickle.dumps(value))
    new.replace(file)


def trace(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a candidate's plans: an honest kernel's are kept, and a mutant's are its own."""
    from ouroboros.trace import dry

    about = told(request)
    folder = folder_of(about["problem"])
    files = [folder / f"{key_of(one)}.plan" for one in request["signatures"]]
    results = [kept(file) for file in files]
    mutant = "mutant" in about
    missing = [
        at
        for at, (one, result) in enumerate(zip(request["signatures"], results, strict=True))
        if result is None or (mutant and rows_of(one) <= about["most_rows"][dtype_of(one)])
    ]
    if missing:
        signatures = [request["signatures"][at] for at in missing]
        made = dry.trace({**request, "signatures": signatures})
        for at, result in zip(missing, made, strict=True):
            results[at] = result
            if not mutant:
                keep(files[at], result)
    return results


def interpret(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a candidate's outputs, in a mutant's case as said above."""
    from ouroboros.trace.interpreter.interpret import Call
    from ouroboros.trace.interpreter.plan import Kernels

    about = told(request)
    plans = [values[:2] for values in request["inputs"]]
    inputs = [values[2:] for values in request["inputs"]]
    calls = list(zip(request["signatures"], inputs, strict=True))
    files = [folder_of(about["problem"]) / f"{key_of(*call)}.out" for call in calls]
    right = [kept(file) for file in files]
    for at, result in enumerate(right):
        if result is None:
            right[at] = by_reference(about["problem"], *calls[at])
            keep(files[at], right[at])
    if "mutant" not in about:
        return right
    results = list(right)
    most = about["most_rows"]
    left = [at for at, call in enumerate(calls) if rows_of(call[0]) > most[dtype_of(call[0])]]
    ran, furthest, kernels = 0, 0.0, Kernels()
    for at in sorted(set(range(len(calls))) - set(left), key=lambda at: rows_of(calls[at][0])):
        results[at] = Call(*plans[at], *inputs[at]).interpret(kernels, {})
        ran += 1
        furthest = max(furthest, apart(results[at], right[at]))
        if furthest >= about["clearly"]:
            break
    report = {"ran": ran, "cases": len(calls), "left": [shape_of(calls[at][0]) for at in left]}
    (folder_of("reports") / f"{about['mutant']}.json").write_text(json.dumps(report))
    return results


def by_reference(problem: str, signature: Mapping[str, Any], data: Sequence[bytes]) -> Any:
    """Returns what the interpreter would, had it run the reference."""
    import ouroboros

    inputs = []
    for one, value in zip(signature["inputs"], data, strict=True):
        dtype = getattr(torch, one["dtype"])
        flat = torch.frombuffer(bytearray(value), dtype=dtype) if value else torch.empty(0)
        inputs.append(flat.to(dtype).view(one["shape"]))
    made = ouroboros.problems.get(problem).reference(*inputs)
    outputs = [
        {
            "dtype": str(one.dtype).removeprefix("torch."),
            "shape": list(one.shape),
            "strides": list(one.contiguous().stride()),
            "bytes": one.contiguous().view(-1).view(torch.uint8).numpy().tobytes(),
        }
        for one in (made if isinstance(made, (tuple, list)) else (made,))
    ]
    return {"outputs": outputs, "refusal": None, "log": "", "seconds": 0.0}


def shape_of(signature: Mapping[str, Any]) -> str:
    first = signature["inputs"][0]
    return f"{first['dtype']} {'x'.join(map(str, first['shape']))}"


def dtype_of(signature: Mapping[str, Any]) -> str:
    return str(signature["inputs"][0]["dtype"])


def rows_of(signature: Mapping[str, Any]) -> int:
    return int(signature["inputs"][0]["shape"][0])


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
