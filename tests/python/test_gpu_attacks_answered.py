"""What a GPU would never have to see: every cheat of tests/gpu/attacks meets the real tracer, the
real compiler and the real audit, at sm_90.

`answered` in the table says which of them refuses it. What none of them refuses has a plan that
launches just what the table says, and is left to the interpreter, to replays, or to nobody.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch
from ouroboros import plan
from ouroboros._ouroboros import Tracer, probe_isolation
from ouroboros.referee import Stage
from ouroboros.trace.command import make_tracer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "gpu" / "attacks"
TABLE: list[dict[str, Any]] = tomllib.loads((FOLDER / "attacks.toml").read_text())["attack"]
ROWS = {row["name"]: row for row in TABLE}
REFUSED = ("trace", "compile", "audit")
PLANNED = ("interpreter", "replay", "construction")
# Every one takes the interpreter seconds, for which a machine with other work may need minutes.
PATIENT = (("compile_seconds", 300.0),)
HOLES = [row for row in TABLE if "hole" in row and row["language"] == "triton"]
TWINS = sorted({(row["problem"], row["twin"]) for row in TABLE})

Job = tuple[str, str, Stage, tuple[tuple[str, float], ...]]  # problem, file, last stage, limits


@functools.cache
def referee(until: Stage, limits: tuple[tuple[str, float], ...]) -> ouroboros.Referee:
    """One referee, and so one tracer, for all rows with the same options."""
    return ouroboros.Referee(
        until=until, target="sm_90", dtypes=["float32"], limits=dict(limits), seed=1
    )


def job_of(row: dict[str, Any]) -> Job:
    limits = tuple(row.get("limits", {}).items())
    return row["problem"], row["file"], row.get("until", "compile"), limits


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Iterator[dict[Job, Future[ouroboros.Verdict]]]:
    """Futures of the verdicts that the selected tests need, computed on all processors."""
    pytest.importorskip("triton")
    if missing := probe_isolation().missing:
        pytest.skip(f"hostile host code needs the whole sandbox: {'; '.join(missing)}")
    jobs = [
        item.callspec.params["job"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and "job" in getattr(getattr(item, "callspec", None), "params", {})
    ]

    def judge(job: Job) -> ouroboros.Verdict:
        problem, file, until, limits = job
        return referee(until, limits).judge(problem, FOLDER / file)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {job: pool.submit(judge, job) for job in dict.fromkeys(jobs)}
        yield futures
        for future in futures.values():
            future.cancel()
    referee.cache_clear()


def rows_answered(*stages: str) -> Any:
    rows = [row for row in TABLE if row["answered"] in stages]
    return pytest.mark.parametrize(
        ("row", "job"), [pytest.param(row, job_of(row), id=row["name"]) for row in rows]
    )


def said(verdict: ouroboros.Verdict) -> str:
    findings = [f"{finding.kind}: {finding.evidence}" for finding in verdict.findings]
    return "\n".join([str(verdict.status), verdict.summary, *findings, verdict.compilation.log])


def kinds(page: str, heading: str) -> set[str]:
    """The kinds of refusals that a page's table names."""
    text = (ROOT / "docs" / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return set(re.findall(r"`(\w+)`", "\n".join(lines)))


@rows_answered(*REFUSED)
def test_refused(
    row: dict[str, Any], job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]
) -> None:
    verdict = verdicts[job].result()
    expect = row["expect"]
    assert [str(verdict.status)] == expect["status"], said(verdict)
    first = verdict.findings[0]
    assert first.kind == expect["finding"], said(verdict)
    assert re.search(expect["evidence"], first.evidence), said(verdict)
    if row["answered"] == "audit":
        assert first.kind in kinds("plan.md", "The audit")
    if row["answered"] == "trace":
        limits = kinds("tracer.md", "What a caller sees")
        assert first.kind in kinds("dry-trace.md", "What is refused") | limits


@rows_answered(*PLANNED)
def test_planned(
    row: dict[str, Any], job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]
) -> None:
    verdict = verdicts[job].result()
    assert str(verdict.status) == "ok", said(verdict)
    assert not verdict.findings, said(verdict)
    # Those that betray themselves by zeros would launch no kernel.
    assert [kernel.function for kernel in verdict.compilation.kernels] == row["kernels"]


@pytest.mark.parametrize(
    ("row", "job"),
    [
        pytest.param(
            row,
            (row["problem"], row["file"], "sweep", PATIENT),
            id=row["name"],
            marks=pytest.mark.xfail(
                reason=row["hole"], strict=not row["hole"].startswith("by some seeds")
            ),
        )
        for row in HOLES
    ],
)
def test_holes(
    row: dict[str, Any], job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]
) -> None:
    if torch.cuda.is_available() and row["hole"].startswith("without a GPU"):
        pytest.skip("there is a GPU")
    verdict = verdicts[job].result()
    assert str(verdict.status) in row["expect"]["status"], said(verdict)


