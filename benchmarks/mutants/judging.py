"""The library's judge, on many mutants of a few kernels."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ouroboros
from ouroboros import _ouroboros
from ouroboros.trace.zygote import command_line
from triton_mutants import Mutant

__all__ = ["ALL", "TARGET", "THOROUGH", "Judge", "row_of"]

HERE = Path(__file__).resolve().parent
TARGET = "sm_90"
QUICK = {"float32": 40, "float16": 20}
"""Rows of the cases that mutants run at first: more than a tile, or a persistent grid, has."""
THOROUGH = {"float32": 1000, "float16": 1000}
"""All cases but the one of 4097 rows, for those that passed and are not the honest kernel."""
ALL = {"float32": 10**6, "float16": 0}
"""For mutants that only many programs show."""
CLEARLY = 1e3
"""So many units of the dtype are no rounding; less may be, and then all cases are run."""


def tracer(store: Path, limits: Any) -> Any:
    """Returns a tracer whose zygote does what operations.py says.

    It is one of those that may write to /dev/shm, as live tracers are: honest outputs go there.
    """
    line = command_line(TARGET)
    python, *rest = line.command
    modules = rest.index("-m")
    command = [
        *(python, *rest[:modules], "-m", "ouroboros.trace.zygote", "--target", TARGET),
        *("--operation", "trace=operations:trace", "--operation", "interpret=operations:interpret"),
        *("--preload", "torch", "--preload", "triton", "--preload", "ouroboros.trace.dry"),
        *("--preload", "ouroboros.trace.interpreter.interpret", "--preload", "operations"),
    ]
    environment = {**line.environment, "MUTANTS_STORE": str(store)}
    environment["PYTHONPATH"] += os.pathsep + str(HERE)
    return _ouroboros.Tracer(
        command=command,
        readable=[*line.readable, str(HERE)],
        environment=environment,
        limits=limits,
        gpu=True,
    )


class Judge:
    """Judges candidates for one problem, all on the same cases."""

    def __init__(self, problem: str, store: Path, seed: int, dtypes: Sequence[str]) -> None:
        self.problem = ouroboros.problems.load(problem)
        self.store = store.resolve()
        limits = ouroboros.Limits(compile_seconds=300.0, compile_memory_mib=4096)
        options = _ouroboros.Options(
            until="sweep",
            dtypes=list(dtypes),
            seed=seed,
            limits=limits,
            device=_ouroboros.DeviceOptions(target=TARGET, tracer=tracer(self.store, limits)),
        )
        self.native = _ouroboros.Referee(options)
        self.cases = self.native.share_cases(self.problem)

    def verdict(self, source: str, told: dict[str, Any]) -> Any:
        text = self.native.judge_json(
            self.problem,
            source.encode(),
            name=json.dumps(told),
            language="triton",
            cases=self.cases,
        )
        return ouroboros.Verdict.from_json(text)

    def prepare(self, source: str) -> None:
        """Has an honest kernel's plans made, which serve the mutants of all."""
        for folder in (self.store / self.problem.name, self.store / "reports"):
            folder.mkdir(exist_ok=True)
        verdict = self.verdict(source, {"problem": self.problem.name})
        if verdict.status.value != "ok":
            raise RuntimeError(f"the cases are not ready: {verdict.findings}")

    def mutant(self, mutant: Mutant, most_rows: Mapping[str, int] = QUICK) -> dict[str, Any]:
        """Returns what the judge says of a mutant, by the cases of no more rows than that."""
        started = time.monotonic()
        clearly = CLEARLY
        while True:
            told = {
                "problem": self.problem.name,
                "mutant": mutant.key,
                "clearly": clearly,
                "most_rows": dict(most_rows),
            }
            verdict = self.verdict(mutant.source, told)
            file = self.store / "reports" / f"{mutant.key}.json"
            report = json.loads(file.read_text()) if file.exists() else {}
            file.unlink(missing_ok=True)
            stopped = report.get("ran", 0) + len(report.get("left", ())) < report.get("cases", 0)
            if verdict.status.value != "ok" or not stopped:
                break
            clearly = 1e31
        return {**row_of(verdict), **report, "seconds": round(time.monotonic() - started, 2)}


def row_of(verdict: Any) -> dict[str, Any]:
    """Returns the part of a row that says what came of a mutant."""
    findings = [one for one in verdict.findings if one.kind != "not_timed"]
    correctness = verdict.correctness
    status = verdict.status.value
    outcome = {"ok": "passed", "infrastructure_error": "not_judged"}.get(status, "killed")
    if any(one.kind == "crashed" for one in findings):
        outcome = "not_judged"  # No interpreted kernel ends its process: operations.py did.
    return {
        "outcome": outcome,
        "status": status,
        "findings": [one.kind for one in findings],
        "evidence": "; ".join(one.evidence for one in findings)[:300],
        "error_over_allowed": correctness.max_error_over_allowed if correctness else 0.0,
    }
