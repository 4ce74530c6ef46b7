"""CUDA C++ kernels and cheats of tests/gpu get through NVRTC, and have what a launch names."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import ouroboros
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "gpu"
sys.path.append(str(FOLDER))

import honest_kernels  # noqa: E402

KERNELS = honest_kernels.kernels(".cu")
SHIPPED = [path for path in KERNELS if path.stem.split("__")[0] in ouroboros.problems.names()]
OTHERS = [path for path in KERNELS if path not in SHIPPED]
PTX = sorted((FOLDER / "kernels").glob("*.ptx"))
# These are meant to fail, or never to end.
REFUSED = {"include_file", "compile_bomb", "device_launch", "files_by_inclusion"}
CHEATS = sorted(path for path in (FOLDER / "attacks").glob("*.cu") if path.stem not in REFUSED)


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    nvidia = pytest.importorskip("nvidia")
    for folder in nvidia.__path__:
        for library in sorted(Path(folder).glob("c*/lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(library))
    pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")


def compile_to_ptx(nvrtc: ctypes.CDLL, path: Path) -> str:
    options = [
        b"--gpu-architecture=sm_90a",
        b"--std=c++20",
        b"--device-as-default-execution-space",
        b"-DOUROBOROS_DTYPE=float",
        b"-DOUROBOROS_DTYPE_float32=1",
    ]
    program = ctypes.c_void_p()
    source = path.read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, path.name.encode(), 0, None, None)
    passed = (ctypes.c_char_p * len(options))(*options)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), passed)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert not failed, log.value.decode()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def launched(path: Path) -> set[str]:
    lines = [line for line in path.read_text().splitlines() if line.startswith("//!")]
    return {name for line in lines for name in re.findall(r"launch (\w+)<<<", line)}


@pytest.mark.parametrize("path", SHIPPED + CHEATS, ids=lambda path: path.stem)
def test_source_compiles(nvrtc: ctypes.CDLL, path: Path) -> None:
    ptx = compile_to_ptx(nvrtc, path)
    assert launched(path) == set(re.findall(r"\.entry (\w+)", ptx))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_the_referee_compiles_and_audits_it(path: Path) -> None:
    """These include CUDA's headers, which the referee finds."""
    pytest.importorskip("nvidia")
    problem = honest_kernels.small(honest_kernels.problem_of(path), 64)
    verdict = ouroboros.Referee(until="compile", target="sm_90").judge(problem, path)
    assert verdict.status.value == "ok", verdict.summary


def test_ptx_has_what_it_launches() -> None:
    for path in PTX:
        assert launched(path) == set(re.findall(r"\.entry (\w+)", path.read_text())), path.name


def test_there_are_kernels_in_cuda_and_ptx() -> None:
    assert len(KERNELS) >= 12
    assert len(PTX) >= 3
    for path in KERNELS + PTX:
        problem, style = path.stem.split("__")
        assert path.read_text().startswith(f"// {problem}, {style}: "), path.name
