"""What a supervisor and its child are told about one request."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ouroboros.trace.zygote.frames import FrameError

__all__ = ["Access", "Job", "Limits"]

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one request may use."""

    seconds: float = 30.0  #: Wall time, without waiting for a processor.
    waiting_seconds: float = 60.0  #: Of waiting for a processor that are not counted as `seconds`.
    memory_mib: int = 2048  #: Beyond what the zygote holds: of each process, and of all together.
    processes: int = 16  #: At once.
    file_mib: int = 64  #: Size of any file.
    scratch_mib: int = 256  #: Size of the scratch folder.
    result_mib: int = 256  #: Size of what is returned.
    log_kib: int = 64  #: Output that is kept.

    @classmethod
    def parse(cls, document: object) -> Limits:
        """Reads limits from a request. Raises `FrameError` that names a wrong one."""
        if not isinstance(document, dict):
            raise FrameError("a request's limits are no object")
        known = {field.name for field in fields(cls)}
        for name, value in document.items():
            if name not in known or type(value) not in (int, float) or value <= 0:
                raise FrameError(f"a request's limit {name!r} is unknown or no positive number")
        return cls(**document)


@dataclass(frozen=True)
class Access:
    """What children get at besides their scratch folders."""

    readable: tuple[str, ...]  #: May be read and executed.
    writable: tuple[str, ...] = ()
    gpu: bool = False  #: They use the GPU, whose driver does not work in every sandbox.


@dataclass(frozen=True)
class Job:
    """One request: an operation, its argument, and where it may run."""

    operation: str  #: "module:function".
    request: dict[str, Any]
    limits: Limits
    scratch: str  #: A folder of its own.
    builds: str  #: One that it shares with other requests of the same candidate; may be empty.
    access: Access
    base_address_space: int  #: What the zygote holds itself, in bytes; 0 where unknown.
    base_resident: int
