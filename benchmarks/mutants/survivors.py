"""Why mutants live: the arguments, in one place."""

from __future__ import annotations

import fnmatch
from typing import Any

__all__ = ["argued", "is_equivalent"]
