"""The attacks that ship with the library: each must be refused, each honest twin accepted."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ouroboros._ouroboros import InvalidArgumentError, NotFoundError, cuda_devices
from ouroboros.referee import Referee, Stage
from ouroboros.verdict import Status, Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "Attack",
    "AttackResult",
    "has_gpu",
    "load_attacks",
    "load_gpu_attacks",
    "packaged_folder",
    "run_attack",
    "run_attacks",
]

# What is refused before a replay, and so on any machine, is compiled for the GPU of these tables.
_TARGET = "sm_90"
_NEED_NO_GPU = ("trace", "compile", "audit")
_GPU_LIMITS = {"replay_seconds": 2.0, "compile_seconds": 10.0}


@dataclass(frozen=True)
class Attack:
    """A cheat and its honest twin.

    Attributes:
        name: Its name.
        file: The cheat's source.
        twin: The honest twin's source.
        problem: Name of the problem that both claim to solve.
        tries: What the cheat tries.
        statuses: The statuses that count as refused.
        finding: Kind of the finding that must be there; empty where none has to.
        evidence: Regular expression that the evidence must match; empty for any.
        until: How far to judge.
        limits: Limits that differ from the defaults, for the cheat alone.
        demo: Whether the demo shows it.
        dtypes: Element types that it is judged in; empty for all that it takes.
        target: Architecture to compile for; empty for the GPU's own.
        hole: Why it is known to be accepted, at least by some seeds; empty where it never is.
    """

    name: str
    file: Path
    twin: Path
    problem: str
    tries: str
    statuses: tuple[str, ...]
    finding: str
    evidence: str
    until: Stage
    limits: tuple[tuple[str, float], ...]
    demo: bool = False
    dtypes: tuple[str, ...] = ()
    target: str = ""
    hole: str = ""


@dataclass(frozen=True)
class AttackResult:
    """What became of an attack and its twin; the twin's verdict is None when it was not judged."""

    attack: Attack
    verdict: Verdict
    twin: Verdict | None

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is not as expected, one clause each."""
        return (*self._attack_problems, *self._twin_problems)

    @property
    def passed(self) -> bool:
        """Whether the cheat was refused as expected and the twin accepted."""
        return not self.problems

    @property
    def is_known_hole(self) -> bool:
        """Whether the cheat was accepted, as is known, and the twin too."""
        accepted = self.verdict.status is Status.ok
        return bool(self.attack.hole) and accepted and self.twin_passed

    @property
    def attack_passed(self) -> bool:
        """Whether the cheat was refused as expected."""
        return not self._attack_problems

    @property
    def twin_passed(self) -> bool:
        """Whether the twin was accepted; true when it was not judged."""
        return not self._twin_problems

    @cached_property
    def _attack_problems(self) -> tuple[str, ...]:
        wrong: list[str] = []
        if self.verdict.status.value not in self.attack.statuses:
            wrong.append(
                f"expected {' or '.join(self.attack.statuses)}, got {self.verdict.status}: "
                f"{self.verdict.summary}"
            )
        kinds = [finding.kind for finding in self.verdict.findings]
        if self.attack.finding and self.attack.finding not in kinds:
            wrong.append(f"expected the finding {self.attack.finding}, got {kinds or 'none'}")
        texts = [f"{finding.kind}: {finding.evidence}" for finding in self.verdict.findings]
        texts += [case.message for case in self.verdict.correctness.cases if case.message]
        texts.append(self.verdict.summary)
        if not any(re.search(self.attack.evidence, text) for text in texts):
            wrong.append(f"no evidence matches {self.attack.evidence!r}")
        return tuple(wrong)

    @cached_property
    def _twin_problems(self) -> tuple[str, ...]:
        if self.twin is None or self.twin.status is Status.ok:
            return ()
        return (f"the honest twin got {self.twin.status}: {self.twin.summary}",)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain data."""
        return {
            "attack": self.attack.name,
            "problem": self.attack.problem,
            "tries": self.attack.tries,
            "expected": list(self.attack.statuses),
            "status": self.verdict.status.value,
            "findings": [finding.model_dump() for finding in self.verdict.findings],
            "summary": self.verdict.summary,
            "twin_status": None if self.twin is None else self.twin.status.value,
            "passed": self.passed,
            "known_hole": self.is_known_hole,
            "problems": list(self.problems),
        }


def packaged_folder(name: str) -> Path:
    """Returns the folder "attacks", "kernels", "gpu/attacks" or "gpu/kernels".

    It is the package's, or the source tree's.

    Raises:
        NotFoundError: Neither has it.
    """
    package = Path(__file__).resolve().parent
    source = {"kernels": "examples/kernels"}.get(name, f"tests/{name}")
    for folder in (package / name, package.parent.parent / source):
        if folder.is_dir():
            return folder
    raise NotFoundError(f"the folder '{name}' is missing from this installation of ouroboros")


