"""Two cubins are the same only if they do the same."""

from __future__ import annotations

import struct

from ouroboros.trace.cubin import code_of

HEADER = 64
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
FUNCTION = 0x12


def image(*, start: int = 0, flags: int = 0x5A, alignment: int = 128, lines: bytes = b"") -> bytes:
    """Returns an ELF file with lines, a kernel's code and its symbol."""
    texts = [b"", b".shstrtab", b".strtab", b".symtab", b".debug_line", b".text.k"]
    names = b"\0".join(texts) + b"\0"
    symbols = SYMBOL.pack(1, FUNCTION, 0, 5, start, 32 - start)
    data = [b"", names, b"\0k\0", symbols, lines, bytes(range(32))]
    heads, body = b"", b""
    for index, (text, one) in enumerate(zip(texts, data, strict=True)):
        name = names.index(text) if text else 0
        offset = HEADER + len(body)
        traits = (alignment if index == 5 else 1, SYMBOL.size if index == 3 else 0)
        heads += SECTION.pack(name, 1, 0, 0, offset, len(one), 0, 0, *traits)
        body += one
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    file = (2, 190, 1, 0, HEADER, HEADER + len(body), flags, HEADER, 56, 0, SECTION.size, 6, 1)
    return ident + struct.pack("<HHIQQQIHHHHHH", *file) + body + heads


def test_numbers_of_lines_do_not_count() -> None:
    assert code_of(image()) == code_of(image(lines=b"elsewhere"))


def test_where_a_kernel_begins_counts() -> None:
    assert code_of(image()) != code_of(image(start=16))


def test_what_headers_say_counts() -> None:
    assert code_of(image()) != code_of(image(flags=0x50))
    assert code_of(image()) != code_of(image(alignment=16))
