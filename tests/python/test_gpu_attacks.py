"""The table of cheats in tests/gpu/attacks is sound, and the interpreter says of them what it can.

test_gpu_attacks_answered.py has what the tracer, the compiler and the audit say.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "gpu" / "attacks"
TABLE: list[dict[str, Any]] = tomllib.loads((FOLDER / "attacks.toml").read_text())["attack"]
LANGUAGES = {".py": "triton", ".cu": "cuda", ".ptx": "ptx"}
KEYS = {"name", "file", "twin", "language", "problem", "rows", "tries", "expect", "answered"}
OPTIONAL_KEYS = {"origin", "on_gpu", "kernels", "until", "interpreted", "variant", "limits", "hole"}
STATUSES = {"ok", "compile_error", "runtime_error", "incorrect", "rejected", "timeout"}
REFUSALS = {"exception", "out_of_bounds", "input_written", "race", "other_image", "unsupported"}
INTERPRETED = [row for row in TABLE if row["interpreted"] not in ("", "skip")]

# Three, since one cheat stops working at its fourth call. The second has a large mean.
SHAPES = [(6, 17), (3, 1025), (2, 40)]


def draw(problem: ouroboros.Problem, which: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(which)
    sizes = dict(zip([axis.name for axis in problem.axes], SHAPES[which], strict=True))
    inputs = []
    for one in problem.inputs:
        x = torch.randn([sizes[str(extent)] for extent in one.shape], generator=generator)
        inputs.append(x + 256 if which == 1 and not one.parameter else x)
    return inputs


def is_right(problem: ouroboros.Problem, which: int, result: dict[str, Any]) -> bool:
    truths = problem.reference(*(x.double() for x in draw(problem, which)))
    truths = truths if isinstance(truths, (tuple, list)) else (truths,)
    for output, truth in zip(result["outputs"], truths, strict=True):
        if output["dtype"] != "float32" or output["shape"] != list(truth.shape):
            return False
        got = torch.frombuffer(bytearray(output["bytes"]), dtype=torch.float32).view(truth.shape)
        # Loose enough for a mean of 256, tight enough for every short-cut here.
        if not torch.allclose(got.double(), truth, rtol=2e-6, atol=2e-4 * truth.abs().max()):
            return False
        if not torch.allclose(got.double()[0], truth[0], rtol=1e-5, atol=1e-6) and which == 0:
            return False
    return True


@pytest.mark.parametrize("row", INTERPRETED, ids=lambda row: row["name"])
def test_interpreter_says(row: dict[str, Any], interpret: Any) -> None:
    problem = ouroboros.problems.get(row["problem"])
    names = [one.name for one in problem.inputs]
    signatures = [
        list(zip(names, draw(problem, which), strict=True)) for which in range(len(SHAPES))
    ]
    source = (FOLDER / row["file"]).read_text()
    variant = row.get("variant", 0)
    said = set()
    # A short-cut may be harmless on one shape: it is enough to be seen on another. Poison is zero
    # now and then, or next to it: it is enough to be seen with another.
    for _ in range(4):
        results = interpret(source, signatures, problem.outputs, name=row["name"], variant=variant)
        for which, result in enumerate(results):
            if result["refusal"] is not None:
                said.add(result["refusal"]["kind"])
            else:
                said.add("right" if is_right(problem, which, result) else "wrong")
        if row["interpreted"] in said:
            break
    assert row["interpreted"] in said, (said, results[0]["refusal"])
    if row["interpreted"] == "right":
        assert said == {"right"}


def test_every_file_is_in_the_table() -> None:
    listed = {row["file"] for row in TABLE}
    listed |= {row["twin"] for row in TABLE if "/" not in row["twin"]}
    assert listed == {path.name for path in FOLDER.iterdir() if path.suffix in LANGUAGES}


def test_table_is_sound() -> None:
    assert len({row["name"] for row in TABLE}) == len(TABLE) >= 34
    for row in TABLE:
        assert Path(row["file"]).stem == row["name"]
        assert row["language"] == LANGUAGES[Path(row["file"]).suffix]
        assert set(row) >= KEYS and set(row) <= KEYS | OPTIONAL_KEYS, row["name"]
        assert row["problem"] in ouroboros.problems.names(), row["name"]
        # An attack of our own stands for no row of the catalogue, and says so.
        assert row.get("origin", "catalogue") == ("catalogue" if row["rows"] else "own"), row[
            "name"
        ]
        assert row["expect"]["status"], row["name"]
        assert set(row["expect"]["status"]) <= STATUSES, row["name"]
        assert row["interpreted"] in {"", "skip", "right", "wrong"} | REFUSALS, row["name"]
        re.compile(row["expect"]["evidence"])


def test_twins_are_honest_kernels_of_the_problem() -> None:
    for row in TABLE:
        twin = FOLDER / row["twin"]
        assert twin.is_file(), row["name"]
        assert twin.suffix == Path(row["file"]).suffix, row["name"]
        if "/" in row["twin"]:
            assert twin.name.startswith(f"{row['problem']}__"), row["name"]


def test_headers_name_the_rows() -> None:
    for row in TABLE:
        text = (FOLDER / row["file"]).read_text()
        mark = '"""' if row["language"] == "triton" else "// "
        assert text.startswith(f"{mark}Attack: {row['name']}\n"), row["name"]
        for part in ("Tries", "Gains", "Answer"):
            assert f"{part}: " in text, row["name"]
        threats = ", ".join(row["rows"]) or "none of the catalogue"
        assert f"Threats: {threats}\n" in text, row["name"]


def test_every_threat_has_an_attack() -> None:
    threats = tomllib.loads((TESTS / "attacks" / "threats.toml").read_text())["threats"]
    assert len(threats) == 127
    host = tomllib.loads((TESTS / "attacks" / "attacks.toml").read_text())["attack"]
    stood_for = {name for row in [*host, *TABLE] for name in row["rows"]}
    assert stood_for == set(threats)
