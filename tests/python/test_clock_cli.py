"""The clock from Python and the command line, as far as a machine without a GPU goes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import ouroboros
import pytest
import typer
from ouroboros import render
from ouroboros.cli_clock import parse_cell
from ouroboros.verdict import Calibration, Interval
from rich.console import Console

KERNEL = Path(__file__).parents[1] / "gpu" / "kernels" / "softmax__warp.cu"
HOST = Path(__file__).parents[2] / "examples" / "kernels" / "softmax.cpp"
RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "h200" / "clock.json"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ouroboros.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "OUROBOROS_LIBCUDA": "/nonexistent/libcuda.so.1"},
    )


def calibration() -> Calibration:
    interval = {"estimate": 2.0, "low": 1.9, "high": 2.1}
    return Calibration.model_validate_json(
        json.dumps(
            {
                "device": "A GPU",
                "driver_version": "CUDA 13.0",
                "measured_at": "2026-01-02T03:04:05Z",
                "tick_ns": 32.0,
                "launch_us": {"stream": interval},
                "gap_us": {"gate": interval},
                "empty_us": {"stream": interval},
                "flush_us": interval,
                "flush_bytes": 100 << 20,
                "flush_sizes": [{"bytes": 50 << 20, "read_us": interval}],
                "dirty_copy_us": interval,
                "clean_copy_us": interval,
                "hot_copy_us": interval,
                "globaltimer_step_ns": 32.0,
                "peak_gbps": 0.0,
                "copy_curve": [
                    {"reads": 1, "writes": 1, "bytes": 1 << 20, "gbps": interval},
                    {"reads": 1, "writes": 0, "bytes": (4 << 20) + 512, "gbps": interval},
                ],
                "aa_speedup": interval,
                "notes": ["there is no [bold]peak[/bold] bandwidth"],
            }
        )
    )


def test_cells_are_axes_with_sizes() -> None:
    assert parse_cell("rows=8192, cols=4096") == {"rows": 8192, "cols": 4096}
    for wrong in ("rows", "rows=", "rows=x", "=3", "rows=1,,cols=2", "rows=-1"):
        with pytest.raises(typer.BadParameter):
            parse_cell(wrong)


def test_without_a_gpu_there_is_nothing_to_calibrate_or_to_compare() -> None:
    for arguments in (("calibrate",), ("bench", KERNEL, KERNEL, "-p", "softmax")):
        done = run(*arguments)
        assert done.returncode == 3, done.stdout
        assert "unsupported" in done.stderr
        assert "GPU" in done.stderr


def test_host_candidates_are_compared_without_a_gpu(tmp_path: Path) -> None:
    done = run(
        *("bench", HOST, HOST, "-p", "softmax", "--shapes", "rows=8,cols=64"),
        *("--mode", "screen", "--json", "-", "--out", tmp_path / "page.html"),
    )
    assert done.returncode == 0, done.stderr
    verdict = ouroboros.Verdict.from_json(done.stdout)
    (cell,) = verdict.timing.cells
    assert cell.axes == {"rows": 8, "cols": 64}
    assert [one.status for one in cell.baselines] == ["timed"]
    assert "softmax" in (tmp_path / "page.html").read_text()


def test_misuse_is_told_from_a_machine_without_a_gpu(tmp_path: Path) -> None:
    done = run("bench", KERNEL, KERNEL, "-p", "softmax", "--mode", "quick")
    assert done.returncode == 2
    missing = tmp_path / ("long" * 30) / "none.plan"
    done = run("bench", missing, KERNEL, "-p", "softmax")
    assert done.returncode == 2
    assert str(missing) in done.stderr
    done = run("bench", KERNEL, KERNEL, "-p", "softmax", "--shapes", "depth=4")
    assert done.returncode == 2
    assert "depth" in done.stderr


def test_a_problem_takes_other_cells() -> None:
    problem = ouroboros.problems.load("softmax").with_timed_gpu([{"rows": 3, "cols": 5}])
    assert problem.timed_gpu == [{"rows": 3, "cols": 5}]
    assert problem.timed == ouroboros.problems.load("softmax").timed
    with pytest.raises(ouroboros.InvalidArgumentError):
        problem.with_timed_gpu([{"rows": 3}])


def test_a_calibration_is_shown_with_every_figure() -> None:
    out = io.StringIO()
    Console(file=out, width=120).print(render.calibration_view(calibration()))
    text = out.getvalue()
    for figure in ("32 ns", "launch, stream", "gap, gate", "100 MiB", "1 : 1", "4 MiB", "unknown"):
        assert figure in text
    assert "[bold]peak[/bold]" in text  # Notes are no markup.


def test_the_least_claim_is_twice_as_far_from_one_as_a_copy_is_from_itself() -> None:
    same = {"estimate": 1.0, "low": 0.9985, "high": 1.001}
    measured = calibration().model_copy(
        update={"aa_speedup": Interval.model_validate(same)},
    )
    assert measured.least_claim == pytest.approx(1.003)
    out = io.StringIO()
    Console(file=out, width=120).print(render.calibration_view(measured))
    assert "1.003" in out.getvalue()


@pytest.mark.skipif(not RESULT.exists(), reason="no result of this benchmark is committed")
def test_the_committed_calibration_is_one() -> None:
    found = Calibration.model_validate_json(
        json.dumps(json.loads(RESULT.read_text())["calibration"])
    )
    assert found.tick_ns > 0
    assert {point.reads for point in found.copy_curve} >= {0, 1, 2, 3}
