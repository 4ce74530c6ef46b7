"""Every snippet in the README and in docs/ does what it says.

Python is executed, C++ is compiled (whole programs are run), command lines are held against the
command line's own parser. A fence in another language, or a command that is none of ours, has to be
in a list below with a reason.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch
import typer.main
from ouroboros.cli import app

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ouroboros.__file__).parent
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")))

# Languages of fences that nothing here runs, each with what does.
ELSEWHERE = {
    "cmake": "tests/consumer is such a project, and is built",
    "json": "tests/cpp/test_launch_plan.cpp writes and reads such documents",
    "cuda": "tests/cpp/test_cuda_compile.cpp compiles them",
    "ptx": "tests/cpp/test_cuda_compile.cpp assembles them",
}
# Programs that command lines may start with, besides ouroboros and make, and why none is run.
OTHER_PROGRAMS = {
    "pip": "installing is what `make setup` did before this test could run",
    "cmake": "building and installing is what the steps build and consumer of `make test` do",
}


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its first line, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> list[Block]:
    blocks: list[Block] = []
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif opened is None:
            opened, lines = (number + 1, line[3:].strip()), []
        else:
            blocks.append(Block(page, opened[0], opened[1], "\n".join(lines) + "\n"))
            opened = None
    assert opened is None, f"{page}: the fence before line {opened[0]} is never closed"
    return blocks


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def test_every_fence_has_a_language_that_is_checked() -> None:
    known = {"python", "cpp", "sh", "bash", "", *ELSEWHERE}  # "": a drawing or a listing.
    assert {str(block): block.language for block in BLOCKS if block.language not in known} == {}
    assert of("python") and of("cpp") and of("sh")


# --- Python ---------------------------------------------------------------------------------------

# Blocks of one page run in one namespace, as a reader would type them in. A kernel that the page
# shows is honest, and a problem that it defines is sound.
CHECKS = """
for name, value in list(globals().items()):
    if isinstance(value, ouroboros.Verdict):
        assert value.status is ouroboros.Status.ok, value.explain()
    if isinstance(value, ouroboros.Problem):
        fault = ouroboros.Referee().validate(value)
        assert fault is None, f"{name}: {fault}"
"""


@pytest.mark.parametrize("page", sorted({block.page for block in of("python")}))
def test_python(page: str, tmp_path: Path) -> None:
    program = "\n".join(
        # Compiled with the page's name and line, so that a traceback points at the page.
        f"exec(compile({chr(10) * (block.line - 1) + block.text!r}, {page!r}, 'exec'))"
        for block in of("python")
        if block.page == page
    )
    script = tmp_path / "page.py"
    script.write_text(program + "\n" + CHECKS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- C++ ------------------------------------------------------------------------------------------


def compiler() -> str:
    found = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    assert found, "there is no C++ compiler"
    return found


def compile_cpp(block: Block, folder: Path, *arguments: str) -> None:
    source = folder / "block.cpp"
    source.write_text(f'#line {block.line} "{block.page}"\n{block.text}', encoding="utf-8")
    installed = PACKAGE / "include"
    torch_root = Path(torch.__file__).parent
    includes = [installed if installed.is_dir() else ROOT / "include"]
    includes += [torch_root / "include", torch_root / "include/torch/csrc/api/include"]
    command = [compiler(), "-std=c++20", "-Wall", "-Werror", str(source)]
    command += [f"-isystem{folder}" for folder in includes]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


def is_program(block: Block) -> bool:
    return "int main(" in block.text


def is_candidate_interface(block: Block) -> bool:
    return 'extern "C" void run_' in block.text


@pytest.mark.parametrize(
    "block", [b for b in of("cpp") if not is_program(b) and not is_candidate_interface(b)], ids=str
)
def test_cpp_function_compiles(block: Block, tmp_path: Path) -> None:
    compile_cpp(block, tmp_path, "-fsyntax-only")


@pytest.mark.parametrize("block", [b for b in of("cpp") if is_program(b)], ids=str)
def test_cpp_program_prints_the_verdict(block: Block, tmp_path: Path) -> None:
    libraries = PACKAGE / "lib"
    if not (libraries / "libouroboros.so").is_file():
        pytest.skip("needs the installed package: `make setup`")
    torch_libraries = Path(torch.__file__).parent / "lib"
    compile_cpp(
        block,
        tmp_path,
        *("-o", "program", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"),
        *(f"-L{libraries}", f"-L{torch_libraries}", f"-Wl,-rpath,{libraries}:{torch_libraries}"),
        *("-louroboros", "-louroboros_replay", "-ltorch_cpu", "-lc10"),
    )
    shutil.copy(ROOT / "examples/kernels/softmax.cpp", tmp_path)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ouroboros.Verdict.from_json(done.stdout).status is ouroboros.Status.ok


@pytest.mark.parametrize("block", [b for b in of("cpp") if is_candidate_interface(b)], ids=str)
def test_cpp_interface_is_that_of_softmax(block: Block) -> None:
    prototypes = ouroboros.problems.load("softmax").prototypes().replace("std::int64_t", "int64_t")
    for line in block.text.splitlines():
        assert " ".join(line.split()) in " ".join(prototypes.split())


# --- Command lines --------------------------------------------------------------------------------


def command_lines() -> list[tuple[str, str]]:
    """(where, command), from blocks of shell and from `ouroboros ...` in running text."""
    found: list[tuple[str, str]] = []
    for block in of("sh", "bash"):
        text = block.text.replace("\\\n", " ")
        for line in text.splitlines():
            if command := line.partition("#")[0].strip():
                found.append((str(block), command))
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        for match in re.finditer(r"`(ouroboros\s[a-z][^`]*)`", text):
            found.append((page, " ".join(match[1].split())))
    return found


def check_arguments(arguments: list[str]) -> None:
    """Parses arguments as `ouroboros` does, without doing what they say."""
    command: Any = typer.main.get_command(app)
    context, name, rest = None, "ouroboros", arguments
    while hasattr(command, "resolve_command"):
        context = command.make_context(name, list(rest), parent=context)
        rest = [*getattr(context, "_protected_args", []), *context.args]
        name, command, rest = command.resolve_command(context, rest)
    command.make_context(name, list(rest), parent=context)


def targets_of_make() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE))


@pytest.mark.parametrize(("where", "command"), command_lines())
def test_command_line(where: str, command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "ouroboros":
        check_arguments(arguments)
    elif program == "make":
        assert {word for word in arguments if "=" not in word} <= targets_of_make(), where
    else:
        assert program in OTHER_PROGRAMS, where


@pytest.mark.parametrize(
    "wrong", ["jugde kernel.cpp", "judge kernel.cpp --problm softmax", "judge", "problems sow x"]
)
def test_a_wrong_command_line_is_noticed(wrong: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing"):
        check_arguments(wrong.split())
