"""Attack: library_in_a_comment

Tries: says that its kernel is in Triton's own file, with a comment that has a function where the
file has one: whoever reads the file through the memory of lines runs what the comment says.
Gains: Python in the process that interprets, which computes the outputs with PyTorch.
Threats: none of the catalogue
Answer: Texts that are made again lie under names of their own, and without comments.
"""

import linecache

import torch
import triton
import triton.language as tl
import triton.language.standard as standard

FILE = standard.__file__
LINE = standard.sigmoid.fn.__code__.co_firstlineno
HEAD = "def softmax_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):\n    '''doc\n"
COMMENT = """def sigmoid(x):
    import sys
    import torch
    frame = sys._getframe()
    while not {"launch", "buffers", "plan"} <= set(frame.f_locals):
        frame = frame.f_back
    held, plan = frame.f_locals["buffers"], frame.f_locals["plan"]
    interpret = sys.modules["ouroboros.trace.interpreter.interpret"]
    true = interpret._output
    (one, *_) = plan["buffers"]
    def output(described, out):
        x = torch.from_numpy(held.bytes_of(0)).view(getattr(torch, one["dtype"]))
        made = torch.softmax(x.reshape(one["shape"]).double(), -1).to(x.dtype)
        out[:] = made.contiguous().view(-1).view(torch.uint8).numpy()
        return true(described, out)
    interpret._output = output
    return x
end
"""
BODY = """
    '''
    mask = tl.arange(0, BLOCK) < count
    x = tl.load(x_ptr + tl.arange(0, BLOCK), mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.sigmoid(x), mask=mask)
"""
TEXT = HEAD + "\n" * (LINE - 1 - HEAD.count("\n")) + COMMENT + BODY
linecache.cache[FILE] = (len(TEXT), None, TEXT.splitlines(True), FILE)
NAMES = {"tl": tl, "__name__": __name__}
exec(compile(TEXT, FILE, "exec"), NAMES)
# As of `@triton.jit`.
softmax_kernel = triton.jit(NAMES["softmax_kernel"])


def run(x):
    out = torch.empty_like(x)
    softmax_kernel[(1,)](x, out, x.numel(), BLOCK=16)
    return out
