"""Launch plans in Python and on the command line."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import ouroboros
import pytest
from ouroboros import plan as plans

ROOT = Path(__file__).resolve().parents[2]
CUBIN = (ROOT / "tests/data/cubin/cuda13_sm_90.cubin").read_bytes()

TENSOR = {"bytes": 1024, "dtype": "float32", "shape": [16, 16], "strides": [16, 1]}
DOCUMENT: dict[str, Any] = {
    "origin": "specification",
    "language": "cuda",
    "target": "sm_90",
    "variant": "",
    "buffers": [
        {"name": "x", "role": "input", **TENSOR},
        {"name": "out", "role": "output", **TENSOR},
    ],
    "modules": [{"origin": "candidate", "image": 0}],
    "launches": [
        {"kind": "memset", "buffer": 1, "offset": 0, "value": 0, "width": 4, "count": 256},
        {
            "kind": "kernel",
            "module": 0,
            "function": "scale",
            "grid": [1, 1, 1],
            "block": [256, 1, 1],
            "cluster": [1, 1, 1],
            "shared_bytes": 64,
            "cooperative": False,
            "parameters": "00" * 16 + "0000803f" + "00010000",
            "fields": [[0, 8], [8, 8], [16, 4], [20, 4]],
            "pointers": [
                {"at": 0, "buffer": 1, "offset": 0},
                {"at": 8, "buffer": 0, "offset": 16},
            ],
            "tensor_maps": [],
        },
    ],
}


def sealed(document: dict[str, Any], image: bytes = CUBIN) -> bytes:
    """Makes a plan file as docs/plan.md describes it."""
    sha256 = hashlib.sha256(image).hexdigest()
    whole = {**document, "images": [{"bytes": len(image), "sha256": sha256}]}
    text = json.dumps(whole).encode()
    digest = hashlib.sha256(text + image).digest()
    header = b"OUROPLAN" + struct.pack("<IIQ", 1, len(text), len(image)) + digest
    return header + text + image


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ouroboros.cli", "plan", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={"COLUMNS": "160", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.plan"
    path.write_bytes(sealed(DOCUMENT))
    return path


def test_a_plan_made_elsewhere_is_read_and_written_in_one_form(file: Path) -> None:
    plan = plans.load(file)
    found = plan.document()
    assert {key: found[key] for key in DOCUMENT} == DOCUMENT
    assert plan.image(0) == CUBIN
    with pytest.raises(IndexError):
        plan.image(1)
    again = plans.LaunchPlan.from_bytes(plan.to_bytes())
    assert again.to_bytes() == plan.to_bytes()


def test_what_is_wrong_with_a_file_is_said() -> None:
    with pytest.raises(ouroboros.InvalidArgumentError, match="fewer than its header"):
        plans.LaunchPlan.from_bytes(b"OUROPLAN")
    document = copy.deepcopy(DOCUMENT)
    document["launches"][1]["pointers"][0]["at"] = 4
    with pytest.raises(ouroboros.InvalidArgumentError, match=r"launches\[1\].pointers\[0\].at"):
        plans.LaunchPlan.from_bytes(sealed(document))
    with pytest.raises(ouroboros.NotFoundError):
        plans.load("/nonexistent/plan")


def test_the_audit_measures_against_a_signature() -> None:
    plan = plans.LaunchPlan.from_bytes(sealed(DOCUMENT))
    assert plan.audit() == []
    tensor = ("float32", [16, 16], [16, 1])
    assert plan.audit(inputs=[tensor], outputs=[tensor]) == []
    refusals = plan.audit(inputs=[tensor], outputs=[("float16", [16, 16], [16, 1])], launches=1)
    assert [one.kind for one in refusals] == ["output_dtype", "too_many_launches"]
    assert "out" in refusals[0].evidence


def test_modules_say_what_their_kernels_use() -> None:
    (module,) = plans.modules(plans.LaunchPlan.from_bytes(sealed(DOCUMENT)))
    assert module.target == "sm_90"
    scale = module.kernel("scale")
    assert scale is not None
    assert (scale.registers, scale.stack_bytes, scale.shared_bytes) == (10, 0, 1024)
    assert scale.parameters == [(0, 8), (8, 8), (16, 4), (20, 4)]
    assert module.kernel("scal") is None
    (fake,) = plans.modules(plans.LaunchPlan.from_bytes(sealed(DOCUMENT, b"no cubin")))
    assert fake.target is None and fake.kernels == ()


def test_show(file: Path) -> None:
    done = run("show", file)
    assert done.returncode == 0, done.stderr
    for part in ("cuda for sm_90, specification", "scale", "256 x 1 x 1", "1088", "out, x+16"):
        assert part in done.stdout
    described = json.loads(run("show", file, "--json").stdout)
    assert described["launches"] == DOCUMENT["launches"]
    assert {kernel["function"] for kernel in described["modules"][0]["kernels"]} >= {"scale"}


def test_audit_exits_with_1_on_refusals(file: Path, tmp_path: Path) -> None:
    assert run("audit", file).returncode == 0
    done = run("audit", file, "--launches", 1, "--json")
    assert done.returncode == 1
    assert [one["kind"] for one in json.loads(done.stdout)] == ["too_many_launches"]
    bad = tmp_path / "bad.plan"
    bad.write_bytes(sealed(DOCUMENT, b"no cubin"))
    done = run("audit", bad)
    assert done.returncode == 1
    assert "not_a_cubin" in done.stdout
    bad.write_bytes(b"no plan")
    done = run("audit", bad)
    assert done.returncode == 2
    assert "invalid_argument" in done.stderr


def test_diff_shows_the_fields_that_differ(file: Path, tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["launches"][1]["grid"][0] = 2
    del document["launches"][0]
    document["launches"].append(DOCUMENT["launches"][0])
    other = tmp_path / "other.plan"
    other.write_bytes(sealed(document))
    assert run("diff", file, file).stdout.strip() == "the same"
    found = {one["path"]: one for one in json.loads(run("diff", file, other, "--json").stdout)}
    assert found["launches[0].kind"] == {
        "path": "launches[0].kind",
        "first": "memset",
        "second": "kernel",
    }
    assert found["launches[0].value"]["second"] is None
    assert "launches[0].grid" in run("diff", file, other).stdout


def test_cubins_of_triton_are_read(tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget

    source = """
module {
  tt.func public @copy(%out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %n: i32) {
    %value = tt.load %x : !tt.ptr<f32>
    tt.store %out, %value : !tt.ptr<f32>
    tt.return
  }
}
"""
    path = tmp_path / "copy.ttir"
    path.write_text(source)
    for capability, target in ((80, "sm_80"), (90, "sm_90a")):
        compiled = triton.compile(str(path), target=GPUTarget("cuda", capability, 32))
        cubin = compiled.asm["cubin"]
        assert plans.cubin_target(cubin) == target
        (kernel,) = plans.kernel_resources(cubin)
        assert kernel.function == "copy"
        # Two pointers to scratch follow the parameters of the source.
        assert kernel.parameters == [(0, 8), (8, 8), (16, 4), (24, 8), (32, 8)]
        assert kernel.parameter_bytes == 40
