"""Kills processes of referees at random while they judge, and looks at the verdicts."""

from __future__ import annotations

import contextlib
import queue
import random
import shutil
import signal
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from candidates import MIX, Known
from processes import Process, become_subreaper, below, kill, reap_orphans
from referees import Referee

__all__ = ["LIMITS", "run"]

LIMITS = {"compile_seconds": 60.0, "replay_seconds": 5.0}

#: A verdict takes some seconds; with every stage at its limit, twice over and once more on a new
#: zygote, less than this.
HANG_SECONDS = 400.0

# A crash of a process that runs what a candidate wrote cannot be told from the candidate's own, and
# the fake driver takes one for an address that a kernel should not have touched.
_TRUSTED = ("zygote", "supervisor")
# A new zygote imports PyTorch, and until then no tracer is there to be killed.
_SELDOM = {"zygote": 0.15, "live zygote": 0.1, "sandbox of the zygote": 0.15}
_WANTED = ("", "compiler", "compiler", "executor", "cuda executor", "cuda compiler", "tracer",
           "tracer", "supervisor", "assembler")  # fmt: skip
# Whoever is killed at every try cannot be told from one that has itself killed.
_MOST_KILLS = 4  # While any one verdict is made.
_BEFORE_SECONDS = 20.0  # What was killed so long before a verdict began may still concern it.


@dataclass
class Kill:
    """One signal that was sent."""

    referee: str
    kind: str
    signal: str
    at: float
    judging: list[str]
    moment: str  #: "seen": as soon as the process was there; "later": some time after.


@dataclass
class Round:
    """What happened while candidates were judged."""

    verdicts: list[dict[str, Any]] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)


class _Killer:
    """Picks a process, waits a moment, kills it."""

    def __init__(self, referees: list[Referee], seed: int, wanted: int, pause_share: float) -> None:
        self.random = random.Random(seed)
        self.referees = referees
        self.wanted = wanted
        self.pause_share = pause_share
        self.kills: list[Kill] = []
        self.judging: dict[str, dict[int, str]] = {one.name: {} for one in referees}
        self.struck: Counter[int] = Counter()  #: Kills while each verdict was made.
        self.over = threading.Event()
        self._stopped: list[tuple[float, Process]] = []

    @property
    def done(self) -> bool:
        """Whether there were as many kills as wanted."""
        return sum(one.signal != "SIGSTOP" for one in self.kills) >= self.wanted

    def run(self) -> None:
        """Kills until told to stop."""
        while not self.over.is_set() and not self.done:
            self._resume(time.monotonic())
            self._strike()
        self._resume(float("inf"))

    def _resume(self, now: float) -> None:
        for at, process in self._stopped:
            if at <= now:
                kill(process, signal.SIGCONT)
        self._stopped = [one for one in self._stopped if one[0] > now]

    def _strike(self) -> None:
        choose = self.random
        referee = choose.choice(self.referees)
        # Kinds that are there are waited for in a busy loop: compilers live for milliseconds.
        patience = time.monotonic() + choose.uniform(0, 0.2)
        wanted = choose.choice(_WANTED)
        found: list[Process] = []
        while not found and not self.over.is_set():
            found = [one for one in below(referee.process.pid)
                     if wanted in one.kind]  # fmt: skip
            if time.monotonic() > patience:
                break
        serials = dict(self.judging[referee.name])
        struck = max((self.struck[serial] for serial in serials), default=_MOST_KILLS)
        if not found or struck >= _MOST_KILLS:
            time.sleep(0.02)
            return
        kinds = sorted({one.kind for one in found})
        if choose.random() > max(_SELDOM.get(kind, 1.0) for kind in kinds):
            return
        kind = choose.choices(kinds, [_SELDOM.get(one, 1.0) for one in kinds])[0]
        process = choose.choice([one for one in found if one.kind == kind])
        moment = choose.choice(("seen", "later"))
        if moment == "later":
            time.sleep(choose.uniform(0, 0.15))
        number = signal.SIGKILL
        if choose.random() < self.pause_share:
            number = signal.SIGSTOP
        elif kind in _TRUSTED and choose.random() < 0.2:
            number = signal.SIGSEGV
        judging = sorted(serials.values())
        if kill(process, number):
            at = time.monotonic()
            if number != signal.SIGSTOP:
                self.struck.update(serials.keys())
            if number == signal.SIGSTOP:
                self._stopped.append((at + choose.uniform(0.05, 2.0), process))
            name = signal.Signals(number).name
            self.kills.append(Kill(referee.name, kind, name, at, judging, moment))
            time.sleep(choose.uniform(0, 0.3))


