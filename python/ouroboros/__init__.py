"""The referee that machine-written kernels cannot fool.

    import ouroboros

    verdict = ouroboros.verify("softmax.cpp", "softmax")
    print(verdict.explain())

`verify` judges one candidate; `Referee` keeps its options for many. A problem is the name of one
that ships with the library, a file, a `Problem`, or a function on tensors.
"""

try:
    import torch as _torch  # First: the compiled module needs PyTorch's libraries in the process.
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "ouroboros needs PyTorch, which is not installed here. For a machine without an NVIDIA "
        "GPU: pip install torch --index-url https://download.pytorch.org/whl/cpu "
        "(otherwise: pip install torch). Then install ouroboros-referee against it.",
        name="torch",
    ) from None

from ouroboros import problems
from ouroboros._ouroboros import (
    Axis,
    Baseline,
    CancelledError,
    CompilerMissingError,
    ExecutorLostError,
    GateRule,
    Input,
    InternalError,
    InvalidArgumentError,
    IOFailure,
    Limits,
    NotFoundError,
    OuroborosError,
    OutOfMemoryError,
    Problem,
    SandboxUnavailableError,
    TimingPlan,
    UnstableError,
    UnsupportedError,
    __version__,
)
from ouroboros.problems import problem
from ouroboros.referee import Referee, StageOutcome, verify
from ouroboros.report import report
from ouroboros.verdict import Finding, RewardPolicy, Status, Verdict

del _torch

__all__ = [
    "Axis",
    "Baseline",
    "CancelledError",
    "CompilerMissingError",
    "ExecutorLostError",
    "Finding",
    "GateRule",
    "IOFailure",
    "Input",
    "InternalError",
    "InvalidArgumentError",
    "Limits",
    "NotFoundError",
    "OuroborosError",
    "OutOfMemoryError",
    "Problem",
    "Referee",
    "RewardPolicy",
    "SandboxUnavailableError",
    "StageOutcome",
    "Status",
    "TimingPlan",
    "UnstableError",
    "UnsupportedError",
    "Verdict",
    "__version__",
    "problem",
    "problems",
    "report",
    "verify",
]
