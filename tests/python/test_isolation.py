"""What a Triton candidate's host code can reach in the tracer, found out by trying."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ouroboros
import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from ouroboros._ouroboros import Tracer
from ouroboros.trace.zygote import command_line

SECRET = "ouroboros-test-secret"
SIGNATURE = [("x", "float32", [64, 64])]

HEAD = """
import contextlib, ctypes, errno, json, os, resource, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
told = json.loads({told!r})

def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    return result if result >= 0 else errno.errorcode[ctypes.get_errno()]

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def probe():
"""
TAIL = """
print(json.dumps(probe()), flush=True)

def run(x):
    return x
"""


def _source(body: str, **told: Any) -> bytes:
    indented = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return (HEAD.format(told=json.dumps(told)) + indented + TAIL).encode()


def _tracer() -> Tracer:
    line = command_line("sm_90")
    return Tracer(command=list(line.command), readable=list(line.readable),
                  environment=dict(line.environment), limits=ouroboros.Limits())  # fmt: skip


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    os.environ["OUROBOROS_TEST_SECRET"] = SECRET
    yield _tracer()
    del os.environ["OUROBOROS_TEST_SECRET"]


@pytest.fixture
def reached(tracer: Tracer) -> Callable[..., Any]:
    """Returns what a probe says of itself; its code is the candidate's."""

    def trace(body: str, **told: Any) -> Any:
        (result,) = tracer.trace(
            _source(body, **told), target="sm_90", signatures=[SIGNATURE], outputs=["out"]
        )
        assert result["log"], result["refusal"]
        return json.loads(result["log"].splitlines()[0])

    return trace


