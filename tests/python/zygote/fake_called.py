"""As-called times without a GPU: everything is real but the device."""

from __future__ import annotations

from typing import Any

from ouroboros.trace import as_called


def run(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Stands for `ouroboros.trace.as_called.run`."""
    return as_called.run(request, "cpu", lambda: None)
