"""Read files given by the user: one basket per line, or logs of user, time and query."""

import re
from pathlib import Path

from setanon_core import Records
from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.log import threads_of_log

K_OF_LOGS, K_OF_BASKETS = 3, 5
HEAD = 100
"""Lines from which the format of a file is detected."""


def read(path: Path) -> tuple[Records, int]:
    """The records of a file, and the k to use for them."""
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    if any("\t" in line for line in lines[:HEAD]):
        return log(lines), K_OF_LOGS
    return baskets(lines), K_OF_BASKETS


def baskets(lines: list[str]) -> Records:
    """One record per line, each of another user; items are separated by commas, or by spaces."""
    comma = any("," in line for line in lines[:HEAD])
    return Records.from_sets(
        [[item for item in line.split("," if comma else None) if item] for line in lines if line]
    )


def log(lines: list[str]) -> Records:
    """The threads of a log; skips a header and lines without all three columns."""
    rows = [tuple(line.split("\t")[:3]) for line in lines]
    rows = [row for row in rows if len(row) == 3 and row[2].strip() and re.search(r"\d", row[1])]  # noqa: PLR2004
    users, times, queries = zip(*rows, strict=True)
    # Times of one format are ordered as their digits are.
    ordered = [int(re.sub(r"\D", "", time)) for time in times]
    return threads_of_log(Log(users, ordered, queries), ReleaseParams(K_OF_LOGS)).records
