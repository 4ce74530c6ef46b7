"""Frames: how the tracer's processes talk. src/trace/frames.hpp is the same in C++.

A frame is a header of 16 bytes (magic, size of the document, size of all blobs), a document (a
JSON object in UTF-8) and the blobs. The document's "blobs" lists their sizes. Where the document
speaks of bytes it says ``{"$blob": index}``.
"""

from __future__ import annotations

import json
import struct
from typing import Any

__all__ = ["Decoder", "Frame", "FrameError", "encode", "pack", "unpack"]

MAGIC = b"OURF"
HEADER = struct.Struct("<4sIQ")
MAX_DOCUMENT_BYTES = 16 << 20
MAX_BLOB_BYTES = 1 << 30

Frame = tuple[dict[str, Any], list[bytes]]


class FrameError(ValueError):
    """Bytes that are no frame."""


def encode(document: dict[str, Any], blobs: list[bytes]) -> bytes:
    """Returns the frame of `document` and `blobs`."""
    text = json.dumps({**document, "blobs": [len(blob) for blob in blobs]}).encode()
    size = sum(len(blob) for blob in blobs)
    if len(text) > MAX_DOCUMENT_BYTES or size > MAX_BLOB_BYTES:
        raise FrameError(f"a frame of {len(text)} and {size} bytes is too large")
    return b"".join((HEADER.pack(MAGIC, len(text), size), text, *blobs))


class Decoder:
    """Cuts a stream of bytes, which may be hostile, into frames."""

    def __init__(self, limit: int = MAX_BLOB_BYTES) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, chunk: bytes) -> list[Frame]:
        """Returns the frames that `chunk` completes. Raises `FrameError`."""
        self.add(chunk)
        frames = []
        while (frame := self.next()) is not None:
            frames.append(frame)
        return frames

    def add(self, chunk: bytes) -> None:
        """Takes bytes for `next`."""
        self._bytes += chunk

    def next(self) -> Frame | None:
        """Returns the next whole frame, None where there is none yet. Raises `FrameError`."""
        if len(self._bytes) < HEADER.size:
            return None
        magic, document_size, blob_size = HEADER.unpack_from(self._bytes)
        if magic != MAGIC:
            raise FrameError("these bytes do not begin like a frame")
        if document_size > MAX_DOCUMENT_BYTES or blob_size > self._limit:
            raise FrameError(f"a frame of {document_size} and {blob_size} bytes is too large")
        end = HEADER.size + document_size + blob_size
        if len(self._bytes) < end:
            return None
        at = HEADER.size + document_size
        frame = _parse(bytes(self._bytes[HEADER.size : at]), bytes(self._bytes[at:end]))
        del self._bytes[:end]
        return frame


def _parse(text: bytes, tail: bytes) -> Frame:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame's document is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise FrameError("a frame's document is no object")
    sizes = document.pop("blobs", None)
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise FrameError("a frame's list of blobs is no list of sizes")
    if sum(sizes) != len(tail):
        raise FrameError("a frame's blobs are not as long as it says")
    blobs, at = [], 0
    for size in sizes:
        blobs.append(tail[at : at + size])
        at += size
    return document, blobs


def pack(value: Any, blobs: list[bytes]) -> Any:
    """Returns `value` fit for JSON; its bytes move into `blobs`."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        blobs.append(bytes(value))
        return {"$blob": len(blobs) - 1}
    if isinstance(value, dict):
        return {str(key): pack(item, blobs) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(item, blobs) for item in value]
    return value


def unpack(value: Any, blobs: list[bytes]) -> Any:
    """Undoes `pack`. Raises `FrameError` for a blob that is not there."""
    if isinstance(value, dict):
        if value.keys() != {"$blob"}:
            return {key: unpack(item, blobs) for key, item in value.items()}
        index = value["$blob"]
        if type(index) is not int or not 0 <= index < len(blobs):
            raise FrameError(f"a frame speaks of blob {index!r} and has {len(blobs)}")
        return blobs[index]
    if isinstance(value, list):
        return [unpack(item, blobs) for item in value]
    return value
