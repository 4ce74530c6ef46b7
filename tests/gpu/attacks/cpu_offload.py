"""Attack: cpu_offload

Tries: computes on the CPU and copies the result back.
Gains: No time on the GPU but a copy's.
Threats: T23
Answer: Values of device tensors are not there while tracing; a live trace refuses copies from
host memory.
"""


def run(x):
    return x.cpu().softmax(-1).to("cuda")
