"""`python -m ouroboros.trace.zygote`: see docs/tracer.md."""

from __future__ import annotations

import argparse
import os
import socket

from ouroboros.trace.zygote import confine
from ouroboros.trace.zygote.serve import Zygote, preload

_OPERATIONS = {
    "trace": "ouroboros.trace.dry:trace",
    "interpret": "ouroboros.trace.interpret:run",
}


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
    return parser.parse_args()


def main() -> None:
    """Serves until the socket closes."""
    arguments = _arguments()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    os.environ.pop("LD_PRELOAD", None)  # It was for this process.
    confine.hide_memory()
    confine.become_subreaper()
    operations = _OPERATIONS
    preloads = ["torch", "triton", "ouroboros.trace.dry"]
    if arguments.operation:
        operations = dict(text.split("=", 1) for text in arguments.operation)
        preloads = []
    preload(arguments.preload or preloads, arguments.target)
    connection = socket.socket(fileno=arguments.socket)
    Zygote(connection, operations, arguments.scratch, arguments.read).serve()
    os._exit(0)  # What compilers have to say when they are taken apart is of no use to anybody.


main()
