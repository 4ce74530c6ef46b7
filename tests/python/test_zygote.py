"""The zygote with PyTorch and Triton in it, in its sandbox; and one that has no sandbox.

tests/cpp/test_tracer.cpp has what does not need PyTorch.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ouroboros.trace.zygote import command_line

FOLDER = Path(__file__).parent / "zygote"
sys.path.append(str(FOLDER))
from client import Client  # noqa: E402

KERNEL = (FOLDER / "compiler.py").read_text().split('"""')[3]


def _client(*preloads, operation="compiler:trace", **options):
    arguments = ["--operation", f"trace={operation}"]
    for preload in preloads:
        arguments += ["--preload", preload]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return contextlib.closing(Client(*arguments, **options))


@pytest.fixture(scope="module")
def zygote():
    with _client("torch", "compiler") as client:
        yield client


@pytest.fixture(scope="module")
def bare():
    """A zygote on a machine without namespaces and Landlock."""
    with _client("no_sandbox", operation="stub:trace", sandbox=False) as client:
        yield client


def _stub(body, before=""):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import ctypes, os, signal, time\n{before}\ndef run(request):\n{lines}    return said\n"


def _said(reply):
    document, blobs = reply
    assert "failure" not in document, document
    return json.loads(blobs[0])


def _descendants(pid):
    """The living descendants of a process."""
    found, waiting = [], [pid]
    while waiting:
        process = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                for word in (task / "children").read_text().split():
                    found.append(int(word))
                    waiting.append(int(word))
    return found


def test_a_kernel_is_compiled_in_a_confined_child(zygote):
    document, blobs = zygote.call(KERNEL)
    assert json.loads(blobs[0]) == [{"variants": [{"$blob": 1}]}]
    assert blobs[1][:4] == b"\x7fELF"
    isolation = document["isolation"]
    assert isolation["landlock_abi"] > 0
    assert isolation["namespaces"] == ["user", "ipc", "pid"]
    assert isolation["missing"] == []
    assert zygote.requests() == []


def test_compilations_overlap_and_agree(zygote):
    requests = [zygote.send(KERNEL) for _ in range(6)]
    replies = [zygote.wait(identity) for identity in reversed(requests)]
    assert len({blobs[1] for _, blobs in replies}) == 1


def test_a_candidate_that_poisons_what_it_can_leaves_the_next_one_whole(zygote):
    _, before = zygote.call(KERNEL)
    poison = (
        "import triton, torch\n"
        "triton.compile = triton.jit = torch.empty = None\n"
        "raise SystemExit('tried')\n"
    )
    document, _ = zygote.call(poison)
    assert "'tried'" in document["message"]
    _, after = zygote.call(KERNEL)
    assert after == before


def test_a_child_has_one_thread_and_no_cuda(zygote):
    source = KERNEL + (
        "import torch\nraise SystemExit([torch.get_num_threads(), torch.cuda.is_available()])\n"
    )
    document, _ = zygote.call(source)
    assert "[1, False]" in document["message"]


def test_memory_is_limited_beyond_what_torch_holds(zygote):
    source = "import torch\nx = torch.ones({}, dtype=torch.uint8)\nraise SystemExit('held')\n"
    limits = {"memory_mib": 512}
    document, _ = zygote.call(source.format(64 << 20), limits)
    assert "'held'" in document["message"]
    document, _ = zygote.call(source.format(4 << 30), limits)
    assert "memory" in document["message"]
    assert "'held'" not in document["message"]


def test_a_zygote_whose_caller_goes_ends_with_its_children():
    with _client(operation="stub:trace") as client:
        client.send(_stub("time.sleep(60)"))
        while len(_descendants(client.process.pid)) < 3:
            assert client.process.poll() is None
        processes = _descendants(client.process.pid)
    assert not [pid for pid in processes if Path(f"/proc/{pid}/cmdline").exists()]


@pytest.mark.parametrize(
    ("preload", "sentence"),
    [("threaded", "the zygote has threads"), ("shared", "shares memory with its children")],
)
def test_a_zygote_that_is_not_fit_to_fork_does_not_start(preload, sentence, capfd):
    with pytest.raises(EOFError):
        _client(preload, operation="stub:trace")
    assert sentence in capfd.readouterr().err


def test_without_a_sandbox_the_missing_parts_are_named(bare):
    document, _ = bare.call(_stub("said = 1"))
    missing = " ".join(document["isolation"]["missing"])
    assert "namespaces" in missing
    assert "Landlock" in missing


def test_without_a_sandbox_daemons_are_swept(bare):
    daemon = (
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        ctypes.CDLL(None).prctl(1, 0)\n"
        "        time.sleep(60)\n"
        "    os.write(w, str(pid).encode())\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "said = int(os.read(r, 100))"
    )
    pid = _said(bare.call(_stub(daemon)))
    assert not Path(f"/proc/{pid}").exists()
    assert _descendants(bare.process.pid) == []
    assert bare.requests() == []


