"""The worker's protocol, with stubs in place of a GPU."""

from __future__ import annotations

import base64
import io
import json
import pickle
import sys
import threading

import pytest
from ouroboros.trace import baseline_worker
from ouroboros.trace.baseline_client import (
    BaselinePlan,
    BaselineWorker,
    Unavailable,
    problem_document,
)
from ouroboros.trace.live import TraceRefusedError

VERSIONS = {"torch": "2", "triton": "3", "driver": 13000, "gpu": "stub"}
REQUEST = {"problem": {"origin": "builtin:softmax"}, "inputs": [], "outputs": ["out"]}

# A worker whose plan is the request's kind, many times over; some kinds misbehave.
STUB = """
import os, sys
from ouroboros.trace.baseline_worker import answer, serve
def trace(request):
    kind = request["kind"]
    if kind == "dies":
        os._exit(3)
    if kind == "hangs":
        sys.stdin.buffer.read()
    if kind == "chatters":
        os.write(1, b"hello\\n")
    return kind.encode() * 300000
versions = lambda: dict(torch="2", triton="3", driver=13000, gpu="stub")
serve(sys.stdin.buffer, sys.stdout.buffer, lambda r: answer(r, trace, versions))
"""


@pytest.fixture(scope="module")
def worker():
    with BaselineWorker([sys.executable, "-c", STUB], timeout_seconds=60) as made:
        yield made


def ask(worker, kind):
    return worker.trace(REQUEST["problem"], REQUEST["inputs"], REQUEST["outputs"], kind)


def test_plans_come_whole_and_in_order(worker):
    for kind in ("eager", "compile"):
        found = ask(worker, kind)
        assert isinstance(found, BaselinePlan)
        assert found.plan == kind.encode() * 300000
        assert (found.gpu, found.driver) == ("stub", 13000)
    assert worker.describe() == VERSIONS


@pytest.mark.parametrize(
    ("kind", "reason"), [("dies", "its process ended"), ("chatters", "no answer")]
)
def test_a_worker_that_fails_is_unavailable_once_and_started_again(worker, kind, reason):
    found = ask(worker, kind)
    assert isinstance(found, Unavailable)
    assert reason in found.reason
    assert isinstance(ask(worker, "eager"), BaselinePlan)


def test_a_worker_that_hangs_is_ended():
    with BaselineWorker([sys.executable, "-c", STUB], timeout_seconds=0.2) as worker:
        found = ask(worker, "hangs")
    assert isinstance(found, Unavailable)
    assert "0.2 seconds" in found.reason


def test_a_worker_that_cannot_be_started_is_unavailable():
    with BaselineWorker(["/nowhere/python"]) as worker:
        assert isinstance(ask(worker, "eager"), Unavailable)


def test_every_failure_of_a_trace_is_an_answer():
    def refused(request):
        raise TraceRefusedError("random", "It draws random numbers.")

    def broken(request):
        raise RuntimeError("first line\nsecond line")

    request = {**REQUEST, "kind": "eager"}
    assert baseline_worker.answer(request, refused, dict) == (
        {"unavailable": "It draws random numbers."},
        b"",
    )
    assert baseline_worker.answer(request, broken, dict)[0] == {
        "unavailable": "RuntimeError: first line"
    }


def test_one_line_one_answer():
    answers = io.BytesIO()
    requests = io.BytesIO(b'{"kind": "a"}\n{"kind": "b"}\n')
    baseline_worker.serve(requests, answers, lambda r: ({"plan_bytes": 2}, r["kind"].encode() * 2))
    assert answers.getvalue() == b'{"plan_bytes": 2}\naa{"plan_bytes": 2}\nbb'


def test_without_a_gpu_the_worker_says_so():
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with BaselineWorker() as worker:
        found = ask(worker, "eager")
    assert isinstance(found, Unavailable)
    assert found.reason.endswith(".")


def test_problems_are_named_by_origin_or_sent_by_reference():
    assert problem_document("builtin:softmax", None) == {"origin": "builtin:softmax"}
    assert set(problem_document("inline", json.dumps)) == {"pickle"}
    # A function of a notebook travels by value.
    sent = problem_document("inline", lambda x: x + 1)["pickle"]
    assert pickle.loads(base64.b64decode(sent))(1) == 2
    lock = threading.Lock()
    with pytest.raises(ValueError, match="define it in a file"):
        problem_document("inline", lambda x: (x, lock))
