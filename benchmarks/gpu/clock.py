"""What the clock is worth, on this machine's GPU: see benchmarks/README.md.

    python benchmarks/gpu/clock.py --out benchmarks/results/h200 --commit HASH

Measures things against themselves, pairs of kernels of known ratio with this library and with
others, under background load and in fresh processes, and what a verdict's clock costs. Writes
clock.json to the folder of --out.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import ouroboros
from clock_as_called import as_called, say_as_called
from clock_launches import launches, say_launches
from clock_memos import memos, say_memos
from clock_pairs import (
    ELEMENTS,
    LENGTHS_US,
    RATIOS,
    SHORT_RATIOS,
    SHORT_US,
    STEPS,
    Chains,
    copy,
    deviations,
    rounded,
    trimmed,
)
from evidence import provenance
from ouroboros.trace.plan_baselines import plan_baseline

HERE = Path(__file__).parent
OWN_TIMES = HERE.parents[1] / "build" / "ci" / "benchmarks" / "bench_own_times"
ROWS = (16, 128, 1024, 8192, 32768)
"""Rows of 4096 float32: from 0.25 MB to 0.5 GB an operand."""
LONG_ROWS = 65536
"""With these PyTorch's eager mode takes from some 0.7 to 3 ms: a GB an operand."""
AA_SECONDS = 5.0
COVERAGE_RUNS = 200
SHORT_RUNS = 60
RIVAL_PROCESSES = 10
LEFT_OUT = ("1.01 at 200 us", "1.05 at 200 us", "1.2 at 200 us")
"""Of the pairs that rivals time: at 200 us they are all alike, and each takes seconds."""
LOAD_RUNS = 12
JUDGED = ("softmax", "rmsnorm", "layernorm")
GATED = ("softmax", "layernorm")
"""Of these, the ones that are judged in company: both pass the gate when alone."""
WRITTEN_EACH_S = 10

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterator[Callable[[], Row]]
"""Rows that are yet to be measured: whoever goes on from an earlier run leaves the first out."""


def cell_of(problem: Any, rows: int) -> dict[str, int]:
    """Returns the cell of a shipped problem with so many rows of 4096 elements."""
    first = (problem.timed_gpu or problem.timed)[0]
    width = math.prod(size for axis, size in first.items() if axis != "rows")
    if "half" in first:
        return {**first, "rows": rows * 4096 // (2 * width)}
    return {**first, "rows": rows}


def timing_row(verdict: Any) -> Row:
    """Returns what a comparison of two plans found in its only cell."""
    row: Row = {"status": verdict.status.value, "wall_s": verdict.provenance.duration_s}
    if verdict.status.value != "ok" or not verdict.timing.cells[0].baselines:
        return {**row, "reason": [one.evidence for one in verdict.findings]}
    (cell,) = verdict.timing.cells
    (baseline,) = cell.baselines
    if baseline.status != "timed":
        return {**row, "reason": baseline.reason}
    return {
        **row,
        "axes": dict(cell.axes),
        "latency_us": cell.latency_us.estimate,
        "bracket_us": cell.bracket_us.estimate,
        "handover_us": cell.handover_us,
        "ratio": baseline.speedup.estimate,
        "interval": [baseline.speedup.low, baseline.speedup.high],
        "ratio_raw": baseline.speedup_raw.estimate,
        "decision": baseline.decision,
        "blocks": baseline.blocks,
        "blocks_void": cell.blocks_void,
        "estimator": cell.estimator,
        "submission": cell.submission,
        "placement_sd": cell.placement_sd,
        "clock_mhz": cell.clock_mhz,
        "memory": [baseline.memory.low, baseline.memory.estimate, baseline.memory.high],
        "ceiling_fraction": cell.ceiling_fraction,
        "gpu_ms": cell.gpu_ms,
        "code_copies": cell.code_copies,
        "flags": list(cell.flags),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else 0.0


def same_against_same(shared: Mapping[str, Any]) -> Rows:
    """Times what PyTorch does against a second copy of itself."""
    kinds = {size: "eager" if size in (16, 8192) else "compile" for size in ROWS}
    return of_all_problems(kinds, shared)


def same_against_same_short(shared: Mapping[str, Any]) -> Rows:
    """Times what takes a few microseconds against a second copy of itself: the two least sizes."""
    return of_all_problems({ROWS[0]: "eager", ROWS[1]: "compile"}, shared)


def same_against_same_long(shared: Mapping[str, Any]) -> Rows:
    """Times what takes milliseconds against a second copy of itself."""
    return of_all_problems({LONG_ROWS: "eager"}, shared)


def of_all_problems(kinds: Mapping[int, str], shared: Mapping[str, Any]) -> Rows:
    """Times plans of these kinds, of so many rows each, against second copies of themselves."""
    referee = ouroboros.Referee(
        mode="report", dtypes=["float32"], timing={"budget_seconds": AA_SECONDS}
    )
    for name in ouroboros.problems.names()[:: shared["share"]]:
        problem = ouroboros.problems.load(name)
        for size, kind in kinds.items():
            yield lambda problem=problem, name=name, size=size, kind=kind: {
                "problem": name,
                "kind": kind,
                **compared(referee, problem, plan_baseline(problem, kind), cell_of(problem, size)),
            }


def compared(referee: Any, problem: Any, plan: Any, cell: dict[str, int]) -> Row:
    """Returns what a plan against itself gives; an error is a row as well."""
    try:
        return timing_row(referee.compare(problem, plan, plan, cells=[cell]))
    except ouroboros.OuroborosError as error:
        return {"status": "error", "reason": str(error)}


def say_same(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    timed = [row for row in rows if "ratio" in row]
    long = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] >= 20]
    short = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] < 20]
    around5 = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] < 8]
    return {
        "summary": {
            "aa_cells": len(timed),
            "aa_p95_from_20us": percentile(long, 0.95),
            "aa_p95_at_5us": percentile(around5, 0.95),
            "aa_p95_below_20us": percentile(short, 0.95),
            "aa_false_decisions": share_decided(timed),
        }
    }


