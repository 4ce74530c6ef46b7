"""kl_divergence, two_stage: a loss a row, then one program that averages them."""

import triton
import triton.language as tl


@triton.jit
def losses(logits_ptr, target_ptr, loss_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    peak = -float("inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * cols + at, mask=at < cols, other=-float("inf"))
        higher = tl.maximum(peak, tl.max(x, 0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(x - higher), 0)
        peak = higher
    norm = peak + tl.log(total)
    loss = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * cols + at, mask=at < cols, other=0.0)
        t = tl.load(target_ptr + row * cols + at, mask=at < cols, other=0.0)
        # 0 log 0 is 0.
        loss += tl.where(t > 0, t * (tl.log(tl.where(t > 0, t, 1.0)) - (x - norm)), 0.0)
    tl.store(loss_ptr + row, tl.sum(loss, 0))


@triton.jit
def average(loss_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, rows, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(loss_ptr + at, mask=at < rows, other=0.0)
    tl.store(out_ptr, tl.sum(total, 0) / rows)


def run(logits, target):
    rows, cols = logits.shape
    loss = logits.new_empty(rows)
    out = logits.new_empty(())
    losses[(rows,)](logits, target, loss, cols, BLOCK=256)
    average[(1,)](loss, out, rows, BLOCK=512)
    return out
