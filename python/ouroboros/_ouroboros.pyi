"""
The compiled core of ouroboros. Use the package, which is typed and documented.
"""

from __future__ import annotations
import collections.abc
import typing

__all__: list[str] = [
    "Axis",
    "Baseline",
    "CancelledError",
    "Compiled",
    "CompilerMissingError",
    "DeviceOptions",
    "ExecutorLostError",
    "GateRule",
    "IOFailure",
    "Input",
    "InternalError",
    "InvalidArgumentError",
    "Isolation",
    "KernelResources",
    "LaunchPlan",
    "Limits",
    "NotFoundError",
    "Options",
    "OuroborosError",
    "OutOfMemoryError",
    "PlanRefusal",
    "PlanRunner",
    "Problem",
    "Referee",
    "SCHEMA_VERSION",
    "SandboxUnavailableError",
    "SharedCases",
    "TimingPlan",
    "Tracer",
    "UnstableError",
    "UnsupportedError",
    "cubin_target",
    "cuda_devices",
    "explain",
    "feedback",
    "get_problem",
    "kernel_resources",
    "own_process",
    "probe_isolation",
    "problem_names",
    "read_candidate",
    "reward",
    "sha256",
    "trimmed_interval",
]

class OuroborosError(RuntimeError):
    """
    Misuse, or a machine that cannot do what was asked. What a candidate did wrong is never an exception: it is the verdict's status.
    """

    code: typing.ClassVar[str] = "internal"

class InvalidArgumentError(OuroborosError, ValueError):
    """
    The caller passed something that can never work.
    """

    code: typing.ClassVar[str] = "invalid_argument"

class NotFoundError(OuroborosError):
    """
    A named problem, file or program does not exist.
    """

    code: typing.ClassVar[str] = "not_found"

class IOFailure(OuroborosError):
    """
    Reading or writing a file or a descriptor failed.
    """

    code: typing.ClassVar[str] = "io"

class UnsupportedError(OuroborosError):
    """
    This build or this machine cannot do what was asked.
    """

    code: typing.ClassVar[str] = "unsupported"

class SandboxUnavailableError(OuroborosError):
    """
    A required isolation mechanism is missing.
    """

    code: typing.ClassVar[str] = "sandbox_unavailable"

class CompilerMissingError(OuroborosError):
    """
    No C++ compiler was found.
    """

    code: typing.ClassVar[str] = "compiler_missing"

class ExecutorLostError(OuroborosError):
    """
    An executor died for a reason that is not the candidate's.
    """

    code: typing.ClassVar[str] = "executor_lost"

class UnstableError(OuroborosError):
    """
    The machine does not hold still enough for what was to be measured.
    """

    code: typing.ClassVar[str] = "unstable"

class OutOfMemoryError(OuroborosError):
    """
    The machine could not provide the memory that was asked for.
    """

    code: typing.ClassVar[str] = "out_of_memory"

class CancelledError(OuroborosError):
    """
    The caller asked to stop.
    """

    code: typing.ClassVar[str] = "cancelled"

class InternalError(OuroborosError):
    """
    A broken invariant of this library: please report it.
    """

    code: typing.ClassVar[str] = "internal"

