"""Why a candidate could not be traced."""

from __future__ import annotations

import linecache
from types import TracebackType

__all__ = ["RefusalError", "candidate_frames"]

MESSAGE_LIMIT = 2000
FRAME_LIMIT = 8


class RefusalError(BaseException):
    """The trace cannot go on.

    Not an `Exception`: a candidate that swallows exceptions would otherwise go on along a path
    that it would not take on a device.

    Args:
        kind: "needs_device", "unsupported", "signature", "missing_entry_point", ...
        message: One sentence.
        op: The operation that was refused, if one was, e.g. "aten::add.Tensor".
    """

    def __init__(self, kind: str, message: str, op: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.op = op
        self.message = message

    @classmethod
    def needs_device(cls, op: str) -> RefusalError:
        """An operation whose result depends on what is in device memory."""
        return cls(
            "needs_device",
            f"{op} needs a device: a dry trace has no memory behind tensors; write it as a "
            "Triton kernel or trace live.",
            op,
        )

    @classmethod
    def unsupported(cls, op: str, why: str) -> RefusalError:
        """A feature that a launch plan cannot hold, or that this tracer does not know."""
        return cls("unsupported", f"{op}: {why}", op)

    def to_dict(self, filename: str) -> dict[str, str]:
        """Returns the refusal as plain data, with the candidate's frames in `filename`."""
        return {
            "kind": self.kind,
            "op": self.op,
            "message": self.message[:MESSAGE_LIMIT],
            "traceback": candidate_frames(self.__traceback__, filename),
        }


def candidate_frames(traceback: TracebackType | None, filename: str) -> str:
    """Returns the frames of a traceback that lie in the candidate's file, innermost last."""
    lines = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == filename:
            number = traceback.tb_lineno
            text = linecache.getline(filename, number).strip()
            lines.append(f"line {number}, in {code.co_name}: {text[:160]}")
        traceback = traceback.tb_next
    return "\n".join(lines[-FRAME_LIMIT:])
