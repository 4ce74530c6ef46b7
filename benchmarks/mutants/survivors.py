"""Why mutants live: the arguments, in one place."""

from __future__ import annotations

__all__ = ["argued", "is_equivalent"]
ONLY_NOT_FINITE = WHAT_WAS_RUN = WHAT_WAS_NOT_RUN = ""


def argued(row):
    return None


def is_equivalent(row):
    return False