class Axis:
    """
    A size that shapes refer to by name.
    """
    def __init__(
        self,
        name: str,
        minimum: typing.SupportsInt | typing.SupportsIndex = 1,
        maximum: typing.SupportsInt | typing.SupportsIndex = 8192,
        multiple_of: typing.SupportsInt | typing.SupportsIndex = 1,
        fixed: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None: ...
    def __repr__(self) -> str: ...
    @property
    def fixed(self) -> int | None:
        """
        Set when the axis has one value only.
        """
    @property
    def maximum(self) -> int:
        """
        Largest value that the sweep may derive.
        """
    @property
    def minimum(self) -> int:
        """
        0 where an empty tensor is legal.
        """
    @property
    def multiple_of(self) -> int:
        """
        Every value is a multiple of this.
        """
    @property
    def name(self) -> str: ...

class Input:
    """
    One input of a problem. An extent of its shape is an axis ("rows"), a number (64) or a multiple of an axis ("2*half").
    """
    def __init__(
        self,
        name: str,
        shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex | str],
        dtype: str | None = None,
        values: str = "real",
        index_axis: str = "",
        parameter: bool = False,
        padding: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None: ...
    def __repr__(self) -> str: ...
    @property
    def dtype(self) -> str | None:
        """
        None for the dtype of the case.
        """
    @property
    def index_axis(self) -> str:
        """
        The axis that bounds indices (its extent is none of them), lengths and offsets (which reach it), and permutations.
        """
    @property
    def name(self) -> str: ...
    @property
    def padding(self) -> int | None:
        """
        What stands in some places in the place of an index, or None.
        """
    @property
    def parameter(self) -> bool:
        """
        A weight: not drawn from the families.
        """
    @property
    def shape(self) -> list[int | str]: ...
    @property
    def values(self) -> str: ...

class Baseline:
    """
    Something to compare a candidate's time with.
    """
    def __init__(
        self,
        name: str,
        prepare: collections.abc.Callable[..., typing.Any] | None = None,
        plan: collections.abc.Callable[..., typing.Any] | None = None,
    ) -> None:
        """
        For the host, `prepare(inputs, outputs)` gets two tuples of tensors and returns a callable of no arguments that computes once; compiling and warming up belong into `prepare`. For a GPU, `plan(signature)` gets a list of dictionaries (name, role, dtype, shape, strides; inputs before outputs) and returns the bytes of a plan file.
        """
    def __repr__(self) -> str: ...
    @property
    def name(self) -> str: ...

class Problem:
    """
    What a candidate has to compute, on what, and how it may do it.
    """
    def __init__(
        self,
        *,
        name: str,
        description: str = "",
        origin: str = "inline",
        axes: collections.abc.Sequence[Axis],
        inputs: collections.abc.Sequence[Input],
        outputs: collections.abc.Sequence[str] = ["out"],
        dtypes: collections.abc.Sequence[str] = ["float32"],
        timed: collections.abc.Sequence[
            collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex]
        ] = [],
        timed_gpu: collections.abc.Sequence[
            collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex]
        ] = [],
        reference: collections.abc.Callable[..., typing.Any],
        oracle: collections.abc.Callable[..., typing.Any] | None = None,
        baselines: collections.abc.Sequence[Baseline] = [],
        nan_meaningful: bool = False,
        inf_meaningful: bool = False,
        library_kernels: str = "forbid",
    ) -> None:
        """
        `reference(*inputs)` returns a tensor or a tuple of tensors.

        Raises:
            InvalidArgumentError: A field is wrong; the message names it.
        """
    def __repr__(self) -> str: ...
    def prototypes(self) -> str:
        """
        The C++ prototypes of the entry points, one for each dtype.
        """
    def with_baselines(self, baselines: collections.abc.Sequence[Baseline]) -> Problem:
        """
        The same problem with other baselines.
        """
    def with_timed(
        self,
        cells: collections.abc.Sequence[
            collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex]
        ],
    ) -> Problem:
        """
        The same problem with other cells to time on the host.
        """
    def with_timed_gpu(
        self,
        cells: collections.abc.Sequence[
            collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex]
        ],
    ) -> Problem:
        """
        The same problem with other cells to time on a GPU.
        """
    @property
    def axes(self) -> list[Axis]: ...
    @property
    def baselines(self) -> list[Baseline]:
        """
        Besides "eager", which is always there.
        """
    @property
    def description(self) -> str: ...
    @property
    def dtypes(self) -> list[str]: ...
    @property
    def inf_meaningful(self) -> bool: ...
    @property
    def inputs(self) -> list[Input]: ...
    @property
    def library_kernels(self) -> str:
        """
        "forbid", "allow" or "report".
        """
    @property
    def name(self) -> str: ...
    @property
    def nan_meaningful(self) -> bool: ...
    @property
    def oracle(self) -> collections.abc.Callable[..., typing.Any] | None:
        """
        None where the oracle is the reference in float64.
        """
    @property
    def origin(self) -> str:
        """
        "builtin:NAME", "file:PATH" or "inline": where a replay finds it.
        """
    @property
    def outputs(self) -> list[str]: ...
    @property
    def reference(self) -> collections.abc.Callable[..., typing.Any]:
        """
        `reference(*inputs)`, on tensors.
        """
    @property
    def timed(self) -> list[dict[str, int]]:
        """
        Values of the axes for each cell that is timed.
        """
    @property
    def timed_gpu(self) -> list[dict[str, int]]:
        """
        Those for a GPU; empty: the same.
        """

