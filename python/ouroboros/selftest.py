"""The attacks that ship with the library: each must be refused, each honest twin accepted."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ouroboros._ouroboros import InvalidArgumentError, NotFoundError
from ouroboros.referee import Referee, Stage
from ouroboros.verdict import Status, Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Attack", "AttackResult", "load_attacks", "packaged_folder", "run_attack", "run_attacks"]


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
        limits: Limits that differ from the defaults.
        demo: Whether the demo shows it.
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
    demo: bool


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
            "problems": list(self.problems),
        }


def packaged_folder(name: str) -> Path:
    """Returns the folder "attacks" or "kernels": of the package, or of the source tree.

    Raises:
        NotFoundError: Neither has it.
    """
    package = Path(__file__).resolve().parent
    source = {"attacks": "tests/attacks", "kernels": "examples/kernels"}[name]
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
    try:
        rows = tomllib.loads((folder / "attacks.toml").read_text(encoding="utf-8"))["attack"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgumentError(f"attacks.toml cannot be read: {error}") from error
    return [_attack(folder, row) for row in rows]


def _attack(folder: Path, row: dict[str, Any]) -> Attack:
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
            until=row.get("until", "sweep"),
            limits=tuple(row.get("limits", {}).items()),
            demo=row.get("demo", False),
        )
    except (KeyError, ValueError) as error:
        raise InvalidArgumentError(
            f"attacks.toml: the row {row.get('name', '?')!r} is malformed: {error!r}"
        ) from error


def run_attack(attack: Attack, *, twin: bool = True) -> AttackResult:
    """Judges an attack, and its honest twin under the same rules."""
    referee = Referee(until=attack.until, limits=dict(attack.limits), baselines=("eager",))
    return AttackResult(
        attack=attack,
        verdict=referee.judge(attack.problem, attack.file),
        twin=referee.judge(attack.problem, attack.twin) if twin else None,
    )


def run_attacks(attacks: Iterable[Attack], *, twins: bool = True) -> Iterator[AttackResult]:
    """Judges attacks one after another, yielding each result as it is known."""
    for attack in attacks:
        yield run_attack(attack, twin=twins)
