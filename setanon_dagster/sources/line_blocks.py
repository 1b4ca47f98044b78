"""Read a text file, plain or gzip, in blocks of complete lines with bounded memory."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, cast

BLOCK_SIZE: Final = 1 << 23
"""Bytes per block; one malformed line makes only its own block go through the slow parser."""

BOM: Final = b"\xef\xbb\xbf"


def open_text(path: Path) -> IO[bytes]:
    """Open a file; gzip is recognized by its content, not by its name."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if compressed else path.open("rb")


def line_blocks(stream: IO[bytes], longest: int, size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """Yield blocks of complete lines, about `size` bytes each; add a missing last line end.

    A line ends with LF, CR LF or CR. A byte order mark at the start is removed. Lines longer than
    `longest` bytes are truncated to one byte more, enough to recognize that they are too long.
    """
    rest = stream.read(len(BOM)).removeprefix(BOM)
    truncated = False
    while chunk := stream.read(size):
        if truncated:
            line_end = re.search(rb"[\r\n]", chunk)
            if not line_end:
                continue
            chunk, truncated = chunk[line_end.start() :], False
        data = rest + chunk
        # A CR at the very end may be the first half of a CR LF.
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > longest + 1 and not rest.endswith(b"\r"):
            rest, truncated = rest[: longest + 1], True
    if rest:
        yield rest if rest.endswith(b"\r") else rest + b"\n"