class Limits:
    """
    What a candidate may use; enforced from outside.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def compile_memory_mib(self) -> int:
        """
        Address space of each compiler process.
        """
    @compile_memory_mib.setter
    def compile_memory_mib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def compile_processes(self) -> int:
        """
        Processes that a compilation may have at once.
        """
    @compile_processes.setter
    def compile_processes(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def compile_seconds(self) -> float:
        """
        Wall time of the compiler.
        """
    @compile_seconds.setter
    def compile_seconds(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def heap_mib(self) -> int:
        """
        Heap that a candidate may allocate.
        """
    @heap_mib.setter
    def heap_mib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def image_mib(self) -> int:
        """
        Size of a compiled module, and of any file.
        """
    @image_mib.setter
    def image_mib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def load_seconds(self) -> float:
        """
        Loading, static constructors included.
        """
    @load_seconds.setter
    def load_seconds(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def log_kib(self) -> int:
        """
        Compiler output that is kept.
        """
    @log_kib.setter
    def log_kib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def replay_seconds(self) -> float:
        """
        One call of the candidate.
        """
    @replay_seconds.setter
    def replay_seconds(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def source_kib(self) -> int:
        """
        A longer source is refused unread.
        """
    @source_kib.setter
    def source_kib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def stack_mib(self) -> int:
        """
        Stack of the candidate's only thread.
        """
    @stack_mib.setter
    def stack_mib(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...

class Tracer:
    """
    A warm, sandboxed process that is forked for every candidate.
    """
    def __init__(
        self,
        *,
        command: collections.abc.Sequence[str],
        readable: collections.abc.Sequence[str] = [],
        environment: collections.abc.Mapping[str, str] = {},
        limits: Limits | None = None,
        scratch: str = "",
        cancelled: collections.abc.Callable[[], bool] | None = None,
        gpu: bool = False,
    ) -> None:
        """
        `command` is the tracer's command line, `readable` what it needs to read besides the system's folders, and `environment` what it needs besides a few fixed variables. With `gpu` candidates use the GPU, for live traces.
        """
    def trace(
        self,
        source: bytes,
        *,
        target: str,
        signatures: collections.abc.Sequence[
            collections.abc.Sequence[
                tuple[str, str, collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]
            ]
        ],
        outputs: collections.abc.Sequence[str],
        name: str = "candidate",
        max_variants: typing.SupportsInt | typing.SupportsIndex = 16,
        device: str = "",
        language: str = "triton",
        operation: str = "trace",
        values: collections.abc.Sequence[collections.abc.Sequence[bytes]] = [],
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> list[dict[str, typing.Any]]:
        """
        Traces a source. A signature is a list of inputs (name, dtype, shape). Returns a dictionary for each: variants (plan files), sources (what the kernels of each were compiled from), refusal, log, seconds, and what its process' isolation lacked. Other operations than "trace" may take values, bytes for each signature, and return outputs (dtype, shape, bytes) and notes.
        """

class PlanRunner:
    """
    Replays launch plans on a GPU.
    """
    def __init__(self, device: typing.SupportsInt | typing.SupportsIndex = 0) -> None: ...
    def gpu_state(self) -> dict[str, typing.Any]:
        """
        What NVML says of the GPU now: clocks, power, what slows it and who else is on it.
        """
    def run(self, plan: bytes, inputs: list[typing.Any]) -> tuple[list[typing.Any], float]:
        """
        Replays a plan file on CPU tensors. Returns the outputs, on the CPU, and the time of the launches in microseconds (one sample, warm caches).
        """
    @property
    def hygiene_ms(self) -> float:
        """
        What cleaning between the last two runs took, in milliseconds.
        """

class TimingPlan:
    """
    How many blocks to look at, how sure to be.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def alpha(self) -> float:
        """
        Total probability of a false decision.
        """
    @alpha.setter
    def alpha(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def budget_seconds(self) -> float:
        """
        Clocked time after which no further block begins.
        """
    @budget_seconds.setter
    def budget_seconds(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def decide_blocks(self) -> int:
        """
        Where mode "decide" gives up.
        """
    @decide_blocks.setter
    def decide_blocks(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def decide_gpu_ms(self) -> float:
        """
        GPU time within which mode "decide" ends, warm-up included, unless its first look takes longer.
        """
    @decide_gpu_ms.setter
    def decide_gpu_ms(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def half_width(self) -> float:
        """
        Log-ratio half-width at which mode "report" stops.
        """
    @half_width.setter
    def half_width(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def looks(self) -> list[int]:
        """
        Block counts at which a decision may fall.
        """
    @looks.setter
    def looks(
        self, arg0: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> None: ...
    @property
    def minimum_effect(self) -> float:
        """
        Smallest log-ratio worth claiming.
        """
    @minimum_effect.setter
    def minimum_effect(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def trim(self) -> float:
        """
        Fraction trimmed from each end.
        """
    @trim.setter
    def trim(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...

class GateRule:
    """
    What the stability gate asks for.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def aa_bound(self) -> float:
        """
        Largest |mean A/A log-ratio| that passes.
        """
    @aa_bound.setter
    def aa_bound(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def claim(self) -> float:
        """
        Speed-up that must be beaten.
        """
    @claim.setter
    def claim(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def runs(self) -> int:
        """
        Fresh processes.
        """
    @runs.setter
    def runs(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...

class DeviceOptions:
    """
    Where GPU candidates are compiled for and run.
    """
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def libraries(self) -> list[str]:
        """
        Folders to look for NVRTC in first.
        """
    @libraries.setter
    def libraries(self, arg1: collections.abc.Sequence[str]) -> None: ...
    @property
    def live_tracer(self) -> Tracer:
        """
        Runs host code that needs a GPU, on one; None: it cannot be judged.
        """
    @live_tracer.setter
    def live_tracer(self, arg0: Tracer) -> None: ...
    @property
    def ordinal(self) -> int:
        """
        Of the GPU, as CUDA counts them.
        """
    @ordinal.setter
    def ordinal(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def target(self) -> str:
        """
        Architecture to compile for, e.g. "sm_90"; empty: the GPU's own.
        """
    @target.setter
    def target(self, arg0: str) -> None: ...
    @property
    def tracer(self) -> Tracer:
        """
        Runs the host code of Triton candidates; None: they cannot be judged.
        """
    @tracer.setter
    def tracer(self, arg0: Tracer) -> None: ...

class Options:
    """
    How a referee works. The defaults suit a reward.
    """

    device: DeviceOptions
    gate: GateRule
    limits: Limits
    timing: TimingPlan
    def __init__(self, **kwargs: typing.Any) -> None: ...
    @property
    def cache(self) -> str:
        """
        What a GPU's L2 cache holds when a timed call begins: "cold", "dirty", "hot" or "rotated".
        """
    @cache.setter
    def cache(self, arg1: str) -> None: ...
    @property
    def cancelled(self) -> collections.abc.Callable[[], bool] | None:
        """
        Asked often; true ends the call with CancelledError.
        """
    @cancelled.setter
    def cancelled(self, arg1: collections.abc.Callable[[], bool] | None) -> None: ...
    @property
    def compiler(self) -> str:
        """
        C++ compiler; empty for $CXX, then c++, g++, clang++.
        """
    @compiler.setter
    def compiler(self, arg0: str) -> None: ...
    @property
    def dtypes(self) -> list[str]:
        """
        Empty: those of the problem that the candidate exports.
        """
    @dtypes.setter
    def dtypes(self, arg1: collections.abc.Sequence[str]) -> None: ...
    @property
    def log(self) -> collections.abc.Callable[[str], None] | None:
        """
        Gets diagnostics, one line a call.
        """
    @log.setter
    def log(self, arg1: collections.abc.Callable[[str], None] | None) -> None: ...
    @property
    def mode(self) -> str:
        """
        When timing stops: "screen" at the first look, "decide" on any decision, "report" on precision.
        """
    @mode.setter
    def mode(self, arg1: str) -> None: ...
    @property
    def scratch(self) -> str:
        """
        Parent of scratch folders; empty for the system's.
        """
    @scratch.setter
    def scratch(self, arg1: str) -> None: ...
    @property
    def seed(self) -> int | None:
        """
        None: secret, and revealed in the verdict.
        """
    @seed.setter
    def seed(self, arg0: typing.SupportsInt | typing.SupportsIndex | None) -> None: ...
    @property
    def traces(self) -> str:
        """
        Where timed cells leave their blocks; empty for nowhere.
        """
    @traces.setter
    def traces(self, arg1: str) -> None: ...
    @property
    def until(self) -> str:
        """
        How far to judge: "compile", "sweep", "time" or "gate".
        """
    @until.setter
    def until(self, arg1: str) -> None: ...

class Compiled:
    """
    A candidate that was compiled, or the reason why not.
    """
    def to_json(self) -> tuple[str, str | None]:
        """
        The verdict that holds this stage alone, as JSON, and its failure.
        """
    @property
    def failure(self) -> str | None:
        """
        The status that compiling imposes, or None.
        """
    @property
    def image(self) -> bytes: ...
    @property
    def language(self) -> str:
        """
        What the candidate is written in.
        """

class SharedCases:
    """
    Cases of one problem that a group of candidates is judged on.
    """

class Referee:
    """
    Decides whether a candidate is correct, and how fast.
    """
    def __init__(self, options: Options) -> None: ...
    def calibrate_json(
        self, fresh: bool, cancelled: collections.abc.Callable[[], bool] | None = None
    ) -> str:
        """
        What the GPU's clock can resolve, as JSON.
        """
    def compare_json(
        self,
        problem: Problem,
        a: tuple[bytes, str, str] | Baseline,
        b: tuple[bytes, str, str] | Baseline,
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> str:
        """
        Times one side against the other and returns the verdict as JSON.
        """
    def compile(
        self,
        problem: Problem,
        source: bytes,
        name: str = "candidate",
        language: str = "cpp",
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> Compiled:
        """
        The first stage alone.
        """
    def gate(
        self,
        problem: Problem,
        compiled: Compiled,
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> tuple[str, str | None]:
        """
        The stability gate alone.
        """
    def inspect(self, compiled: Compiled) -> str:
        """
        A verdict, as JSON, whose findings are what the module gives away.
        """
    def judge_json(
        self,
        problem: Problem,
        source: bytes,
        name: str = "candidate",
        language: str = "cpp",
        cancelled: collections.abc.Callable[[], bool] | None = None,
        cases: SharedCases | None = None,
    ) -> str:
        """
        Runs every stage and returns the verdict as JSON.
        """
    def share_cases(self, problem: Problem) -> SharedCases:
        """
        Cases for a group of candidates, drawn when the first of them needs them.
        """
    def sweep(
        self,
        problem: Problem,
        compiled: Compiled,
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> tuple[str, str | None]:
        """
        Correctness alone.
        """
    def time(
        self,
        problem: Problem,
        compiled: Compiled,
        cancelled: collections.abc.Callable[[], bool] | None = None,
    ) -> tuple[str, str | None]:
        """
        Timing against the baselines alone.
        """
    def validate(
        self, problem: Problem, cancelled: collections.abc.Callable[[], bool] | None = None
    ) -> str | None:
        """
        One sentence on what is wrong with the problem, or None when it is sound.
        """
    @property
    def options(self) -> Options: ...

class Isolation:
    """
    The isolation that a candidate's process gets here.
    """
    @property
    def landlock_abi(self) -> int:
        """
        0 when Landlock is not in force.
        """
    @property
    def level(self) -> str:
        """
        "sealed", "sandboxed", "degraded" or "none".
        """
    @property
    def missing(self) -> list[str]:
        """
        One sentence for each mechanism that is not in force.
        """
    @property
    def namespaces(self) -> list[str]: ...
    @property
    def no_new_privileges(self) -> bool: ...
    @property
    def process_group(self) -> bool: ...
    @property
    def resource_limits(self) -> bool: ...
    @property
    def runs_as_root(self) -> bool: ...
    @property
    def sealed(self) -> bool:
        """
        Every system call of the candidate stops it.
        """

class PlanRefusal:
    """
    Why a plan may not be replayed.
    """
    @property
    def evidence(self) -> str:
        """
        One sentence.
        """
    @property
    def kind(self) -> str:
        """
        One of the names in docs/plan.md.
        """

class KernelResources:
    """
    What a cubin says of one of its kernels.
    """
    @property
    def function(self) -> str: ...
    @property
    def parameter_bytes(self) -> int: ...
    @property
    def parameters(self) -> list[tuple[int, int]]:
        """
        Offset and size of each, in order.
        """
    @property
    def registers(self) -> int:
        """
        A thread.
        """
    @property
    def shared_bytes(self) -> int:
        """
        Static shared memory of a block.
        """
    @property
    def stack_bytes(self) -> int:
        """
        A thread's local memory: arrays and spills.
        """

class LaunchPlan:
    """
    What a GPU candidate would launch, as data: see docs/plan.md.
    """
    @staticmethod
    def from_bytes(data: bytes) -> LaunchPlan:
        """
        Reads the bytes of a plan file, or says what is wrong with them.
        """
    def audit(
        self,
        *,
        inputs: collections.abc.Sequence[
            tuple[
                str,
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            ]
        ]
        | None = None,
        outputs: collections.abc.Sequence[
            tuple[
                str,
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
                collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            ]
        ]
        | None = None,
        library_kernels: bool = True,
        launches: typing.SupportsInt | typing.SupportsIndex = 4096,
        scratch_bytes: typing.SupportsInt | typing.SupportsIndex = 4294967296,
    ) -> list[PlanRefusal]:
        """
        Every reason why the plan may not be replayed. Inputs and outputs are (dtype, shape, strides in elements); without them the plan's own are taken as right.
        """
    def document(self) -> typing.Any:
        """
        The file's document as plain data: all but the images.
        """
    def image(self, index: typing.SupportsInt | typing.SupportsIndex) -> bytes:
        """
        The bytes of an image: a cubin, or what a state buffer holds.
        """
    def to_bytes(self) -> bytes:
        """
        The plan file. Equal plans give equal bytes.
        """

def cubin_target(cubin: bytes) -> str:
    """
    The architecture of a cubin, e.g. "sm_90" or "sm_90a".
    """

def cuda_devices() -> tuple[list[dict[str, typing.Any]], str]:
    """
    The GPUs of this machine, and why there is none.
    """

def explain(verdict_json: str) -> str:
    """
    A short text for a person.
    """

def feedback(verdict_json: str) -> str:
    """
    A short text for a model to learn from.
    """

def get_problem(name: str) -> Problem:
    """
    A problem that ships with the library.

    Raises:
        NotFoundError: There is none of that name; the message lists them.
    """

def kernel_resources(cubin: bytes) -> list[KernelResources]:
    """
    The resource usage of every kernel of a cubin.
    """

def own_process(pid: typing.SupportsInt | typing.SupportsIndex, own: bool) -> None:
    """
    Whether a process counts as this program's own when others on the GPU are counted.
    """

def probe_isolation() -> Isolation:
    """
    What a sealed process gets on this machine, found out by sandboxing a program that does nothing.
    """

def problem_names() -> list[str]:
    """
    Names of the problems that ship, in order.
    """

def read_candidate(path: str) -> tuple[bytes, str]:
    """
    The source and the name of a candidate in a file.
    """

def reward(verdict_json: str, policy_json: str = "{}") -> float | None:
    """
    A reward, or None for infrastructure faults and invalid problems.
    """

def sha256(data: bytes) -> str:
    """
    SHA-256 as 64 lower-case hexadecimal digits.
    """

def trimmed_interval(
    values: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
    trim: typing.SupportsFloat | typing.SupportsIndex = 0.1,
    alpha: typing.SupportsFloat | typing.SupportsIndex = 0.05,
) -> tuple[float, float, float]:
    """
    The trimmed mean of at least 4 values and the ends of its t-interval at confidence 1 - alpha.
    """

SCHEMA_VERSION: int = 1
__version__: str = "0.1.0"
