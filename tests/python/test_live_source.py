"""From a candidate's source to results: everything of a live trace but the capture."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ouroboros.trace import live

SIGNATURE = {"inputs": [{"name": "x", "dtype": "float32", "shape": [4]}], "outputs": ["out"]}


class Session:
    """What `capture_source` wants of a session between two captures."""

    trims = 0

    def trim(self) -> None:
        self.trims += 1


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A capture calls the function with the inputs' names, and its plan is what comes back."""
    made: list[dict[str, Any]] = []
    session = Session()

    def capture(fn: Any, inputs: Any, outputs: Any, **options: Any) -> bytes:
        made.append({"outputs": outputs, **options})
        text: str = fn(*(one["name"] for one in inputs))
        return text.encode()

    compiled = torch._TorchCompileInductorWrapper  # Which a trace changes, for its process.
    monkeypatch.setattr(compiled, "apply_options", compiled.apply_options)
    monkeypatch.setattr(live, "capture", capture)
    monkeypatch.setattr(live, "session", lambda: session)
    return made


def traced(source: str, tmp_path: Any, count: int = 1, **request: Any) -> list[dict[str, Any]]:
    return live.capture_source(
        {
            "source": source,
            "name": "../mine.py",
            "signatures": [SIGNATURE] * count,
            "scratch": str(tmp_path),
            **request,
        }
    )


@pytest.mark.parametrize("options", ["'max-autotune', None", "None, {'triton.cudagraphs': True}"])
def test_no_mode_of_torch_compile_has_graphs_of_its_own(
    calls: Any, tmp_path: Any, options: str
) -> None:
    source = (
        "import torch\n"
        f"config = torch._TorchCompileInductorWrapper({options}, False).config\n"
        "def run(x):\n    return ' '.join(config)\n"
    )
    (one,) = traced(source, tmp_path)
    (names,) = one["variants"]
    assert b"cudagraphs" not in names
    assert (b"max_autotune" in names) == ("max" in options)


def test_each_signature_has_its_plan_and_its_log(calls: Any, tmp_path: Any) -> None:
    source = (
        "n = 0\ndef run(x):\n    global n\n    n += 1\n"
        "    print('call', n)\n    return x + str(n)\n"
    )
    first, second = traced(source, tmp_path, 2, language="triton")
    assert (first["variants"], second["variants"]) == ([b"x1"], [b"x2"])
    assert (first["log"], second["log"]) == ("call 1\n", "call 2\n")
    assert first["refusal"] is None
    assert [one["language"] for one in calls] == ["triton", "triton"]
    # Whatever a candidate is called, its file stays in its folder.
    assert [path.name for path in tmp_path.iterdir()] == ["___mine_py.py"]


def test_a_dataclass_and_a_source_line_are_found(calls: Any, tmp_path: Any) -> None:
    source = (
        "import dataclasses, inspect\n"
        "@dataclasses.dataclass\nclass A:\n    x: 'int' = 1\n"
        "def run(x):\n    return inspect.getsource(run)\n"
    )
    (result,) = traced(source, tmp_path)
    assert result["variants"] == [b"def run(x):\n    return inspect.getsource(run)\n"]


@pytest.mark.parametrize(
    ("source", "kind", "message", "line"),
    [
        ("def run(x):\n    raise ValueError('no')\n", "failed", "ValueError: no", "line 2, in run"),
        ("raise OSError('early')\n", "failed", "OSError: early", "line 1"),
        ("def run(x:\n", "compile_error", "SyntaxError", ""),
        ("walk = 1\n", "missing_entry_point", "no function 'run'", ""),
    ],
)
def test_a_source_that_fails_says_where(
    calls: Any, tmp_path: Any, source: str, kind: str, message: str, line: str
) -> None:
    for result in traced(source, tmp_path, 2):
        assert result["variants"] == []
        assert result["refusal"]["kind"] == kind
        assert message in result["refusal"]["message"]
        assert line in result["refusal"]["traceback"]


def test_a_flood_of_output_is_cut(calls: Any, tmp_path: Any) -> None:
    (result,) = traced("def run(x):\n    print('y' * 10 ** 6)\n    return x\n", tmp_path)
    assert len(result["log"]) == 1 << 16


def test_a_process_without_a_gpu_is_not_made_ready() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(live.UnavailableError):
        live.prepare()