DENIED = {"EACCES", "EPERM", "EXDEV"}  # EXDEV: Landlock, of links and renames.
ABSENT = {"ENOENT", "ESRCH", "ENXIO", "ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "ENOSYS"}

# Each attempt of a probe has to end with one of these.
TRIES = {
    "files": """
        return [attempt(open, path) for path in
                ("/etc/passwd", "/etc/shadow", told["profile"], "/proc/1/environ",
                 "/proc/self/environ", "/proc/self/maps", told["file"], "/var/log/dpkg.log")]
    """,
    "folders": """
        return [attempt(os.listdir, path) for path in
                ("/", told["home"], "/tmp", "/proc", "/dev", "/dev/shm", "..", told["folder"])]
    """,
    "writes": """
        import torch, triton
        places = [os.path.dirname(module.__file__) for module in (torch, triton, os)]
        return [attempt(open, f"{place}/candidate", "w") for place in
                (*places, "/tmp", "/var/tmp", "/dev/shm", "/usr/lib", "/etc", told["folder"])]
    """,
    "attributes of files": """
        import triton
        path = triton.__file__
        return [attempt(os.chmod, path, 0), attempt(os.chown, path, 0, 0),
                attempt(os.utime, path, (1, 1)), attempt(os.setxattr, path, "user.x", b"x")]
    """,
    "links": """
        return [attempt(os.link, told["file"], "hard"), attempt(os.rename, told["file"], "moved"),
                attempt(os.unlink, told["file"]),
                attempt(lambda: os.symlink(told["file"], "soft") or open("soft"))]
    """,
    "devices": """
        return [attempt(os.open, path, os.O_RDWR) for path in
                ("/dev/mem", "/dev/kmsg", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm",
                 "/dev/dri/card0", "/dev/vda", "/dev/fuse", "/dev/kvm", "/dev/ptmx", "/dev/tty")]
    """,
    "network": """
        def connect(family, address, kind=socket.SOCK_STREAM):
            with socket.socket(family, kind) as one:
                one.settimeout(2)
                one.connect(address)
                one.send(b"x")
        return [attempt(connect, socket.AF_INET, ("127.0.0.1", told["port"])),
                attempt(connect, socket.AF_INET, ("127.0.0.1", told["port"]), socket.SOCK_DGRAM),
                attempt(connect, socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM),
                attempt(connect, socket.AF_INET6, ("::1", told["port"])),
                attempt(connect, socket.AF_UNIX, "\\0" + told["abstract"])]
    """,
    "other processes": """
        libc_address = ctypes.addressof(ctypes.create_string_buffer(8))
        return [attempt(os.kill, told["pid"], 0), attempt(os.kill, told["zygote"], 9),
                call(101, 16, told["pid"], 0, 0),   # ptrace: PTRACE_ATTACH
                call(310, told["pid"], (ctypes.c_uint64 * 2)(libc_address, 8), 1,
                     (ctypes.c_uint64 * 2)(libc_address, 8), 1, 0),   # process_vm_readv
                call(434, told["pid"], 0),   # pidfd_open
                attempt(os.sched_setaffinity, told["pid"], {0}),
                attempt(os.setpriority, os.PRIO_PROCESS, told["pid"], 19)]
    """,
    "shared memory": """
        return [call(29, told["key"], 4096, 0),   # shmget
                call(68, told["key"], 0),   # msgget
                call(64, told["key"], 1, 0),   # semget
                attempt(open, "/dev/shm/" + told["shared"])]
    """,
    "privileges": """
        return [call(165, b"none", b"/tmp", b"tmpfs", 0, 0),   # mount
                call(161, b"/tmp"),   # chroot
                call(155, b"/", b"/"),   # pivot_root
                call(272, 0x00020000),   # unshare: CLONE_NEWNS
                call(175, 0, 0, 0),   # init_module
                call(169, 0xfee1dead, 672274793, 0, 0),   # reboot
                call(170, b"x", 1),   # sethostname
                attempt(time.clock_settime, time.CLOCK_REALTIME, 0)]
    """,
}  # fmt: skip


@pytest.fixture
def told(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What exists outside, so that failing to find it means something."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x0B0B0000 | os.getpid() & 0xFFFF
    segment = libc.shmget(key, 4096, 0o1600)
    queue = libc.msgget(key, 0o1600)
    semaphores = libc.semget(key, 1, 0o1600)
    name = f"ouroboros-test-{os.getpid()}"
    home = Path.home()
    Path(f"/dev/shm/{name}").write_text(SECRET)
    with contextlib.ExitStack() as stack:
        port = _listen(stack, socket.AF_INET, ("127.0.0.1", 0))[1]
        _listen(stack, socket.AF_UNIX, f"\0{name}")
        yield {"file": str(secret), "folder": str(tmp_path), "port": port, "abstract": name,
               "home": str(home), "profile": str(home / ".profile"), "pid": os.getpid(),
               "zygote": _zygote(), "key": key, "shared": name}  # fmt: skip
    Path(f"/dev/shm/{name}").unlink()
    libc.shmctl(segment, 0, None)
    libc.msgctl(queue, 0, None)
    libc.semctl(semaphores, 0, 0)
    assert secret.read_text() == SECRET


def _listen(stack: contextlib.ExitStack, family: int, address: Any) -> Any:
    one = stack.enter_context(socket.socket(family))
    one.bind(address)
    one.listen()
    return one.getsockname()


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_descendants(child)]
    return found


def _zygote() -> int:
    """A process of the tracer's, to be found from inside."""
    return max(_descendants(os.getpid()), default=os.getppid())


@pytest.mark.parametrize("what", TRIES)
def test_out_of_reach(reached: Callable[..., Any], told: dict[str, Any], what: str) -> None:
    body = "\n".join(line[8:] for line in TRIES[what].splitlines())
    answers = reached(body, **told)
    assert not [one for one in answers if one not in DENIED | ABSENT], answers


def test_the_environment_holds_no_secret(reached: Callable[..., Any]) -> None:
    environment = reached("return dict(os.environ)")
    assert SECRET not in environment.values()
    assert not {"PYTHONSTARTUP", "LD_PRELOAD", "OUROBOROS_LIBCUDA"} & set(environment)


def test_no_descriptor_leads_anywhere(reached: Callable[..., Any]) -> None:
    body = """
import stat
kinds = {}
for number in range(4096):
    with contextlib.suppress(OSError):
        mode = os.fstat(number).st_mode
        kinds[number] = ("socket" if stat.S_ISSOCK(mode) else "pipe" if stat.S_ISFIFO(mode)
                         else "file" if stat.S_ISREG(mode) else "other")
return kinds
"""
    kinds = reached(body)
    # Its result goes out through a pipe; while a trace captures output, that is a file.
    assert "socket" not in kinds.values(), kinds
    assert len(kinds) <= 8, kinds


def test_descriptors_and_limits_are_bounded(reached: Callable[..., Any]) -> None:
    body = """
opened = 0
with contextlib.suppress(OSError):
    while opened < 10_000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
"""
    assert reached(body + "return opened") < 1024
    raised = reached(
        "try:\n    resource.setrlimit(resource.RLIMIT_NOFILE, (10_000, 10_000))\n"
        "except (OSError, ValueError):\n    return 'refused'\nreturn 'raised'"
    )
    assert raised == "refused"


def test_it_is_alone_and_without_capabilities(reached: Callable[..., Any]) -> None:
    body = """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
data = (ctypes.c_uint32 * 6)()
libc.capget(header, data)
return [os.getpid(), os.getppid(), list(data)]
"""
    assert reached(body) == [1, 0, [0] * 6]


LEAVE = {
    "a file": ("open('left', 'w').write('x')", "return os.path.exists('left')"),
    "a cache": (
        "folder = os.environ['TRITON_CACHE_DIR']\nos.makedirs(folder, exist_ok=True)\n"
        "open(folder + '/left', 'w').write('x')",
        "return os.path.exists(os.environ['TRITON_CACHE_DIR'] + '/left')",
    ),
    "a module": ("import triton\ntriton.left = 1", "import triton\nreturn hasattr(triton, 'left')"),
    "a segment": ("libc.shmget(77, 4096, 0o1666)", "return libc.shmget(77, 4096, 0) >= 0"),
    "a key": (
        "libc.syscall(248, b'user', b'ouroboros-left', b'x', 1, -3)",
        "return libc.syscall(250, 10, -3, b'user', b'ouroboros-left', 0) >= 0",
    ),
    "a socket's name": (
        "socket.socket(socket.AF_UNIX).bind('\\0left')",
        "return attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0left')) is None",
    ),
    "a process": (
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)",
        "return attempt(os.kill, -1, 0) is None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LEAVE)
def test_nothing_is_left_for_the_next(reached: Callable[..., Any], what: str) -> None:
    leave, look = LEAVE[what]
    before = len(_descendants(os.getpid()))
    assert reached(f"{leave}\nreturn 'done'") == "done"
    assert reached(look) is False
    assert len(_descendants(os.getpid())) <= before


def test_two_at_once_do_not_meet(tracer: Tracer, reached: Callable[..., Any]) -> None:
    listen = """
one = socket.socket(socket.AF_UNIX)
one.bind("\\0meeting")
one.listen()
one.settimeout(4)
other = attempt(one.accept)
return "met" if isinstance(other, tuple) else "alone"
"""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(reached(listen)))
    thread.start()
    connect = """
end = time.monotonic() + 3
while time.monotonic() < end:
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_UNIX).connect("\\0meeting")
        return "met"
return "alone"
"""
    assert reached(connect) == "alone"
    thread.join()
    assert found == ["alone"]


# A container that refuses these system calls, by number on x86-64, to this process and to all that
# it starts; what a verdict has to say then.
REFUSED = {
    "unshare": (272, "namespace"),
    "landlock_create_ruleset": (444, "Landlock"),
    "seccomp": (317, None),
}
CONTAINER = """
import ctypes, json, struct, sys
number = int(sys.argv[1])
program = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | int(sys.argv[2])),
           (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in program))
header = struct.pack("@HP", len(program), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header, 0, 0) == 0

import ouroboros
found = []
for source, problem, target in (sys.argv[3:6], sys.argv[6:9]):
    verdict = ouroboros.verify(source, problem, dtypes=["float32"], until="sweep", target=target)
    found.append(json.loads(verdict.to_json()))
print(json.dumps(found))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86-64's")
@pytest.mark.parametrize("call", REFUSED)
def test_a_container_without_it_degrades_loudly(call: str) -> None:
    number, word = REFUSED[call]
    root = Path(__file__).resolve().parents[2]
    host = [str(root / "examples" / "kernels" / "softmax.cpp"), "softmax", ""]
    triton = [str(root / "tests" / "gpu" / "kernels" / "swiglu__flat.py"), "swiglu", "sm_90"]
    failure = errno.ENOSYS if word == "Landlock" else errno.EPERM
    done = subprocess.run(
        [sys.executable, "-c", CONTAINER, str(number), str(failure), *host, *triton],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    host, triton = json.loads(done.stdout)
    if word is None:  # The one mechanism without which nothing on the host is judged.
        assert host["status"] == "infrastructure_error"
        assert host["findings"][0]["kind"] == "sandbox_unavailable"
        return
    for verdict in (host, triton):
        assert verdict["status"] == "ok", verdict["summary"]
        assert verdict["isolation"]["level"] in ("degraded", "interpreted")
        assert word in " ".join(verdict["isolation"]["missing"])
        assert verdict["isolation"]["runs_as_root"] == (os.geteuid() == 0)
