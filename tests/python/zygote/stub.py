"""An operation that runs a request's source as Python: its `run(request)` gives the results."""

import os


def prepare():
    if reason := os.environ.get("OUROBOROS_STUB_UNFIT"):
        raise OSError(reason)


def trace(request):
    names = {}
    exec(request["source"], names)
    return names["run"](request)
