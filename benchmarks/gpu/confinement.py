"""Under which restrictions CUDA and a live trace start: one forked process for each.

    python benchmarks/gpu/confinement.py

Needs a GPU, PyTorch, and for captures libouroboros-live.so, which OUROBOROS_LIVE_LIBRARY may name;
no other part of the package. docs/tracer.md rests on this table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
package = ModuleType("ouroboros")
package.__path__ = [str(ROOT / "python" / "ouroboros")]
sys.modules["ouroboros"] = package

import torch  # noqa: E402
from ouroboros.trace import live  # noqa: E402
from ouroboros.trace.zygote import confine  # noqa: E402

SYSTEM = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null",
          "/dev/zero", "/dev/urandom", "/sys", "/etc/nvidia", "/opt", str(ROOT)]  # fmt: skip
DEVICES = [str(path) for path in Path("/dev").glob("nvidia*")]


def files(*more: str) -> Callable[[], object]:
    """Landlock: the system is read, the scratch folder, the devices and `more` are written."""

    def restrict() -> object:
        modules = [path for path in sys.path if path and Path(path).exists()]
        readable = [*SYSTEM, *modules, sys.prefix, sys.base_prefix]
        return confine.restrict_files(readable, [str(Path.cwd()), "/dev/null", *DEVICES, *more])

    return restrict


def hidden() -> None:
    """As a dry trace's process: /proc/self is not its own."""
    confine.hide_memory()


def shown() -> None:
    """As a live trace's process."""
    confine.hide_memory()
    confine.own_proc_entry()


def namespaces(pid: bool) -> Callable[[], object]:
    """Namespaces; the caller forks for "pid"."""
    return lambda: confine.enter_namespaces(pid=pid)


def seccomp() -> None:
    """The filter of a live trace."""
    confine.refuse_calls(own_processes_only=True)


def limits() -> None:
    """What a child has by default in a live trace."""
    for name, value in (("FSIZE", 256 << 20), ("NOFILE", 1024), ("NPROC", 1026), ("CORE", 0)):
        confine.set_limit(name, value)


LIVE = [namespaces(pid=False), shown, seccomp, confine.drop_capabilities, limits]
STEPS: dict[str, list[Callable[[], object]]] = {
    "nothing": [],
    "not dumpable": [hidden],
    "namespaces without pid": [namespaces(pid=False)],
    "namespaces with pid": [namespaces(pid=True)],
    "seccomp filter": [shown, seccomp],
    "limits": [limits],
    "Landlock as in a live trace": [shown, files("/proc", "/dev/shm")],
    "Landlock, no /dev/shm": [shown, files("/proc")],
    "Landlock, /dev/shm, no /proc": [shown, files("/dev/shm")],
    "a live trace's child": [*LIVE, files("/proc", "/dev/shm")],
    "a live trace's child, no /dev/shm": [*LIVE, files("/proc")],
    "a live trace's child, not dumpable": [*LIVE, hidden, files("/proc", "/dev/shm")],
}


def attempt() -> str:
    """Starts CUDA, and captures where the library is there."""
    began = time.perf_counter()
    try:
        live.prepare()
        spec = {"name": "x", "dtype": "float32", "shape": [64, 64]}
        plan = live.capture(lambda x: x.softmax(-1), [spec], ["out"])
        what = f"captured {len(plan)} bytes"
    except live.UnavailableError as error:
        what = f"no live trace ({error}); "
        try:
            what += f"CUDA computes {torch.ones(4, device='cuda').sum().item()}"
        except Exception as failure:
            what += f"CUDA fails: {str(failure).splitlines()[0]}"
    except Exception as error:
        what = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return f"{what} in {time.perf_counter() - began:.2f} s"


def main() -> None:
    """Prints a line for each set of restrictions."""
    if sys.argv[1:] == ["alone"]:
        print(attempt(), flush=True)
        return
    print(f"one thread after the imports: {confine.has_one_thread()}", flush=True)
    print("in a process of its own: ", end="", flush=True)
    subprocess.run([sys.executable, __file__, "alone"], check=False)
    for name, steps in STEPS.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: ", end="", flush=True)
            process = os.fork()
            if process == 0:
                os.chdir(folder)
                os.environ.update(HOME=folder, TMPDIR=folder)
                try:
                    for step in steps:
                        step()
                    inner = os.fork()  # The first process of a pid namespace, where there is one.
                    if inner == 0:
                        print(attempt(), flush=True)
                        os._exit(0)
                    _, status = os.waitpid(inner, 0)
                    if status:
                        print(f"ended with status {status}", flush=True)
                except BaseException as error:
                    print(f"{type(error).__name__}: {error}", flush=True)
                os._exit(0)
            os.waitpid(process, 0)


if __name__ == "__main__":
    main()
