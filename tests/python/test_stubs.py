"""The stubs of the compiled module are those that its own signatures give."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ouroboros import _ouroboros

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "python" / "ouroboros" / "_ouroboros.pyi"


@pytest.mark.skipif(
    importlib.util.find_spec("pybind11_stubgen") is None, reason="pybind11-stubgen is missing"
)
def test_regenerated_stubs_are_the_committed_ones(tmp_path: Path) -> None:
    venv = Path(sys.executable).parent.parent
    subprocess.run(
        [ROOT / "scripts" / "stubs.sh", tmp_path],
        check=True,
        env={**os.environ, "VENV": str(venv)},
    )
    assert (tmp_path / "ouroboros" / "_ouroboros.pyi").read_text() == STUB.read_text()


def test_every_public_name_is_in_the_stubs() -> None:
    text = STUB.read_text()
    missing = [
        name
        for name in dir(_ouroboros)
        if not name.startswith("_") and f"class {name}" not in text and f"def {name}(" not in text
    ]
    assert missing == ["SCHEMA_VERSION"]
    assert "SCHEMA_VERSION: int" in text


def test_everything_is_documented() -> None:
    bare = [
        name
        for name in dir(_ouroboros)
        if not name.startswith("_") and not getattr(_ouroboros, name).__doc__
    ]
    assert bare == []
