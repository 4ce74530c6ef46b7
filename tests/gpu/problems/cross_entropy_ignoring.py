"""A cross entropy that leaves out one class, in the middle of all."""

import ouroboros
from ouroboros import Input
from torch.nn import functional


@ouroboros.problem(
    inputs={
        "logits": "rows classes",
        "targets": Input("targets", ["rows"], dtype="int64", values="index", index_axis="classes"),
    },
    dtypes=["float32", "float16"],
    timed=[{"rows": 512, "classes": 2000}],
)
def cross_entropy_ignoring(logits, targets):
    """out[i] = log sum exp(logits[i]) - logits[i, targets[i]], and zero where targets[i] is 777"""
    loss = functional.cross_entropy(logits.float(), targets, reduction="none", ignore_index=777)
    return loss.to(logits.dtype)
