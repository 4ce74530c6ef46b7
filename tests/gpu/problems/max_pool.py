"""Windows of two by two over images."""

import ouroboros
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "images 2*height 2*width"},
    dtypes=["float32", "float16"],
    timed=[{"images": 16, "height": 64, "width": 64}],
)
def max_pool(x):
    """out = the largest of every two by two"""
    return functional.max_pool2d(x, 2)