def say_same_short(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    timed = [row for row in rows if "ratio" in row]
    chained = [row for row in timed if row["estimator"] == "chain"]
    return {
        "summary": {
            "aa_short_cells": len(timed),
            "aa_short_in_chains": len(chained),
            "aa_short_in_chains_p95": percentile([abs(row["ratio"] - 1) for row in chained], 0.95),
            "aa_short_below_8us_p95": percentile(
                [abs(row["ratio"] - 1) for row in timed if row["latency_us"] < 8], 0.95
            ),
            "aa_short_false_decisions": share_decided(timed),
        }
    }


def share_decided(timed: Sequence[Row]) -> float:
    """Returns of how many cells one copy was called faster."""
    wrong = [row for row in timed if row["decision"] in ("faster", "slower")]
    return len(wrong) / max(len(timed), 1)


def say_same_long(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    timed = [row for row in rows if "ratio" in row]
    return {
        "summary": {
            "aa_long_cells": len(timed),
            "aa_long_shortest_us": min((row["latency_us"] for row in timed), default=0.0),
            "aa_long_longest_us": max((row["latency_us"] for row in timed), default=0.0),
            "aa_long_p95": percentile([abs(row["ratio"] - 1) for row in timed], 0.95),
            "aa_long_false_decisions": share_decided(timed),
        }
    }


def true_ratio(lengths: Sequence[int], spans: Sequence[float], a: int, b: int) -> float:
    """Returns the ratio of the times of chains of length b and a, from those of many lengths.

    Times are a straight line over lengths, and a line has less noise than two points.
    """
    each_us, fixed_us = statistics.linear_regression(lengths, spans)
    return (fixed_us + each_us * b) / (fixed_us + each_us * a)


def pairs_of(chains: Chains) -> list[dict[str, Any]]:
    """Returns pairs of chains: their lengths, and the true ratio of the times that they run.

    Lengths alone are not it: before its chain every kernel loads from memory, for about a
    microsecond. So kernels' own view of the device's clock says how long they run.
    """
    pairs = []
    for length_us in LENGTHS_US:
        short = chains.iterations(length_us)
        lengths = [short, *(rounded(short * ratio) for ratio in RATIOS)]
        spans = chains.spans_us(lengths)
        for number, ratio in enumerate(RATIOS, start=1):
            pairs.append(
                {
                    "name": f"{ratio} at {length_us:g} us",
                    "a": short,
                    "b": lengths[number],
                    "a_us": spans[0],
                    "b_us": spans[number],
                    "iterations_ratio": lengths[number] / short,
                    "truth": true_ratio(lengths, spans, short, lengths[number]),
                }
            )
    return pairs


def short_pairs_of(chains: Chains) -> list[dict[str, Any]]:
    """Returns pairs of chains of a few microseconds, with the ratio of the times that they run.

    One call behind a flush runs a little longer than one of many in a stream, so there is a truth
    for each way they are measured. The ratio of what a stream takes, the gap between two calls
    included, is there besides. Calls of one length come again and again at the same moment between
    two steps of the device's clock, which are no small part of such times: other lengths do not.
    """
    pairs = []
    for length_us in SHORT_US:
        short = chains.iterations(length_us)
        lengths = [short, *(rounded(short * ratio) for ratio in SHORT_RATIOS)]
        lengths += [rounded(short * (1 + step / STEPS)) for step in range(1, STEPS)]
        stream = chains.in_a_stream(lengths)
        alone = chains.spans_us(lengths)
        rowed = [trimmed(one.span_us) for one in stream]
        for number, ratio in enumerate(SHORT_RATIOS, start=1):
            pairs.append(
                {
                    "name": f"{ratio} at {length_us:g} us",
                    "a": short,
                    "b": lengths[number],
                    "a_us": alone[0],
                    "b_us": alone[number],
                    "a_rowed_us": rowed[0],
                    "b_rowed_us": rowed[number],
                    "a_stream_us": trimmed(stream[0].call_us),
                    "b_stream_us": trimmed(stream[number].call_us),
                    "truth": {
                        "bracket": true_ratio(lengths, alone, short, lengths[number]),
                        "chain": true_ratio(lengths, rowed, short, lengths[number]),
                    },
                }
            )
    return pairs


def known_ratios_short(shared: Mapping[str, Any]) -> Rows:
    """Times such pairs again and again: how often the interval holds the truth."""
    chains = shared["chains"]
    pairs = short_pairs_of(chains)
    referee = ouroboros.Referee(mode="report")
    for number in range(SHORT_RUNS // shared["share"]):
        pair = pairs[number % len(pairs)]
        yield lambda pair=pair: {"pair": pair, **timing_row(of_pair(referee, chains, pair))}


def say_known_short(runs: Sequence[Row], _: Mapping[str, Any]) -> Row:
    timed = [run for run in runs if "ratio" in run]
    table: dict[str, Any] = {}
    for name in dict.fromkeys(run["pair"]["name"] for run in timed):
        mine = [run for run in timed if run["pair"]["name"] == name]
        pair = mine[0]["pair"]
        for estimator in dict.fromkeys(run["estimator"] for run in mine):
            ratios = [run["ratio"] for run in mine if run["estimator"] == estimator]
            truth = pair["truth"][estimator]
            table[f"{name}, {estimator}"] = {
                "truth": truth,
                "in_a_stream": pair["b_stream_us"] / pair["a_stream_us"],
                "runs": len(ratios),
                **deviations(ratios, truth),
            }
    held = [
        run["interval"][0] <= run["pair"]["truth"][run["estimator"]] <= run["interval"][1]
        for run in timed
    ]
    return {
        "summary": {
            "known_short_coverage": sum(held) / max(len(held), 1),
            "known_short_runs": len(held),
        },
        "table": table,
    }


def known_ratios(shared: Mapping[str, Any]) -> Rows:
    """Times pairs of known ratio again and again: how often the interval holds the truth."""
    chains, pairs = shared["chains"], shared["pairs"]
    for mode in ("report", "decide"):
        referee = ouroboros.Referee(mode=mode)
        wanted = COVERAGE_RUNS if mode == "report" else COVERAGE_RUNS // 2
        for number in range(wanted // shared["share"]):
            pair = pairs[number % len(pairs)]
            yield lambda referee=referee, mode=mode, pair=pair: {
                "pair": pair["name"],
                "truth": pair["truth"],
                "mode": mode,
                **timing_row(of_pair(referee, chains, pair)),
            }


def of_pair(referee: Any, chains: Chains, pair: Mapping[str, Any]) -> Any:
    """Returns the verdict on a pair's two chains."""
    return referee.compare(copy, chains.plan(pair["a"], "A"), chains.plan(pair["b"], "B"))


def say_known(runs: Sequence[Row], shared: Mapping[str, Any]) -> Row:
    timed = [run for run in runs if "ratio" in run]
    held = [
        run["interval"][0] <= run["truth"] <= run["interval"][1]
        for run in timed
        if run["mode"] == "report"
    ]
    small = [
        run
        for run in timed
        if run["mode"] == "decide" and run["pair"] == f"1.02 at {LENGTHS_US[0]:g} us"
    ]
    table = {}
    for mode in ("report", "decide"):
        for pair in shared["pairs"]:
            mine = [run for run in timed if run["pair"] == pair["name"] and run["mode"] == mode]
            if mine:
                ratios = [run["ratio"] for run in mine]
                table[f"{mode} {pair['name']}"] = {
                    "truth": pair["truth"],
                    **deviations(ratios, pair["truth"]),
                }
    return {
        "summary": {
            "known_ratio_coverage": sum(held) / max(len(held), 1),
            "known_ratio_runs": len(held),
            "decide_2pct_at_20us_ms": sum(run["gpu_ms"] for run in small) / max(len(small), 1),
            "decide_2pct_at_20us_right": sum(run["decision"] == "faster" for run in small)
            / max(len(small), 1),
        },
        "table": table,
    }


def rivals(shared: Mapping[str, Any]) -> Rows:
    """Times the same pairs with other tools, in fresh processes: a row is all of one."""
    pairs = [pair for pair in shared["pairs"] if pair["name"] not in LEFT_OUT]
    for number in range(max(1, RIVAL_PROCESSES // shared["share"])):
        yield lambda number=number: {"process": number, "runs": rival_process(pairs, number)}


def rival_process(pairs: Sequence[Row], number: int) -> list[Row]:
    """Returns what one process of clock_rivals.py measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.json"
        path.write_text(json.dumps(pairs))
        done = subprocess.run(
            [sys.executable, HERE / "clock_rivals.py", path, str(number)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    found: list[Row] = json.loads(done.stdout)
    return found


def say_rivals(rows: Sequence[Row], shared: Mapping[str, Any]) -> Row:
    found = [run for row in rows for run in row["runs"]]
    table: dict[str, Any] = {}
    for pair in shared["pairs"]:
        for tool in sorted({one["tool"] for one in found}):
            mine = [o for o in found if o["tool"] == tool and o["pair"] == pair["name"]]
            if mine:
                table.setdefault(pair["name"], {})[tool] = {
                    **deviations([one["ratio"] for one in mine], pair["truth"]),
                    "wall_ms": statistics.median(one["wall_ms"] for one in mine),
                    "clock_ms": statistics.median(one["clock_ms"] for one in mine),
                }
    summary = {}
    for tool in sorted({one["tool"] for one in found} - {"ours"}):
        errors = [row[tool]["mean_error"] / row["ours"]["mean_error"] for row in table.values()]
        walls = [row[tool]["wall_ms"] / row["ours"]["clock_ms"] for row in table.values()]
        whole = [row[tool]["wall_ms"] / row["ours"]["wall_ms"] for row in table.values()]
        medians = [
            row[tool]["median_error"] / row["ours"]["median_error"] for row in table.values()
        ]
        summary[f"{tool}_error_ratio"] = statistics.geometric_mean(errors)
        summary[f"{tool}_median_error_ratio"] = statistics.geometric_mean(medians)
        summary[f"{tool}_wall_ratio"] = statistics.geometric_mean(walls)
        summary[f"{tool}_whole_comparison_wall_ratio"] = statistics.geometric_mean(whole)
        summary[f"{tool}_rows_better"] = sum(one < 1 for one in errors)
        summary[f"{tool}_rows_better_by_median"] = sum(one < 1 for one in medians)
        summary[f"{tool}_rows_quicker"] = sum(one < 1 for one in walls)
    return {"summary": summary, "table": table}


def background(shared: Mapping[str, Any]) -> Rows:
    """Times a pair of known ratio while others use the GPU: right, or no verdict."""
    chains, pairs = shared["chains"], shared["pairs"]
    referee = ouroboros.Referee(mode="decide")
    for load in ("compute", "contexts"):
        with busy(load):
            for number in range(LOAD_RUNS):
                pair = pairs[number % len(pairs)]
                yield lambda load=load, pair=pair: {
                    "load": load,
                    "truth": pair["truth"],
                    **timing_row(of_pair(referee, chains, pair)),
                }


@contextlib.contextmanager
def busy(load: str) -> Iterator[subprocess.Popen[str]]:
    """Yields a process that keeps the GPU busy, once it does."""
    process = subprocess.Popen(
        [sys.executable, HERE / "clock_load.py", load], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # It says so when it computes.
        yield process
    finally:
        process.kill()
        process.wait()


def say_background(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    decided = [row for row in rows if "ratio" in row and row["decision"] in ("faster", "slower")]
    wrong = [row for row in decided if (row["decision"] == "faster") != (row["truth"] > 1)]
    missed = [
        row for row in decided if not row["interval"][0] <= row["truth"] <= row["interval"][1]
    ]
    none = [row for row in rows if row["status"] == "infrastructure_error"]
    return {
        "summary": {
            "load_runs": len(rows),
            "load_wrong": len(wrong),
            "load_missed": len(missed),
            "load_infrastructure_error": len(none),
        }
    }


def verdicts(_: Mapping[str, Any]) -> Rows:
    """Judges kernels in full, with the gate: spread between processes, and what the clock costs."""
    for name in JUDGED:
        yield lambda name=name: judged(name)


def judged(name: str, traces: str = "") -> Row:
    """Returns the parts of a verdict that are the clock's."""
    kernels = HERE.parents[1] / "tests" / "gpu" / "kernels"
    path = next(kernels.glob(f"{name}__row*.py"), None) or next(kernels.glob(f"{name}__*.py"))
    referee = ouroboros.Referee(mode="decide", until="gate", dtypes=["float32"], traces=traces)
    problem = ouroboros.problems.load(name).with_timed_gpu([{"rows": 2048, "cols": 4096}])
    ouroboros.Referee(dtypes=["float32"]).judge(problem, path)  # Plans are stored now.
    whole = json.loads(referee.judge(problem, path).to_json())
    keys = ("status", "findings", "candidate", "problem", "timing", "gate", "provenance")
    return {key: whole[key] for key in keys}


def say_verdicts(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    gates = [row["gate"] for row in rows if row["gate"]["ran"]]
    clocks = [cell["gpu_ms"] for row in rows for cell in row["timing"]["cells"]]
    return {
        "summary": {
            "between_process_tau": max((gate["between_process_sd"] for gate in gates), default=0),
            "gates_run": len(gates),
            "verdict_clock_gpu_ms": max(clocks, default=0),
        }
    }


def gates_under_load(_: Mapping[str, Any]) -> Rows:
    """Judges kernels alone, then while somebody else computes beside some of the gate's processes.

    Beside the second one only, whose place another takes if it was disturbed; and from the second
    one on, where the gate has to be right all the same or say nothing.
    """
    for name in GATED:
        yield lambda name=name: {"kernel": name, "load": None, **judged(name)}
    for load, name, beside in itertools.product(("compute", "bursts"), GATED, ("second", "later")):
        yield lambda load=load, name=name, beside=beside: {
            "kernel": name,
            "load": load,
            "beside": beside,
            **judged_in_company(name, load, beside),
        }


def judged_in_company(name: str, load: str, beside: str) -> Row:
    """Returns a verdict in whose gate somebody computes beside the second process, or all later."""
    with busy(load) as process, tempfile.TemporaryDirectory() as traces:
        process.send_signal(signal.SIGSTOP)
        judging = threading.Event()

        def keep_company() -> None:
            computes = False
            while not judging.wait(0.001):
                ended = len(list(Path(traces).glob("gate*.json")))  # Each process leaves one.
                wanted = ended == 1 or (ended > 1 and beside == "later")
                if wanted != computes:
                    process.send_signal(signal.SIGCONT if wanted else signal.SIGSTOP)
                    computes = wanted

        company = threading.Thread(target=keep_company)
        company.start()
        try:
            return judged(name, traces)
        finally:
            judging.set()
            company.join()


def say_gates(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    """Wrong is who passes with an interval that has nothing in common with the one alone."""
    alone = {
        row["kernel"]: row["gate"]["speedup"]
        for row in rows
        if row["gate"]["ran"] and not row["load"]
    }
    beside = [row for row in rows if row["load"] and row["kernel"] in alone]
    wrong = [
        row
        for row in beside
        if row["gate"]["passed"] and not overlap(row["gate"]["speedup"], alone[row["kernel"]])
    ]
    return {
        "summary": {
            "gate_load_runs": len(beside),
            "gate_load_wrong": len(wrong),
            "gate_load_passed": sum(row["gate"]["passed"] for row in beside),
            "gate_load_replaced": sum(row["gate"]["runs_void"] > 0 for row in beside),
            "gate_load_infrastructure_error": sum(
                row["status"] == "infrastructure_error" for row in beside
            ),
        }
    }


def overlap(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two intervals have anything in common."""
    return one["low"] <= other["high"] and other["low"] <= one["high"]


@dataclass(frozen=True)
class Part:
    """Rows that are measured one by one, and what they say together."""

    rows: Callable[[Mapping[str, Any]], Rows]
    say: Callable[[Sequence[Row], Mapping[str, Any]], Row]


PARTS = {
    "launches": Part(launches, say_launches),
    "known": Part(known_ratios, say_known),
    "known_short": Part(known_ratios_short, say_known_short),
    "rivals": Part(rivals, say_rivals),
    "verdicts": Part(verdicts, say_verdicts),
    "aa": Part(same_against_same, say_same),
    "aa_short": Part(same_against_same_short, say_same_short),
    "aa_long": Part(same_against_same_long, say_same_long),
    "load": Part(background, say_background),
    "gate_load": Part(gates_under_load, say_gates),
    "memos": Part(memos, say_memos),
    "as_called": Part(as_called, say_as_called),
}


class Record:
    """The result file. It is written while rows come: a machine may go away half-way."""

    def __init__(self, path: Path, head: Row, earlier: Row) -> None:
        self.path = path
        self.document = {**earlier, **head, "summary": earlier.get("summary", {})}
        self.written = time.monotonic()

    def measure(self, name: str, shared: Mapping[str, Any]) -> bool:
        """Measures a part, but for the rows that an earlier run left. False when it broke."""
        part = PARTS[name]
        before = self.document.get(name, {})
        rows = list(before.get("rows", []))
        spent = before.get("wall_s", 0.0)
        started = time.monotonic()
        error = None
        try:
            for take in itertools.islice(part.rows(shared), len(rows), None):
                rows.append(take())
                if time.monotonic() - self.written > WRITTEN_EACH_S:
                    wall_s = round(spent + time.monotonic() - started, 2)
                    self.put(name, {"complete": False, "wall_s": wall_s, "rows": rows}, shared)
        except Exception:
            error = traceback.format_exc()[-4000:]
            print(error, flush=True)
        found = {
            "complete": error is None,
            **({"error": error} if error else {}),
            "wall_s": round(spent + time.monotonic() - started, 2),
            "rows": rows,
        }
        self.put(name, found, shared)
        print(f"{name}: {found['wall_s']} s", json.dumps(self.document["summary"]), flush=True)
        return error is None

    def put(self, name: str, found: Row, shared: Mapping[str, Any]) -> None:
        """Writes the file with these rows of a part."""
        said = PARTS[name].say(found["rows"], shared) if found["rows"] else {"summary": {}}
        self.document["summary"] |= said.pop("summary")
        self.document[name] = {**said, **found}
        new = self.path.with_suffix(".part")
        new.write_text(json.dumps(self.document, indent=1) + "\n")
        new.replace(self.path)
        self.written = time.monotonic()


def earlier_record(path: Path | None, head: Row) -> Row:
    """Returns what an earlier run of the same commit, on the same GPU, left. Exits for another."""
    if path is None or not path.exists():
        return {}
    earlier: Row = json.loads(path.read_text())
    if earlier["commit"] != head["commit"] or earlier["gpu"] != head["gpu"]:
        sys.exit(f"{path} is of another commit or GPU: leave --resume out")
    return earlier


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--commit", default="", help="what is measured")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument(
        "--own-times",
        type=Path,
        default=OWN_TIMES,
        help="own_times.cpp as a program, for the part launches",
    )
    parser.add_argument("--resume", type=Path, help="a clock.json of the same commit to go on from")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the runs: a look, no result"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    head = provenance(options.commit)
    earlier = earlier_record(options.resume, head)
    head["calibration"] = json.loads(ouroboros.Referee().calibrate(fresh=True).model_dump_json())
    chains = Chains()
    head["pairs"] = earlier.get("pairs") or pairs_of(chains)
    head["elements"] = ELEMENTS
    shared = {
        "chains": chains,
        "pairs": head["pairs"],
        "share": 10 if options.quick else 1,
        "own_times": options.own_times,
    }
    record = Record(options.out / "clock.json", head, earlier)
    whole = [record.measure(name, shared) for name in options.only.split(",")]
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