def _judge(
    referees: list[Referee], queues: dict[str, list[Known]], killer: _Killer | None, least: int
) -> Round:
    """Judges what is queued, and with a killer again and again until it has done its work."""
    result = Round()
    running: dict[str, dict[int, tuple[Known, float]]] = {one.name: {} for one in referees}
    serial = 0
    while True:
        for referee in referees:
            mine = running[referee.name]
            more = len(mine) < referee.threads
            while more and ((killer is not None and not killer.done) or serial < least):
                known = queues[referee.name][serial % len(queues[referee.name])]
                serial += 1
                mine[serial] = known, time.monotonic()
                if killer is not None:
                    killer.judging[referee.name][serial] = known.name
                referee.ask({"id": serial, "candidate": known.name})
                more = len(mine) < referee.threads
            with contextlib.suppress(queue.Empty):
                said = referee.answers.get(timeout=0.02)
                if said.get("over"):
                    raise RuntimeError(f"the referee {referee.name} has ended")
                if "started" in said:
                    continue
                known, _ = mine.pop(said["id"])
                if killer is not None:
                    del killer.judging[referee.name][said["id"]]
                said |= {"candidate": known.name, "referee": referee.name, "right": known.status}
                result.verdicts.append(said)
            for identity, (known, asked) in list(mine.items()):
                if time.monotonic() - asked > HANG_SECONDS:
                    result.hung.append(known.name)
                    del mine[identity]
        if not any(running.values()) and (killer is None or killer.done) and serial >= least:
            break
    return result


def _judge_all(referees: list[Referee]) -> Round:
    """Each candidate once, with nobody to disturb."""
    result = Round()
    for referee in referees:
        mine = [known for known in MIX if known.kind == referee.name]
        part = _judge([referee], {referee.name: mine}, None, len(mine))
        result.verdicts += part.verdicts
        result.hung += part.hung
    return result


def _wrong(verdict: dict[str, Any], kills: list[Kill]) -> str:
    """Why a verdict is not what it has to be; empty where it is."""
    if verdict["status"] == verdict["right"]:
        return ""
    if verdict["status"] != "infrastructure_error":
        return f"{verdict['status']} where {verdict['right']} is right"
    if not kills:
        return "infrastructure_error with nothing killed"
    if any(severity == "cheat" for _, severity, _, _ in verdict["findings"]):
        return "an infrastructure_error that speaks of a cheat"
    return ""


def _near(verdict: dict[str, Any], kills: list[Kill]) -> list[Kill]:
    begin, end = verdict["began"] - _BEFORE_SECONDS, verdict["ended"]
    return [one for one in kills if one.referee == verdict["referee"] and begin <= one.at <= end]


def _grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {key: after[key] - before.get(key, 0)
            for key in sorted(after) if after[key] > before.get(key, 0)}  # fmt: skip


