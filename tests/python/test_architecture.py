"""Arrows point inward: docs/architecture.md lists the folders of src, and each includes what stands
above it alone."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
LISTED = re.findall(
    r"^src/([\w/]+) ", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.MULTILINE
)


def room_of(path: str) -> int:
    """The place in the list of the folder that a file of src, or one beside it, belongs to."""
    folder = path.rpartition("/")[0]
    while folder not in LISTED:
        folder = folder.rpartition("/")[0]
        assert folder, f"docs/architecture.md lists no folder of src/{path}"
    return LISTED.index(folder)


def test_every_folder_includes_what_is_listed_above_it() -> None:
    sources = [path for suffix in ("*.cpp", "*.hpp") for path in sorted(SRC.rglob(suffix))]
    assert len(sources) > 300
    outward = []
    for path in sources:
        name = path.relative_to(SRC).as_posix()
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            # Public headers are everybody's.
            if (SRC / included).exists() and room_of(included) > room_of(name):
                outward.append(f"{name} includes {included}")
    assert not outward
