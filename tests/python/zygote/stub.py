"""An operation that runs a request's source as Python: its `run(request)` gives the results."""


def trace(request):
    names = {}
    exec(request["source"], names)
    return names["run"](request)