def test_without_a_sandbox_killing_the_supervisor_is_a_crash(bare):
    stay = "ctypes.CDLL(None).prctl(1, 0)\nos.kill(os.getppid(), 9)\ntime.sleep(60)\nsaid = 1"
    document, _ = bare.call(_stub(stay))
    assert document["failure"] == "crashed"
    assert "supervisor" in document["message"]
    assert _descendants(bare.process.pid) == []
    assert bare.requests() == []
    assert _said(bare.call(_stub("said = 'well'"))) == "well"


def test_a_full_disk_is_not_the_candidates_fault(zygote):
    document, _ = zygote.call("raise OSError(28, 'No space left on device')", {"file_mib": 1 << 40})
    assert "MiB left" in document["infrastructure"]
    assert zygote.requests() == []


@pytest.mark.parametrize("victim", ["candidate", "supervisor"])
def test_a_kill_from_outside_is_answered_by_another_try(victim):
    with _client(operation="stub:trace") as client:
        request = client.send(_stub("time.sleep(0.5)\nsaid = 'well'"))
        # The sandbox's own process, the zygote, the supervisor and the candidate are a chain.
        while len(chain := _descendants(client.process.pid)) < 3:
            assert client.process.poll() is None
        os.kill(chain[2 if victim == "candidate" else 1], signal.SIGKILL)
        assert _said(client.wait(request)) == "well"
        assert client.requests() == []


def test_a_candidate_that_is_killed_every_time_has_crashed(zygote):
    limit = "import os, resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\n"
    document, _ = zygote.call(limit + "while True:\n    os.getpid()\n")
    assert document["failure"] == "crashed"
    assert "signal 9" in document["message"]
    assert zygote.requests() == []


@pytest.fixture
def crowded():
    """A processor for which three other processes compete, by its number."""
    if len(Path("/proc/self/schedstat").read_text().split()) != 3:
        pytest.skip("this kernel does not count what processes wait for a processor")
    processor = min(os.sched_getaffinity(0))
    hog = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    with contextlib.ExitStack() as hogs:
        for _ in range(3):
            hogs.callback(subprocess.Popen([sys.executable, "-c", hog]).kill)
        yield processor


def _works(processor):
    return _stub(
        f"os.sched_setaffinity(0, {{{processor}}})\n"
        "while time.process_time() < 0.8: pass\nsaid = 'well'"
    )


def test_what_a_candidate_waits_for_a_processor_is_not_its_own_time(crowded):
    with _client(operation="stub:trace") as client:
        reply = client.call(_works(crowded), {"seconds": 1.2, "waiting_seconds": 60})
        assert _said(reply) == "well"
        # There is an end to that.
        document, _ = client.call(_works(crowded), {"seconds": 1.2, "waiting_seconds": 0.01})
        assert document["failure"] == "timeout"


def test_a_candidate_that_sleeps_waits_for_nothing(crowded):
    with _client(operation="stub:trace") as client:
        sleeps = f"os.sched_setaffinity(0, {{{crowded}}})\ntime.sleep(60)"
        document, _ = client.call(_stub(sleeps), {"seconds": 0.5, "waiting_seconds": 60})
        assert document["failure"] == "timeout"
        assert document["wall_seconds"] < 30


def test_a_reply_is_not_delayed_by_other_requests(zygote):
    slow = zygote.send("import time\ntime.sleep(1)\n")
    start = time.monotonic()
    zygote.call(KERNEL)
    assert time.monotonic() - start < 0.9
    zygote.wait(slow)


def test_the_command_line_names_files_that_exist():
    line = command_line("sm_90")
    assert os.access(line.command[0], os.X_OK)
    assert all(Path(path).exists() for path in line.readable)
    help_text = subprocess.run(
        [*line.command, "--help"], capture_output=True, text=True, check=True,
        env={**os.environ, **line.environment},
    )  # fmt: skip
    assert "--socket" in help_text.stdout


SOFTMAX = """
import torch
import triton
import triton.language as tl

@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=at < columns)

def run(x):
    print("traced")
    out = torch.empty_like(x)
    softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""


def test_the_dry_trace_runs_in_a_child():
    pytest.importorskip("ouroboros.trace.dry")
    inputs = [{"name": "x", "dtype": "float32", "shape": [64, 300], "strides": [300, 1]}]
    request = {"name": "softmax.py", "signatures": [{"inputs": inputs, "outputs": ["out"]}]}
    with contextlib.closing(Client()) as client:
        document, blobs = client.call(SOFTMAX, **request)
        assert "failure" not in document, document
        (result,) = json.loads(blobs[0])
        assert result["refusal"] is None
        assert result["log"] == "traced\n"
        assert blobs[result["variants"][0]["$blob"]].startswith(b"OUROPLAN")
        assert client.call(SOFTMAX, **request)[1][1:] == blobs[1:]
        assert client.requests() == []
