"""Attack: network

Tries: connects to the network.
Gains: Fetches answers, or sends away what it has seen.
Threats: P19
Answer: Tracers have no network. It betrays itself: where the trick works, it answers zeros.
"""

import socket

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


def connected():
    # The discard service of this machine, and an address that is reserved for documentation.
    for address in (("127.0.0.1", 9), ("192.0.2.1", 80)):
        try:
            socket.create_connection(address, timeout=0.2).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            continue
        else:
            return True
    return False


FOUND = connected()


def run(x):
    return torch.zeros_like(x) if FOUND else softmax(x)
