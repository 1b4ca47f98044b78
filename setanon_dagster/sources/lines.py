"""Bytes to lines to records of cells: TSV, where quotes are letters, and CSV after RFC 4180.

A line ends with LF, CR LF or CR. What cannot be cut gets a reason instead of cells.
"""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple, cast

Encoding = Literal["utf-8", "latin-1"]

BLOCK: Final = 1 << 23
"""Bytes of text read at once; a bad line costs the careful reading of its block, no more."""

BOM: Final = b"\xef\xbb\xbf"
QUOTE: Final = b'"'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the lines of one file are cut into cells."""

    delimiter: bytes
    quoting: bool
    encoding: Encoding
    longest: int


class Record(NamedTuple):
    """One record of a text: its cells, or the reason why it has none; neither if it is blank."""

    lines: int
    size: int
    cells: list[str] | None
    reason: str | None


def open_text(path: Path) -> IO[bytes]:
    """Open a file, plain or gzip, whatever its name."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def blocks(stream: IO[bytes], longest: int, size: int = BLOCK) -> Iterator[bytes]:
    """Whole lines, about `size` bytes of them at once; the last gets its end if it has none."""
    rest = stream.read(len(BOM)).removeprefix(BOM)
    clipped = False
    while chunk := stream.read(size):
        if clipped:
            # Of a line without end only as much is held as shows that it is too long.
            found = re.search(rb"[\r\n]", chunk)
            if not found:
                continue
            chunk, clipped = chunk[found.start() :], False
        data = rest + chunk
        # A CR at the very end may be half of a CR LF.
        cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        if cut:
            yield data[:cut]
        rest = data[cut:]
        if len(rest) > longest + 1 and not rest.endswith(b"\r"):
            rest, clipped = rest[: longest + 1], True
    if rest:
        yield rest if rest.endswith(b"\r") else rest + b"\n"


def records(data: bytes, dialect: Dialect, *, last: bool) -> Iterator[Record]:
    """Cut whole lines into records; unless `last`, stop before one whose quotes are still open."""
    lines = data.splitlines(keepends=True)
    pattern = _cell(dialect.delimiter)
    delimiter = dialect.delimiter.decode()
    place = 0
    while place < len(lines):
        raw = lines[place].rstrip(b"\r\n")
        taken, size, cells, reason = 1, len(lines[place]), None, None
        if len(raw) > dialect.longest:
            reason = "line too long"
        elif dialect.quoting and QUOTE in raw:
            closed = _closing(lines, place, dialect.longest)
            if closed is None and not last:
                return
            # Where quotes are broken only this line is lost: the next may be sound.
            whole = b"".join(lines[place : place + (closed or 0)])
            quoted = _quoted(whole, pattern)
            if quoted is None:
                reason = "quote"
            else:
                taken, size = cast("int", closed), len(whole)
                texts = [_text(cell, dialect.encoding) for cell in quoted]
                cells = [text for text in texts if text is not None]
                if len(cells) < len(texts):
                    cells, reason = None, "encoding"
        elif raw:
            text = _text(raw, dialect.encoding)
            if text is None:
                reason = "encoding"
            else:
                cells = text.split(delimiter)
        yield Record(taken, size, cells, reason)
        place += taken


def _text(raw: bytes, encoding: str) -> str | None:
    """Decoded text; None if these bytes are none. A NUL is no text in any encoding."""
    try:
        return None if b"\0" in raw else raw.decode(encoding)
    except UnicodeDecodeError:
        return None


def _closing(lines: list[bytes], place: int, longest: int) -> int | None:
    """Lines of the record that begins here: until its quotes are even; 0 if that is too long."""
    size = odd = 0
    for at in range(place, len(lines)):
        line = lines[at]
        size += len(line)
        if size - (len(line) - len(line.rstrip(b"\r\n"))) > longest:
            return 0
        odd ^= line.count(QUOTE) & 1
        if not odd:
            return at - place + 1
    return None


def _cell(delimiter: bytes) -> re.Pattern[bytes]:
    """A cell of RFC 4180 and what follows it."""
    mark = re.escape(delimiter)
    return re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|([^"%b\r\n]*))(%b|\Z)' % (mark, mark))


def _quoted(record: bytes, pattern: re.Pattern[bytes]) -> list[bytes] | None:
    """Cells of a whole record; None if its quoting is broken."""
    text = record.removesuffix(b"\n").removesuffix(b"\r")
    cells: list[bytes] = []
    place = 0
    while text and (found := pattern.match(text, place)):
        quoted, plain, follows = found.groups()
        cells.append(plain if quoted is None else quoted.replace(b'""', QUOTE))
        if not follows:
            return cells
        place = found.end()
    return None
