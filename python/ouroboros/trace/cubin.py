"""What a cubin says of its kernels: where parameters lie, registers, local memory.

A cubin is an ELF file. Its section `.nv.info` and each kernel's `.nv.info.<kernel>` are lists of
attributes that the driver reads: this reads the same ones, so a parameter block that is laid out
by them is the one that the driver would build. The referee reads cubins again with its own,
hardened reader.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

__all__ = ["KernelInfo", "code_of", "kernel_info"]

# Attribute numbers and formats of .nv.info, as cuobjdump -elf names them.
FORMAT_HAS_SIZE = 0x04
FRAME_SIZE = 0x11
KPARAM_INFO = 0x17
REGISTER_COUNT = 0x2F

# The parts of an ELF file's header that say nothing of where the file has its tables.
_ENTRY_END = 0x20
_FLAGS = slice(0x30, 0x34)


@dataclass(frozen=True)
class KernelInfo:
    """One kernel.

    Attributes:
        fields: Offset and size of each parameter in the block, in order.
        registers: Of a thread.
        stack_bytes: Local memory of a thread: arrays and spills.
    """

    fields: tuple[tuple[int, int], ...]
    registers: int
    stack_bytes: int


@dataclass(frozen=True)
class _Section:
    """One section.

    Attributes:
        name: As the table of names has it.
        data: Its bytes; none of one that has a size alone.
        offset: Where it lies in the file.
        traits: The rest of its header: kind, flags, address, size, links, alignment, entries.
    """

    name: str
    data: bytes
    offset: int
    traits: tuple[int, ...]


def _sections(cubin: bytes) -> list[_Section]:
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError("the compiler's result is no 64-bit ELF file")
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    heads = [
        struct.unpack_from("<IIQQQQIIQQ", cubin, start + index * size) for index in range(count)
    ]
    names_head = heads[names_index]
    names = cubin[names_head[4] : names_head[4] + names_head[5]]

    def name_at(offset: int) -> str:
        return names[offset : names.index(b"\0", offset)].decode()

    no_bits = 8
    return [
        _Section(
            name_at(head[0]),
            b"" if head[1] == no_bits else cubin[head[4] : head[4] + head[5]],
            head[4],
            (*head[1:4], *head[5:]),
        )
        for head in heads
    ]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 4 <= len(data):
        kind, attribute, value = struct.unpack_from("<BBH", data, position)
        position += 4
        if kind == FORMAT_HAS_SIZE:
            yield attribute, data[position : position + value]
            position += value
        else:
            yield attribute, struct.pack("<H", value)


def _symbol(sections: dict[str, _Section], function: str) -> int:
    """Returns the index of the function's symbol, by which `.nv.info` refers to it."""
    names, symbols = sections[".strtab"].data, sections[".symtab"].data
    entry_bytes = 24
    function_type = 2
    for index in range(len(symbols) // entry_bytes):
        name, info = struct.unpack_from("<IB", symbols, index * entry_bytes)
        text = names[name : names.index(b"\0", name)].decode()
        if info & 0xF == function_type and text == function:
            return index
    raise ValueError(f"the cubin has no kernel {function!r}")


def kernel_info(cubin: bytes, function: str) -> KernelInfo:
    """Reads what `cubin` says of `function`.

    Raises:
        ValueError: The bytes are no cubin, or it has no such kernel.
    """
    sections = {section.name: section for section in _sections(cubin)}
    symbol = _symbol(sections, function)
    fields = {}
    for attribute, value in _attributes(sections[f".nv.info.{function}"].data):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            fields[ordinal] = (offset, packed >> 18)
    totals = {
        attribute: struct.unpack("<II", value)[1]
        for attribute, value in _attributes(sections[".nv.info"].data)
        if attribute in (FRAME_SIZE, REGISTER_COUNT)
        and struct.unpack_from("<I", value) == (symbol,)
    }
    return KernelInfo(
        fields=tuple(fields[ordinal] for ordinal in sorted(fields)),
        registers=totals.get(REGISTER_COUNT, 0),
        stack_bytes=totals.get(FRAME_SIZE, 0),
    )


def code_of(cubin: bytes, named: Callable[[str], str] = str) -> list[tuple[object, ...]]:
    """Returns what a cubin holds besides names and numbers of lines: two that agree do the same.

    Those are in sections of their own. Where a section lies in the file depends on them; all else
    that a driver may go by is here, as where in its section a kernel begins.

    Args:
        cubin: Its bytes.
        named: What a section or a symbol of this name is to be called.

    Raises:
        ValueError: The bytes are no cubin.
    """
    sections = [replace(one, name=named(one.name)) for one in _sections(cubin)]
    return [
        (cubin[:_ENTRY_END], cubin[_FLAGS], len(sections)),
        *_segments(cubin, sections),
        *_symbols(sections, named),
        *(
            (section.name, section.traits, section.data)
            for section in sections
            if not section.name.startswith((".debug", ".nv_debug", ".rel.debug", ".rela.debug"))
            and section.name not in (".strtab", ".shstrtab", ".symtab", "")
        ),
    ]


def _segments(cubin: bytes, sections: list[_Section]) -> Iterator[tuple[object, ...]]:
    """Yields the program headers, with the sections that one begins with for its place."""
    (start,) = struct.unpack_from("<Q", cubin, 0x20)
    size, count = struct.unpack_from("<HH", cubin, 0x36)
    for index in range(count):
        kind, flags, offset, *rest = struct.unpack_from("<IIQQQQQQ", cubin, start + index * size)
        first = [section.name for section in sections if section.offset == offset]
        yield kind, flags, offset == start, first, *rest


def _symbols(sections: list[_Section], named: Callable[[str], str]) -> Iterator[tuple[object, ...]]:
    """Yields the symbols in their order, by which other sections refer to them."""
    names = b"".join(section.data for section in sections if section.name == ".strtab")
    for section in sections:
        if section.name == ".symtab":
            for name, *rest in struct.iter_unpack("<IBBHQQ", section.data):
                yield named(names[name : names.index(b"\0", name)].decode()), *rest
