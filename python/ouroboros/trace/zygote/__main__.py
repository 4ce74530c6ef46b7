"""`python -m ouroboros.trace.zygote`: see docs/tracer.md."""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import sys
from pathlib import Path

from ouroboros.trace.zygote import confine
from ouroboros.trace.zygote.job import Access
from ouroboros.trace.zygote.serve import Zygote, preload

_OPERATIONS = {
    "trace": "ouroboros.trace.dry:trace",
    "interpret": "ouroboros.trace.interpreter.interpret:run",
}
_PRELOADS = ("torch", "triton", "ouroboros.trace.dry")
_LIVE_OPERATIONS = {
    "trace": "ouroboros.trace.live:capture_source",
    "as_called": "ouroboros.trace.as_called:run",
}
_LIVE_PRELOADS = ("torch", "triton", "ouroboros.trace.live", "ouroboros.trace.as_called")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ouroboros.trace.zygote", description=__doc__)
    parser.add_argument("--operation", action="append", metavar="NAME=MODULE:FUNCTION",
                        help="an operation to offer in place of the usual ones")  # fmt: skip
    parser.add_argument("--preload", action="append", metavar="MODULE",
                        help="a module to import before the first fork")  # fmt: skip
    parser.add_argument("--target", default="sm_90", help="what compilers are warmed up for")
    parser.add_argument("--socket", type=int, required=True, help="a connected descriptor")
    parser.add_argument("--scratch", required=True, help="an empty folder that may be written")
    parser.add_argument("--read", action="append", default=[], metavar="PATH",
                        help="what children may read and execute")  # fmt: skip
    parser.add_argument("--write", action="append", default=[], metavar="PATH",
                        help="what children may write besides their scratch folder")  # fmt: skip
    parser.add_argument("--gpu", action="store_true", help="children use the GPU")
    return parser.parse_args()


def _prepare_for_gpu() -> None:
    """Sets what compilers and CUDA read of the environment, in this process' children."""
    folders = [str(Path(sys.executable).parent), "/usr/local/cuda/bin"]
    os.environ.update(
        PATH=os.pathsep.join([*folders, os.environ.get("PATH", "/usr/bin:/bin")]),
        # No pools of compilers: each is a Python with PyTorch in it.
        TORCHINDUCTOR_COMPILE_THREADS="1",
        MAX_JOBS="2",
        CUDA_CACHE_DISABLE="1",
    )


def main() -> None:
    """Serves until the socket closes."""
    arguments = _arguments()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if arguments.gpu:
        _prepare_for_gpu()
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.pop("LD_PRELOAD", None)  # It was for this process.
    confine.hide_memory()
    confine.become_subreaper()
    operations, preloads = _OPERATIONS, list(_PRELOADS)
    if arguments.gpu:
        operations = _LIVE_OPERATIONS
        preloads = [name for name in _LIVE_PRELOADS if importlib.util.find_spec(name)]
    if arguments.operation:
        operations = dict(text.split("=", 1) for text in arguments.operation)
        preloads = []
    preload(arguments.preload or preloads, arguments.target)
    connection = socket.socket(fileno=arguments.socket)
    access = Access(tuple(arguments.read), tuple(arguments.write), arguments.gpu)
    Zygote(connection, operations, arguments.scratch, access).serve()
    os._exit(0)  # What compilers have to say when they are taken apart is of no use to anybody.


main()