# Host code that tells the trace from what comes after it, or that lies to the trace.
SWEPT = (
    "lying_dry_trace",
    "interpreter_by_knob",
    "recorder_through_decoy",
    "forged_sources",
    "bundled_cubin",
    "wrong_second_variant",
    "device_assertion",
    "clamped_inputs",
    "wrong_at_named_extents",
)


@pytest.mark.parametrize(
    ("row", "job"),
    [
        pytest.param(ROWS[name], (ROWS[name]["problem"], ROWS[name]["file"], "sweep", PATIENT))
        for name in SWEPT
    ],
    ids=SWEPT,
)
def test_refused_without_a_gpu(
    row: dict[str, Any], job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]
) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    verdict = verdicts[job].result()
    assert str(verdict.status) in row["expect"]["status"], said(verdict)
    assert verdict.isolation.level == "interpreted"


@pytest.mark.parametrize(
    ("job",),
    [pytest.param((problem, file, "compile", ()), id=file) for problem, file in TWINS],
)
def test_twin_is_planned(job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]) -> None:
    verdict = verdicts[job].result()
    assert str(verdict.status) == "ok", said(verdict)
    assert not verdict.findings, said(verdict)
    assert verdict.compilation.kernels


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    made = make_tracer(ouroboros.Limits(), "sm_90")
    if made is None:
        pytest.skip("Triton is not installed")
    return made


def trace(tracer: Tracer, name: str, shapes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    row = ROWS[name]
    return tracer.trace(
        (FOLDER / row["file"]).read_bytes(),
        target="sm_90",
        signatures=[[("x", "float32", list(shape))] for shape in shapes],
        outputs=["out"],
        name=row["file"],
    )


def audited(result: dict[str, Any], shape: tuple[int, int]) -> list[str]:
    """The kinds of the audit's reasons against all variants, with the rules of softmax."""
    assert result["refusal"] is None, result["refusal"]
    tensor = ("float32", shape, torch.empty(shape).stride())
    return [
        refusal.kind
        for variant in result["variants"]
        for refusal in plan.LaunchPlan.from_bytes(variant).audit(
            inputs=[tensor], outputs=[tensor], library_kernels=False
        )
    ]


SHAPES = [(6, 17), (3, 1025), (6, 17), (6, 17)]


@pytest.mark.parametrize("name", ["memo_by_pointer", "memo_by_shape", "slow_first_calls"])
def test_what_earlier_calls_left_is_in_no_plan(name: str, tracer: Tracer) -> None:
    results = trace(tracer, name, SHAPES)
    assert [audited(*one) for one in zip(results, SHAPES, strict=True)] == [[]] * len(SHAPES)
    first, other, *again = [result["variants"] for result in results]
    assert again == [first] * 2
    assert first != other


def test_a_call_too_many_launches_nothing(tracer: Tracer) -> None:
    *three, last = zip(trace(tracer, "call_count_branch", SHAPES), SHAPES, strict=True)
    assert [audited(*one) for one in three] == [[]] * 3
    assert set(audited(*last)) == {"no_launch", "output_unreferenced"}


def test_configurations_that_launch_the_same_are_one_variant(tracer: Tracer) -> None:
    (result,) = trace(tracer, "autotune_flood", SHAPES[:1])
    assert audited(result, SHAPES[0]) == []
    assert len(result["variants"]) == 1
    (twin,) = tracer.trace(
        (FOLDER / ROWS["autotune_flood"]["twin"]).read_bytes(),
        target="sm_90",
        signatures=[[("x", "float32", list(SHAPES[0]))]],
        outputs=["out"],
    )
    assert len(twin["variants"]) > 1
    verdict = referee("compile", ()).judge("softmax", FOLDER / "autotune_flood.py")
    assert len(verdict.compilation.variants) == 1
    assert "TAG=15 num_warps=4 num_stages=3 launches what an earlier one does" in said(verdict)
    assert "only the first 16 configurations were traced" in said(verdict)


def test_stages_agree_with_what_is_expected() -> None:
    for row in TABLE:
        name, answered, expect = row["name"], row["answered"], row["expect"]
        assert answered in REFUSED + PLANNED, name
        assert ("kernels" in row) == (answered in PLANNED), name
        if answered in REFUSED:
            assert len(expect["status"]) == 1 and expect["finding"] and expect["evidence"], name
        if answered == "interpreter":
            assert row["interpreted"] not in ("", "skip", "right"), name
            assert "ok" not in expect["status"], name
        if answered == "replay":
            assert row["interpreted"] in ("", "skip", "right"), name
        assert (expect["status"] == ["ok"]) == (answered == "construction"), name


def test_the_table_in_the_documentation_is_this_one() -> None:
    script = ROOT / "scripts" / "attack_table.py"
    subprocess.run([sys.executable, script, "--check"], check=True)
