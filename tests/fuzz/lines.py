"""Random files of good and damaged lines, and the options with which they are read."""

import gzip
import random
from dataclasses import dataclass, field

CANARY = "zqxj"
"""Part of every cell: no message may contain it."""

TIMES = {
    "iso": "2006-03-{day:02d} {hour:02d}:00:59",
    "yymmddhhmmss": "0603{day:02d}{hour:02d}0059",
    "yyyymmddhhmmss": "200603{day:02d}{hour:02d}0059",
    "epoch": "11411{day:02d}{hour:02d}9",
}
BAD_TIMES = (
    "", " ", "never", "infinity", "-infinity", "0000-00-00", "2006-02-30 00:00:00", "1e9", "NaN",
    "99999999999999999999", "2006-03-01T25:00:00", "2006-03-01 00:00:00+99:99", "-1", "\u0662",
    "290309-12-22 (BC) 00:00:00", "2006-03-01 00:00:00.1234567890",
)  # fmt: skip
BAD_BYTES = (
    b"\0", b"\xff", b"\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"\x85", b"\x0b", b"\x0c", b"\x1c", b"\r", b"\r\r\n", b"\n", b"\n\n", b"\t",
    b",", b";", b"|", b'"', b'""', b'"\n', b'","', b"'", b"\\", b'\\"', b"\\N", b"NULL", b"\x1a",
    b"\xe2\x80\x8b", b"\xe2\x80\xae", b"{{}}", b"%s", b"');--",
)  # fmt: skip


@dataclass
class FuzzedFile:
    """A file, the options of its source, and what must be read from it."""

    data: bytes
    suffix: str
    options: dict
    good: list = field(default_factory=list)
    """Cells of the undamaged lines, if no damaged line can change how they are read."""


def random_file(seed, lines):
    """A file of about this many lines; equal seeds give equal files."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    kind = rng.choice(["log", "log", "log", "baskets"])
    mark = rng.choice("\t\t,,;| ") if kind == "baskets" else rng.choice("\t\t,,;|")
    options = {"kind": kind, "encoding": rng.choice(["utf-8", "utf-8", "latin-1"])}
    explicit = rng.random() < 0.6
    quoting = mark not in "\t "
    if explicit:
        quoting = rng.random() < 0.3
        options |= {"delimiter": mark, "quoting": quoting}
    if rng.random() < 0.2:
        options["longest_line"] = rng.choice([1, 20, 60, 1000])
    time_format = rng.choice(list(TIMES)) if kind == "log" else None
    if time_format and explicit:
        options["time_format"] = time_format
    if kind == "baskets" and rng.random() < 0.5:
        options |= {"layout": "lines", "with_user": rng.random() < 0.5}
    header = options.get("layout") != "lines" and rng.random() < 0.7
    if explicit:
        options["header"] = header
    damaged = rng.choice([0.0005, 0.01, 0.1, 0.5])
    joined, good = _joined_lines(rng, lines, mark, time_format, damaged, header=header)
    if rng.random() < 0.05:
        joined = joined[: rng.randrange(len(joined) + 1)]
        good = []
    if rng.random() < 0.1:
        joined = b"\xef\xbb\xbf" + joined
    if rng.random() < 0.1:
        joined = gzip.compress(joined, 1)
    certain = explicit and not quoting and "longest_line" not in options and kind == "log"
    suffix = rng.choice([".tsv", ".csv", ".txt", ".log", "", ".TSV", ".tsv.gz"])
    return FuzzedFile(joined, suffix, options, good if certain else [])


def _joined_lines(rng, lines, mark, time_format, damaged, *, header):  # noqa: PLR0913
    """The bytes of the file, and the cells of its undamaged lines."""
    end = rng.choice([b"\n", b"\n", b"\r\n"])
    delimiter = mark.encode()
    names = ("user", "time", "query") if time_format else ("record", "item", "user")
    written = [delimiter.join(name.encode() for name in names) + end] if header else []
    good = []
    for number in range(lines):
        user, word = f"u{number % 97}{CANARY}", f"{CANARY}{number} caf\u00e9"
        if time_format:
            time = TIMES[time_format].format(day=number % 28 + 1, hour=number % 24)
            cells = (user, time, word)
        else:
            cells = (f"r{number // 3}{CANARY}", word, user)
        line = delimiter.join(cell.encode() for cell in cells)
        if rng.random() < damaged:
            line = _damaged(rng, line, cells, delimiter)
        else:
            good.append(cells)
        written.append(line + end)
    return b"".join(written), good


def _damaged(rng, line, cells, delimiter):
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(line) + 1)
        match rng.randrange(8):
            case 0:
                line = line[:place] + rng.choice(BAD_BYTES) + line[place:]
            case 1:
                line = line[:place]
            case 2:
                line = line[:place] + bytes([rng.randrange(256)]) + line[place + 1 :]
            case 3:
                changed = [cell.encode() for cell in cells]
                changed[rng.randrange(3)] = rng.choice(BAD_TIMES).encode()
                line = delimiter.join(changed)
            case 4:
                line += delimiter * rng.randrange(1, 4)
            case 5:
                line *= rng.choice([2, 3, 50])
            case 6:
                line = delimiter.join(b'"' + cell.encode() + b'"' for cell in cells)
            case _:
                line = line.replace(delimiter, b"", 1)
    return line
