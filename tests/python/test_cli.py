"""The command line: what it prints, what it writes and how it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import ouroboros
import pytest
from ouroboros import render
from ouroboros.selftest import AttackResult, load_gpu_attacks, packaged_folder
from rich.console import Console

KERNEL = packaged_folder("kernels") / "softmax.cpp"
CHEAT = packaged_folder("attacks") / "forged_verdict.cpp"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ouroboros.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record") / "verdict.json"
    done = run("judge", KERNEL, "--problem", "softmax", "--until", "sweep", "--seed", "0x2a",
               "--dtype", "float32", "--json", path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout and "cases" in done.stdout
    return path


def test_version() -> None:
    done = run("--version")
    assert done.stdout.strip() == f"ouroboros {ouroboros.__version__}"


def test_a_verdict_is_written(record: Path) -> None:
    verdict = ouroboros.Verdict.from_json(record.read_text())
    assert verdict.status is ouroboros.Status.ok
    assert verdict.provenance.seed == "0x000000000000002a"
    assert verdict.correctness.dtypes == ("float32",)


def test_json_on_standard_output_is_json_alone() -> None:
    done = run("judge", KERNEL, "-p", "softmax", "--until", "compile", "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "ok"


def test_a_cheat_is_shown_and_exits_with_1() -> None:
    done = run("judge", CHEAT, "-p", "softmax", "--until", "sweep")
    assert done.returncode == 1
    assert "REJECTED" in done.stdout
    assert "forbidden_syscall" in done.stdout


def test_feedback_is_printed_on_request() -> None:
    done = run("judge", CHEAT, "-p", "softmax", "--until", "sweep", "--json", "-", "--feedback")
    text = ouroboros.Verdict.from_json(done.stdout).feedback()
    done = run("judge", CHEAT, "-p", "softmax", "--until", "sweep", "--feedback")
    assert text.split()[0] in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("judge", "none.cpp", "-p", "softmax"), "does not exist"),
        (("judge", KERNEL, "-p", "softmin"), "softmax"),
        (("judge", KERNEL), "--problem"),
        (("judge", KERNEL, "-p", "softmax", "--seed", "many"), "many"),
        (("judge", KERNEL, "-p", "softmax", "--seed", 2**64), "64 bits"),
        (("judge", KERNEL, "-p", "softmax", "--dtype", "int3"), "int3"),
        (("replay", "none.json"), "none.json"),
        (("selftest", "--only", "nothing"), "nothing"),
        (("frobnicate",), "frobnicate"),
    ],
)
def test_misuse_exits_with_2(arguments: tuple[object, ...], text: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_an_invalid_problem_exits_with_3(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "import ouroboros\n\n\n"
        '@ouroboros.problem(inputs={"x": "rows cols"})\n'
        "def broken(x):\n"
        '    raise ValueError("no")\n'
    )
    done = run("judge", KERNEL, "-p", file, "--until", "sweep")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "invalid_problem" in done.stdout


def test_a_replay_reproduces(record: Path) -> None:
    done = run("replay", record, "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["reproduced"] is True
    assert outcome["cases_same"] == outcome["cases_total"] > 5


def test_a_replay_notices_a_forged_record(record: Path, tmp_path: Path) -> None:
    forged = json.loads(record.read_text())
    forged["correctness"]["cases"][3]["max_abs_error"] *= 0.5
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(forged))
    done = run("replay", path, "--json")
    assert done.returncode == 1
    (difference,) = json.loads(done.stdout)["differences"]
    assert difference.startswith("case 3: the largest error was")


def test_a_replay_refuses_another_source(record: Path) -> None:
    done = run("replay", record, "--source", CHEAT)
    assert done.returncode == 2
    assert "SHA-256" in done.stderr


def test_a_replay_of_an_inline_problem_asks_for_it(record: Path, tmp_path: Path) -> None:
    inline = json.loads(record.read_text())
    inline["problem_origin"] = "inline"
    path = tmp_path / "inline.json"
    path.write_text(json.dumps(inline))
    done = run("replay", path)
    assert done.returncode == 2
    assert "--problem" in done.stderr
    assert run("replay", path, "--problem", "softmax").returncode == 0


def test_problems_are_listed_and_shown() -> None:
    listed = run("problems")
    assert listed.returncode == 0
    for name in ouroboros.problems.names():
        assert name in listed.stdout
    assert "x[i]" in listed.stdout, "brackets of a description are no markup"
    shown = run("problems", "show", "softmax", "--json")
    problem = ouroboros.problems.get("softmax")
    assert json.loads(shown.stdout)["prototypes"] == problem.prototypes()
    assert "run_float32" in run("problems", "show", "softmax").stdout


def test_the_schema_holds_for_a_verdict(record: Path) -> None:
    schema = json.loads(run("schema").stdout)
    jsonschema.validate(json.loads(record.read_text()), schema)


def test_the_selftest_prints_the_wall() -> None:
    done = run("selftest", "--only", "forged_verdict", "--only", "zero_output")
    assert done.returncode == 0, done.stdout
    assert "2 of 2 attacks as expected, 2 of 2 honest twins accepted" in done.stdout
    done = run("selftest", "--only", "forged_verdict", "--json", "-")
    (result,) = json.loads(done.stdout)
    assert result["passed"] and result["status"] == "rejected" and result["twin_status"] == "ok"


def test_the_selftest_of_gpu_candidates_prints_their_wall() -> None:
    pytest.importorskip("triton")
    done = run("selftest", "--gpu", "--only", "side_stream", "--only", "include_file")
    assert done.returncode == 0, done.stdout
    assert "2 of 2 attacks as expected, 2 of 2 honest twins accepted" in done.stdout
    assert "torch.cuda.Stream" in done.stdout


def test_an_attack_through_a_known_hole_is_called_one(record: Path) -> None:
    accepted = ouroboros.Verdict.from_json(record.read_text())
    named = {attack.name: attack for attack in load_gpu_attacks(on_gpu=True)}
    held = AttackResult(named["zero_output"], accepted, accepted)
    through = AttackResult(named["tf32_sum_when_long"], accepted, accepted)
    assert not held.is_known_hole and through.is_known_hole
    assert not held.passed and not through.passed
    console = Console(record=True, width=200)
    console.print(render.wall([held, through]))
    told = console.export_text()
    assert "FAILED" in told and "hole" in told and "accepted through known holes" in told


def test_without_a_gpu_attacks_that_need_one_are_left_out() -> None:
    everything = load_gpu_attacks(on_gpu=True)
    here = load_gpu_attacks(on_gpu=False)
    assert 0 < len(here) < len(everything)
    assert {attack.name for attack in here} < {attack.name for attack in everything}
    assert {attack.target for attack in here} == {"sm_90"}
    assert {attack.until for attack in everything} == {"sweep"}
    assert all(attack.file.exists() and attack.twin.exists() for attack in everything)
