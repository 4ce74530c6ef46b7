"""Which verdicts share a tracer, whose zygote takes seconds to start."""

from __future__ import annotations

import multiprocessing

import pytest
from ouroboros import Limits
from ouroboros.trace.command import make_live_tracer, make_tracer

pytest.importorskip("triton")


def test_equal_arguments_share_one() -> None:
    assert make_tracer(Limits(), "sm_90") is make_tracer(Limits(), "sm_90")
    assert make_live_tracer(Limits()) is make_live_tracer(Limits())


def test_other_arguments_have_their_own() -> None:
    one = make_tracer(Limits(), "sm_90")
    assert make_tracer(Limits(), "sm_80") is not one
    assert make_tracer(Limits(compile_seconds=7), "sm_90") is not one
    assert make_tracer(Limits(), "sm_90", scratch="/tmp") is not one
    assert make_live_tracer(Limits(), 1) is not make_live_tracer(Limits(), 0)


def test_a_hook_belongs_to_its_caller() -> None:
    def never() -> bool:
        return False

    one = make_tracer(Limits(), cancelled=never)
    assert one is not make_tracer(Limits(), cancelled=never)
    assert one is not make_tracer(Limits())


def _differs(tracer: object) -> bool:
    return make_tracer(Limits(), "sm_90") is not tracer


def test_a_forked_process_has_its_own() -> None:
    context = multiprocessing.get_context("fork")
    ours = make_tracer(Limits(), "sm_90")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=lambda: writer.send(_differs(ours)))
    child.start()
    assert reader.recv() is True
    child.join()
