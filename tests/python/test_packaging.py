"""What is installed: links, versions, files."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTION = "ouroboros-referee"


def package_dir() -> Path:
    """The folder of the installed package, found without importing it."""
    spec = importlib.util.find_spec("ouroboros")
    assert spec is not None and spec.origin is not None, "ouroboros is not installed"
    return Path(spec.origin).parent


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def binaries() -> list[Path]:
    return sorted(p for p in package_dir().rglob("*") if p.is_file() and is_elf(p))


def dynamic(path: Path, tag: str) -> list[str]:
    """Values of a tag of the dynamic section, e.g. every NEEDED library."""
    output = subprocess.run(
        ["readelf", "-dW", path], check=True, capture_output=True, text=True
    ).stdout
    return re.findall(rf"\({tag}\)[^\[]*\[([^\]]*)\]", output)


def test_the_package_has_its_binaries() -> None:
    names = {path.name.split(".")[0] for path in binaries()}
    assert {
        "_ouroboros",
        "libouroboros",
        "libouroboros-live",
        "libouroboros-no-driver",
        "libouroboros_replay",
        "ouroboros-cuda-compiler",
        "ouroboros-cuda-executor",
        "ouroboros-executor",
        "ouroboros-sandbox",
    } <= names


def test_nothing_of_cuda_is_needed() -> None:
    forbidden = re.compile(r"cuda|cudart|nvrtc|cupti|cublas|cudnn|nvidia", re.IGNORECASE)
    for path in binaries():
        needed = dynamic(path, "NEEDED")
        # A driver that finds nothing needs nothing.
        understood = needed or path.name.startswith("libouroboros-no-driver")
        assert understood, f"{path.name} needs nothing: readelf's output was not understood"
        offending = [name for name in needed if forbidden.search(name)]
        assert not offending, f"{path.name} needs {offending}"


@pytest.mark.parametrize(
    "name",
    [
        "libouroboros-live",
        "libouroboros-no-driver",
        "libouroboros_replay",
        "ouroboros-cuda-compiler",
        "ouroboros-cuda-executor",
        "ouroboros-executor",
        "ouroboros-sandbox",
    ],
)
def test_only_the_referee_needs_torch(name: str) -> None:
    (path,) = (p for p in binaries() if p.name.split(".")[0] == name)
    offending = [lib for lib in dynamic(path, "NEEDED") if re.search(r"torch|c10|python", lib)]
    assert not offending


def test_only_the_module_needs_libtorch_python() -> None:
    users = [p.name for p in binaries() if "libtorch_python.so" in dynamic(p, "NEEDED")]
    assert [name.split(".")[0] for name in users] == ["_ouroboros"]


def test_libraries_are_found_by_relative_paths_only() -> None:
    for path in binaries():
        for entry in ":".join(dynamic(path, "RUNPATH") + dynamic(path, "RPATH")).split(":"):
            assert not entry or entry.startswith("$ORIGIN"), f"{path.name} looks into {entry}"


def test_helper_programs_are_executable() -> None:
    for name in (
        "ouroboros-cuda-compiler",
        "ouroboros-cuda-executor",
        "ouroboros-executor",
        "ouroboros-sandbox",
    ):
        path = package_dir() / "libexec" / "ouroboros" / name
        assert os.access(path, os.X_OK)


@pytest.mark.parametrize(
    "relative",
    [
        "py.typed",
        "templates/report.css",
        "templates/report.html",
        "_ouroboros.pyi",
        "include/ouroboros/ouroboros.hpp",
        "lib/cmake/ouroboros/ouroborosConfig.cmake",
        "lib/cmake/ouroboros/OuroborosTorch.cmake",
    ],
)
def test_the_package_has_its_files(relative: str) -> None:
    assert (package_dir() / relative).is_file()


@pytest.mark.parametrize(
    ("installed", "source", "suffix"),
    [
        ("attacks", "tests/attacks", "cpp"),
        ("attacks", "tests/attacks", "toml"),
        ("kernels", "examples/kernels", "cpp"),
        ("gpu/attacks", "tests/gpu/attacks", "py"),
        ("gpu/attacks", "tests/gpu/attacks", "cu"),
        ("gpu/attacks", "tests/gpu/attacks", "toml"),
        ("gpu/kernels", "tests/gpu/kernels", "py"),
        ("gpu/kernels", "tests/gpu/kernels", "cu"),
    ],
)
def test_candidates_are_package_data(installed: str, source: str, suffix: str) -> None:
    expected = {p.name for p in (ROOT / source).glob(f"*.{suffix}")}
    assert expected
    assert {p.name for p in (package_dir() / installed).glob(f"*.{suffix}")} == expected


def test_one_version_everywhere() -> None:
    import ouroboros

    cmake = re.search(r"project\(ouroboros VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    pyproject = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert cmake is not None and pyproject is not None
    assert cmake[1] == pyproject[1]
    assert importlib.metadata.version(DISTRIBUTION) == pyproject[1]
    assert ouroboros.__version__ == pyproject[1]


def test_torch_is_required_by_nobody() -> None:
    requirements = importlib.metadata.requires(DISTRIBUTION) or []
    assert not [line for line in requirements if re.match(r"torch\b", line)]
    build = re.search(r"^requires = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.M)
    assert build is not None and "torch" not in build[1]


def test_pre_commit_has_the_versions_of_the_dev_extra() -> None:
    pinned = set(re.findall(r'"([\w-]+==[\d.]+)"', (ROOT / "pyproject.toml").read_text()))
    hooks = re.findall(
        r"additional_dependencies: \[([^\]]+)\]", (ROOT / ".pre-commit-config.yaml").read_text()
    )
    assert hooks
    assert set(hooks) <= pinned
