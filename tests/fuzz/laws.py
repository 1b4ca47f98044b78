"""What must hold for every file: no crash, no lost line, no cell in a message."""

import re
import traceback
import zlib
from collections import Counter
from gzip import decompress

from fuzz.lines import CANARY
from setanon_core.errors import SetanonError
from setanon_dagster.sources.loading import REASONS
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.connection import connect

LINE_END = re.compile(rb"\r\n|\r|\n")
HEADER_NAMES = ({"user", "time", "query"}, {"record", "item", "user"})


def findings_of(file, folder):
    """Read a file; return the laws that it breaks, and what happened."""
    path = folder / f"source{file.suffix}"
    path.write_bytes(file.data)
    try:
        with connect() as connection:
            result = read_source(
                Source(str(path), max_rejected=1, **file.options), connection=connection
            )
            return _findings(file, result), "read"
    except SetanonError as error:
        return _leaks(str(error)) + _leaks(repr(error)), "refused"
    except Exception as error:  # noqa: BLE001 - any other error is a finding
        return [f"crashed: {traceback.format_exception(error)[-1][:300]}"], "crashed"


def _leaks(message):
    return ["a cell in a message"] if CANARY in message else []


def _findings(file, result):
    found = []
    rejected = result.rejected.fetchall()
    accepted = result.accepted.fetchall()
    lines = len(LINE_END.findall(data := _text(file.data))) + (not data.endswith((b"\r", b"\n")))
    reasons = Counter(reason for _, reason in rejected)
    if set(reasons) - set(REASONS) or reasons != Counter(result.rejected_by_reason):
        found.append("reasons are wrong")
    total = result.accepted_lines + len(rejected) + result.outside_window
    if total != result.lines:
        found.append(f"{result.lines - total} lines are lost")
    numbers = {row[-1] for row in accepted} | {line for line, _ in rejected}
    if len(numbers) != result.lines or not numbers <= set(range(1, lines + 1)):
        found.append("line numbers are wrong")
    header = file.options.get("header", _has_header(data))
    quoting = file.options.get("quoting", True)
    missing = lines - result.lines - result.blank_lines - bool(header)
    # Only a quoted cell spans lines.
    if missing < 0 or (missing and not (quoting and b'"' in data)):
        found.append(f"{missing} of {lines} lines are not counted")
    if file.good:
        read = Counter((user, query) for user, _, query, _ in accepted)
        encoding = file.options["encoding"]
        expected = Counter((user, query.encode().decode(encoding)) for user, _, query in file.good)
        if expected - read:
            found.append(f"{len(expected - read)} good lines are not read as written")
    return found


def _has_header(data):
    first = next((line for line in LINE_END.split(data) if line), b"")
    cells = {cell.strip() for cell in re.split(r"[\t,;| ]", first.decode("latin-1").lower())}
    return cells in HEADER_NAMES


def _text(data):
    try:
        data = decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error):
        return b""
    return data.removeprefix(b"\xef\xbb\xbf")
