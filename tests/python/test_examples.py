"""The examples run, and say what they should. (examples/*.cpp run as tests of CTest.)"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

# What a script prints, whatever the machine.
SAYS = {"judge_softmax.py": ["ok: softmax.cpp for softmax", "wrong_values", "reward: 0.0"]}

# Runs the code cells of a notebook as Jupyter does, one namespace for all, and writes what each
# last expression shows itself as. So the test needs no kernel, no server and no further package.
RUNNER = """
import ast, json, sys

cells = [
    "".join(cell["source"])
    for cell in json.load(open(sys.argv[1]))["cells"]
    if cell["cell_type"] == "code"
]
namespace = {"__name__": "__main__"}
shown = []
for number, cell in enumerate(cells, 1):
    tree = ast.parse(cell, f"cell {number}")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), namespace)
    value = None
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    html = getattr(value, "_repr_html_", None)
    shown.append(html() if html else None if value is None else repr(value))
json.dump(shown, open(sys.argv[2], "w"))
"""


def run(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_examples() -> None:
    assert SCRIPTS and NOTEBOOKS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script(script: Path) -> None:
    output = run(script)
    for text in SAYS[script.name]:
        assert text in output


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook(notebook: Path, tmp_path: Path) -> None:
    output = run("-c", RUNNER, notebook, tmp_path / "shown.json")
    shown = [text for text in json.loads((tmp_path / "shown.json").read_text()) if text]
    tables = [text for text in shown if "<table>" in text]
    assert len(tables) == 2
    assert ">ok</span>" in tables[0]
    assert ">rejected</span>" in tables[1] and "forbidden_syscall" in tables[1]
    assert "-1.0" in shown
    assert output.count("\n") > 5  # explain() and feedback()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_shows_what_its_cells_give(notebook: Path) -> None:
    """What is committed came from running all cells in order, and is free of machine paths."""
    record = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in record["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
    assert any("text/html" in o.get("data", {}) for cell in code for o in cell["outputs"])
    assert "/tmp" not in notebook.read_text() and "/home" not in notebook.read_text()