def load_attacks(folder: Path | None = None) -> list[Attack]:
    """Reads the table of attacks.

    Args:
        folder: Where attacks.toml is; by default the packaged one.

    Raises:
        InvalidArgumentError: The table is malformed; the message names the row.
    """
    folder = folder or packaged_folder("attacks")
    return [_attack(folder, row, until=row.get("until", "sweep")) for row in _rows(folder)]


def has_gpu() -> bool:
    """Whether this machine has a GPU that candidates can be replayed on."""
    return bool(cuda_devices()[0])


def load_gpu_attacks(folder: Path | None = None, *, on_gpu: bool) -> list[Attack]:
    """Reads the table of attacks in Triton, Python, CUDA C++ and PTX.

    Args:
        folder: Where attacks.toml is; by default the packaged one.
        on_gpu: Whether they meet a GPU. Otherwise those are left out that only a replay answers.

    Raises:
        InvalidArgumentError: The table is malformed; the message names the row.
    """
    folder = folder or packaged_folder("gpu/attacks")
    attacks = []
    for row in _rows(folder):
        if not on_gpu and row.get("answered") not in _NEED_NO_GPU:
            continue
        row["limits"] = _GPU_LIMITS | row.get("limits", {})
        if on_gpu and "on_gpu" in row:
            row["expect"] = row["on_gpu"]
        until: Stage = "sweep" if on_gpu else row.get("until", "compile")
        target = "" if on_gpu else _TARGET
        attacks.append(_attack(folder, row, until=until, dtypes=("float32",), target=target))
    return attacks


def _rows(folder: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = tomllib.loads(
            (folder / "attacks.toml").read_text(encoding="utf-8")
        )["attack"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgumentError(f"attacks.toml cannot be read: {error}") from error
    return rows


def _attack(
    folder: Path,
    row: dict[str, Any],
    *,
    until: Stage,
    dtypes: tuple[str, ...] = (),
    target: str = "",
) -> Attack:
    try:
        expect = row["expect"]
        return Attack(
            name=row["name"],
            file=folder / row["file"],
            twin=folder / row["twin"],
            problem=row["problem"],
            tries=row["tries"],
            statuses=tuple(Status(status).value for status in expect["status"]),
            finding=expect.get("finding", ""),
            evidence=expect.get("evidence", ""),
            until=until,
            limits=tuple(row.get("limits", {}).items()),
            demo=row.get("demo", False),
            dtypes=dtypes,
            target=target,
            hole=row.get("hole", ""),
        )
    except (KeyError, ValueError) as error:
        raise InvalidArgumentError(
            f"attacks.toml: the row {row.get('name', '?')!r} is malformed: {error!r}"
        ) from error


_Result = TypeVar("_Result")


def _once(call: Callable[..., _Result]) -> Callable[..., _Result]:
    """Returns `call`, made once for the same arguments; who asks meanwhile waits for the result."""
    futures: dict[tuple[Any, ...], Future[_Result]] = {}
    lock = threading.Lock()

    def ask(*arguments: Any) -> _Result:
        with lock:
            first = arguments not in futures
            future = futures.setdefault(arguments, Future())
        if first:
            try:
                future.set_result(call(*arguments))
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    return ask


class _Judges:
    """One referee, and so one tracer, for all attacks with the same options; each twin once."""

    def __init__(self) -> None:
        self.referee = _once(self._referee)
        self.twin = _once(self._twin)

    def judge(self, attack: Attack, *, twin: bool) -> AttackResult:
        rules = (attack.until, attack.dtypes, attack.target)
        verdict = self.referee(*rules, attack.limits).judge(attack.problem, attack.file)
        return AttackResult(
            attack=attack,
            verdict=verdict,
            twin=self.twin(attack.problem, attack.twin, rules) if twin else None,
        )

    @staticmethod
    def _referee(
        until: Stage,
        dtypes: tuple[str, ...],
        target: str,
        limits: tuple[tuple[str, float], ...],
    ) -> Referee:
        return Referee(
            until=until,
            limits=dict(limits),
            dtypes=dtypes,
            target=target,
            baselines=("eager",),
        )

    def _twin(self, problem: str, file: Path, rules: tuple[Any, ...]) -> Verdict:
        # An attack's limits only keep it quick. On a busy machine they would refuse what is honest.
        return self.referee(*rules, ()).judge(problem, file)


def run_attack(attack: Attack, *, twin: bool = True) -> AttackResult:
    """Judges an attack, and its honest twin under the default limits."""
    return _Judges().judge(attack, twin=twin)


def run_attacks(
    attacks: Iterable[Attack], *, twins: bool = True, workers: int = 1
) -> Iterator[AttackResult]:
    """Judges attacks, yielding each result, in order, as it is known.

    Args:
        attacks: From `load_attacks` or `load_gpu_attacks`.
        twins: Whether their honest twins are judged as well.
        workers: How many are judged at once.
    """
    judges = _Judges()
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(judges.judge, attack, twin=twins) for attack in attacks]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
