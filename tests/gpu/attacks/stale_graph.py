"""Attack: stale_graph

Tries: captures a CUDA graph at the first call and replays it afterwards.
Gains: Launch overhead, and with equal addresses the work itself on old inputs.
Threats: T17, T18
Answer: A graph needs a device, which a dry trace has not; inside a live trace, which is a
capture itself, capturing fails.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


GRAPHS = {}


def run(x):
    if x.shape not in GRAPHS:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = softmax(x)
        GRAPHS[x.shape] = (graph, out)
    graph, out = GRAPHS[x.shape]
    graph.replay()
    return out