def run(driver: Path, kills: int, seed: int, pause_share: float = 0.15) -> dict[str, Any]:
    """Counts what goes wrong over `kills` random kills.

    Args:
        driver: The fake CUDA driver.
        kills: How many processes to kill.
        seed: Of the choices. When which process is there is up to the machine.
        pause_share: Share of signals that only stop a process for a moment.
    """
    become_subreaper()
    order = random.Random(seed)
    referees = [
        Referee("gpu", 3, LIMITS, {"OUROBOROS_LIBCUDA": str(driver)}),
        Referee("interpreted", 1, LIMITS),
    ]
    queues = {one.name: [known for known in MIX if known.kind == one.name] * 5 for one in referees}
    for mine in queues.values():
        order.shuffle(mine)
    began = time.monotonic()
    try:
        undisturbed = _judge_all(referees)
        before = [referee.census() for referee in referees]
        killer = _Killer(referees, seed, kills, pause_share)
        thread = threading.Thread(target=killer.run)
        thread.start()
        try:
            disturbed = _judge(referees, queues, killer, 0)
        finally:
            killer.over.set()
            thread.join()
        # What was lost is started again, so that both counts are of whole referees.
        afterwards = _judge_all(referees)
        after = [referee.census() for referee in referees]
    finally:
        statuses = {referee.name: referee.close() for referee in referees}
    orphans = reap_orphans(set())
    # Locks of processors and GPUs stay: a file that is removed while another waits locks nobody.
    left = [path for referee in referees for path in referee.left_files()
            if not path.endswith((".lock", ".queue", ".replays"))]  # fmt: skip
    for referee in referees:
        shutil.rmtree(referee.folder, ignore_errors=True)

    rows = []
    for verdict in disturbed.verdicts:
        near = _near(verdict, killer.kills)
        if why := _wrong(verdict, near):
            rows.append({"why": why, "verdict": verdict, "kills": [asdict(one) for one in near]})
    for name, part in (("before", undisturbed), ("afterwards", afterwards)):
        for verdict in part.verdicts:
            if verdict["status"] != verdict["right"]:
                rows.append({"why": f"wrong {name} the kills", "verdict": verdict, "kills": []})
    leaks = {
        referee.name: {
            "processes": _grown(first.processes, last.processes),
            "descriptors": _grown(first.descriptors, last.descriptors),
            "threads": max(0, last.threads - first.threads),
            "files": _grown(first.files, last.files),
            "shared_memory": max(0, last.shared_memory - first.shared_memory),
        }
        for referee, first, last in zip(referees, before, after, strict=True)
    }
    table: dict[str, Counter[str]] = {}
    for one in killer.kills:
        table.setdefault(one.kind, Counter())[one.signal] += 1
    fatal = [one for one in killer.kills if one.signal != "SIGSTOP"]
    infrastructure = [one for one in disturbed.verdicts if one["status"] == "infrastructure_error"]
    return {
        "summary": {
            "random_kills": len(fatal),
            "pauses": len(killer.kills) - len(fatal),
            "verdicts": len(disturbed.verdicts),
            "infrastructure_errors": len(infrastructure),
            "wrong_after_kill": len(rows),
            "lost": sum(one["status"] == "exception" for one in disturbed.verdicts),
            "hangs": len(disturbed.hung),
            "leaks": sum(
                sum(kind.values()) if isinstance(kind, dict) else kind
                for leak in leaks.values() for kind in leak.values()
            ) + len(orphans) + len(left),
        },
        "kills": {kind: dict(count) for kind, count in sorted(table.items())},
        "kills_by_candidate": dict(
            Counter(name for one in fatal for name in set(one.judging)).most_common()
        ),
        "infrastructure_findings": dict(
            Counter(finding[0] for one in infrastructure for finding in one["findings"])
        ),
        "infrastructure_sentences": dict(
            Counter(one["summary"][:160] for one in infrastructure).most_common()
        ),
        "wrong_sentences": dict(Counter(row["verdict"]["summary"][:160] for row in rows)),
        "wrong": rows,
        "hung": disturbed.hung,
        "slowest_verdict_s": max(one["ended"] - one["began"] for one in disturbed.verdicts),
        "leaks": leaks,
        "orphans": orphans,
        "left_files": left,
        "before": [asdict(one) for one in before],
        "after": [asdict(one) for one in after],
        "exit_statuses": statuses,
        "seconds": time.monotonic() - began,
        "seed": seed,
    }  # fmt: skip
