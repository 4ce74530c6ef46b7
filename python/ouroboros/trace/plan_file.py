"""Writes launch plans: `docs/plan.md` has the format."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["read_plan", "write_plan"]

_MAGIC = b"OUROPLAN"
_VERSION = 1
_HEADER = struct.Struct("<8sIIQ32s")


def write_plan(document: Mapping[str, Any], images: Sequence[bytes]) -> bytes:
    """Returns the file of a plan.

    Args:
        document: The plan's document without "images", which is made here.
        images: The bytes of modules and state buffers, in the order of their indices.
    """
    entries = [{"bytes": len(one), "sha256": hashlib.sha256(one).hexdigest()} for one in images]
    whole = {**document, "images": entries}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
    body = b"".join([text, *images])
    total = sum(len(one) for one in images)
    return _HEADER.pack(_MAGIC, _VERSION, len(text), total, hashlib.sha256(body).digest()) + body


def read_plan(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Returns the document and the images of a plan that this machine wrote.

    For plans that a stranger wrote there is `ouroboros::LaunchPlan::parse`, which trusts nothing.

    Raises:
        ValueError: The bytes are no plan, or were damaged.
    """
    if len(data) < _HEADER.size:
        raise ValueError("a plan has a header of 56 bytes, and this ends before")
    magic, version, size, total, digest = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ValueError("this is no plan of format version 1")
    body = data[_HEADER.size :]
    if len(body) != size + total or hashlib.sha256(body).digest() != digest:
        raise ValueError("the plan was cut short or changed after it was written")
    document: dict[str, Any] = json.loads(body[:size])
    images = []
    at = size
    for one in document["images"]:
        images.append(body[at : at + one["bytes"]])
        at += one["bytes"]
    return document, images
