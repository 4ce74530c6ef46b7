"""Names of inputs, outputs and axes, which are a candidate's parameters."""

from __future__ import annotations

import re

__all__ = ["free_name"]


def free_name(name: str, taken: set[str]) -> str:
    """Returns a name for a C++ parameter that is not taken, and takes it."""
    base = re.sub(r"\W", "_", name, flags=re.ASCII)
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    taken.add(found)
    return found
