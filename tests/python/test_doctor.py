"""What `ouroboros doctor` says of this machine, and of worse ones."""

from __future__ import annotations

from pathlib import Path

import ouroboros
import pytest
from ouroboros import _ouroboros, doctor


def by_name(checks: list[doctor.Check]) -> dict[str, doctor.Check]:
    return {check.name: check for check in checks}


def test_this_machine_can_judge() -> None:
    checks = by_name(doctor.examine())
    assert checks["compiler"].state == "ok"
    assert checks["judgement"].state == "ok", checks["judgement"].found
    assert checks["seal"].state == "ok"
    assert _ouroboros.__version__ in checks["versions"].found


def test_a_missing_compiler_is_loud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    check = doctor._compiler()
    assert check.state == "missing"
    assert "apt-get" in check.advice


def test_a_compiler_that_does_not_run_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken-c++"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    check = doctor._compiler()
    assert check.state == "missing"
    assert str(broken) in check.found


def test_a_scratch_folder_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path / "absent"))
    check = doctor._scratch()
    assert check.state == "missing"
    assert "TMPDIR" in check.advice


def test_a_kernel_without_notification_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_lines", lambda path: ["kill_process errno allow"])
    check = doctor._notification()
    assert check.state == "missing"
    assert "errno" in check.found


def test_a_judgement_that_cannot_run_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise _ouroboros.SandboxUnavailableError("no seal")

    monkeypatch.setattr(ouroboros.referee, "verify", refuse)
    (check,) = doctor._judgement()
    assert (check.name, check.state) == ("judgement", "missing")
    assert "sandbox_unavailable: no seal" in check.found
    assert check.advice


def test_a_wrong_judgement_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_KERNEL", doctor._KERNEL.replace("sum += ", "sum += 1 + "))
    checks = by_name(doctor._judgement())
    assert checks["judgement"].state == "missing"
    assert "incorrect" in checks["judgement"].found


def test_the_probe_agrees_with_a_judgement() -> None:
    isolation = _ouroboros.probe_isolation()
    checks = by_name(doctor._judgement())
    assert (isolation.landlock_abi > 0) == (checks["Landlock"].state == "ok")
    assert isolation.resource_limits == (checks["resource limits"].state == "ok")
