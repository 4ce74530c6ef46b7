"""Live traces on a GPU: what is captured is replayed elsewhere and gives the same bits.

One process traces, another one, without PyTorch, replays at other addresses. The figures go to the
file that OUROBOROS_LIVE_TRACE_COUNTS names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
sys.path.append(str(HERE))
KINDS = ("eager", "compile", "max-autotune")
LIMIT_SECONDS = 300

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]

# Calls that make no plan, and why.
REFUSED = {
    "item": "synchronises",
    "random": "random",
    "dropout": "random",
    "unjoined": "unjoined_stream",
    "host_callback": "host_callback",
    "host_copy": "host_copy",
    "alias": "output_aliases_input",
    "view": "output_is_view",
    "kept": "output_is_kept",
    "changing": "not_repeatable",
    "wrong_count": "outputs",
    "short_output": "outputs",
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}
    for script, arguments in (("live_tracer.py", KINDS), ("live_replay.py", ())):
        done = subprocess.run(
            [sys.executable, str(HERE / script), str(folder), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    index = json.loads((folder / "index.json").read_text())
    replayed = json.loads((folder / "replayed.json").read_text())
    baselines = [one["name"] for one in index["cases"] if one["name"].startswith("baseline/")]
    figures = {
        **index["figures"],
        "baseline_plans_total": len(baselines),
        "baseline_plans_equal": sum(
            replayed.get(name, {}).get("equal", False) for name in baselines
        ),
    }
    if path := os.environ.get("OUROBOROS_LIVE_TRACE_COUNTS"):
        Path(path).write_text(json.dumps(figures, indent=1) + "\n")
    return folder, {one["name"]: one for one in index["cases"]}, replayed


def document_of(folder, name):
    from live_replay import plan_file

    return plan_file.read_plan((folder / name / "plan").read_bytes())[0]


@pytest.mark.parametrize("kind", KINDS)
def test_baselines_of_every_problem_replay_to_the_same_bits(traced, kind):
    import live_references

    folder, cases, replayed = traced
    names = [f"baseline/{kind}/{name}" for name in live_references.REFERENCES]
    assert {name: replayed.get(name, cases.get(name)) for name in names} == {
        name: {"equal": True, "equal_again": True} for name in names
    }
    for name in names:
        document = document_of(folder, name)
        assert document["launches"]
        assert {one["origin"] for one in document["modules"]} == {"library"}
        assert not any(one["role"] == "state" for one in document["buffers"])


def test_second_shapes_and_dtypes_replay_too(traced):
    _, cases, replayed = traced
    names = [name for name in cases if name.endswith("/second")]
    assert len(names) == 12
    assert all(replayed[name] == {"equal": True, "equal_again": True} for name in names)


def test_libraries_are_traced(traced):
    folder, _, replayed = traced
    for name in ("matmul", "matmul_fp32", "scaled_dot_product_attention"):
        assert replayed[f"extra/eager/{name}"]["equal"], name
    kernels = [
        one
        for one in document_of(folder, "extra/eager/matmul")["launches"]
        if one["kind"] == "kernel"
    ]
    if torch.cuda.get_device_capability() == (9, 0):
        # Hopper's library kernels die without their clusters.
        assert any(one["cluster"] != [1, 1, 1] for one in kernels)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_a_plan_is_refused_by_name(traced, name):
    assert traced[1][f"course/{name}"].get("refusal") == REFUSED[name]


def test_streams_that_join_and_weights_from_before_are_no_obstacle(traced):
    folder, _, replayed = traced
    assert replayed["course/joined"]["equal"]
    assert replayed["course/weight"]["equal"]
    roles = [one["role"] for one in document_of(folder, "course/weight")["buffers"]]
    assert roles == ["input", "output", "state"]


@pytest.mark.parametrize("name", ["triton", "descriptor"])
def test_a_candidate_s_source_is_traced_as_its_own(traced, name):
    folder, cases, replayed = traced
    assert replayed[f"source/{name}"]["equal"], cases[f"source/{name}"]
    document = document_of(folder, f"source/{name}")
    assert [one["origin"] for one in document["modules"]] == ["candidate"]
    if name == "triton":
        assert "tracing" in cases["source/triton"]["log"]
