"""What is asked of one release: its source, its knobs, and where it goes."""

import os
import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_bytes
from typing import Final, Literal, get_args

from setanon_core.errors import InvalidParameterError
from setanon_core.params import (
    Format,
    GrouperName,
    Identity,
    Method,
    Operations,
    ReleaseParams,
    Spelling,
)
from setanon_core.ranges import AtLeast, UnitInterval, check_choice
from setanon_core.threads.edit_distance import EditDistance
from setanon_dagster.sources.source import Source

Partition = Literal["day", "week", "month"]
Engine = Literal["embedded"]
ReportKind = Literal["plain", "full"]

PARTITIONS: Final[tuple[str, ...]] = get_args(Partition)
ENGINES: Final[tuple[str, ...]] = get_args(Engine)
REPORTS: Final[tuple[str, ...]] = get_args(ReportKind)

SECRET: Final = "SETANON_SECRET"  # noqa: S105 - the name of the variable, not a secret
"""The environment variable with the key of the thread ids."""

SHORTEST_SECRET: Final = 16
"""Bytes; a shorter key can be found by trying all."""

NOT_CERTIFIED: Final = frozenset({"measure", "tokenizer", "secret"})

MEMORY: Final = re.compile(r"[1-9]\d{0,6} ?([MG]i?B)")
"""What DuckDB takes for an amount of memory, and people write."""

LAST_START: Final = 28
"""The last day that every month has."""

NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseConfig:
    """One release: every knob has one default, one sentence and a range."""

    name: str
    """Names the release, its group of assets and its files: lower case letters, digits and _."""

    source: Source
    """Where the queries or baskets come from."""

    upstream: str | None = None
    """An asset whose table is the source, by its key (`team/queries`), in place of a file."""

    k: int
    """Distinct users that must share every published set; at least 2."""

    out: str
    """Folder of the releases; `releases` in it may be published, `private` may not."""

    method: Method = "best"
    """best: our groupers, improved; paper: the paper to the letter, for comparison."""

    grouper: GrouperName | None = None
    """Which algorithm forms the groups: star, suppression, facility_location or exact."""

    p: int = 2
    """Min-Hashes of a cluster's key, with method paper; from 1 to 4."""

    identity: Identity = "exact"
    """Which keywords are one item: exact (the same) or minhash (the same letters, about)."""

    spelling: Spelling = "common"
    """How an item is spelled: common (one way in each group) or as_typed (the paper's)."""

    format: Format = "queries"
    """What is published of a thread: queries (edited) or sets (keywords alone)."""

    operations: Operations = "both"
    """Which edits may be made: both, additions or deletions."""

    min_owners: int | None = None
    """Users who must have typed a keyword before it is published; k by default, 0 is off."""

    similarity: float = EditDistance().relative
    """Letters in which similar queries may differ, as a share of the longer; from 0 to 1."""

    seed: int = 0
    """Seeds the restarts for small inputs; 0 or more."""

    engine: Engine = "embedded"
    """Where the stages run: embedded (DuckDB, in this process)."""

    workers: int = 1
    """Processes that share the work on a large log; the release is the same for any number."""

    memory_limit: str = "1GB"
    """Memory of DuckDB, such as 500MB or 2GB; what does not fit goes to a private folder."""

    partition: Partition | None = None
    """Release the log by day, week or month of its times; None releases all of it at once."""

    start: str | None = None
    """First day of the first partition, as 2006-03-01; needed with partition."""

    report: ReportKind = "plain"
    """What is in the private report: plain (what is known anyway) or full (a sweep, utility)."""

    show_threads: bool = False
    """Show a few threads in the private report, before and after: people's words."""

    cron: str = "0 6 * * *"
    """When the schedule starts a release, once it is switched on."""

    owners: tuple[str, ...] = ()
    """Owners of the assets: mail addresses, or team:name."""

    def __post_init__(self) -> None:
        """Refuse what is out of range, before anything is read."""
        if not NAME.fullmatch(str(self.name)):
            raise InvalidParameterError(
                "name must be lower case letters, digits and _, beginning with a letter."
            )
        check_choice("engine", self.engine, ENGINES)
        check_choice("report", self.report, REPORTS)
        if self.partition is not None:
            check_choice("partition", self.partition, PARTITIONS)
            if self.source.kind == "baskets":
                raise InvalidParameterError("partition must be left out: baskets have no time.")
            if self.first_day().day > LAST_START and self.partition == "month":
                raise InvalidParameterError(
                    f"start must be one of the first {LAST_START} days of a month where months "
                    f"are released: every month has those; got day {self.first_day().day}."
                )
        if self.source.kind == "baskets" and self.format == "queries":
            # Baskets have no queries: their sets are all there is to publish.
            object.__setattr__(self, "format", "sets")
        UnitInterval().check("similarity", self.similarity)
        AtLeast(1).check("workers", self.workers)
        check_memory(self.memory_limit)
        self.params(b"checked only")

    def first_day(self) -> datetime:
        """The first day of the partitions."""
        try:
            return datetime.strptime(self.start or "", "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            raise InvalidParameterError(
                "start must be the first day of the partitions, such as 2006-03-01."
            ) from None

    def params(self, secret: bytes | None = None) -> ReleaseParams:
        """The core's parameters; the secret is the environment's, or else fresh and random."""
        shared = {field.name for field in fields(ReleaseParams)} & {
            field.name for field in fields(self)
        }
        given = os.fsencode(os.environ.get(SECRET, ""))
        if secret is None and 0 < len(given) < SHORTEST_SECRET:
            raise InvalidParameterError(
                f"{SECRET} must have {SHORTEST_SECRET} bytes or more, or ids could be guessed; it "
                f"has {len(given)}. Make one with: openssl rand -hex 32"
            )
        return ReleaseParams(
            **{name: getattr(self, name) for name in shared},
            measure=EditDistance(relative=self.similarity),
            secret=secret or given or token_bytes(32),
        )

    def certified_parameters(self) -> dict[str, str | int | float | None]:
        """The knobs that a certificate tells: no path, no secret."""
        names = {field.name for field in fields(ReleaseParams)} - NOT_CERTIFIED
        return {name: getattr(self.params(b"untold"), name) for name in sorted(names)} | {
            "similarity": self.similarity
        }

    @property
    def folder(self) -> Path:
        """The folder of the releases, whatever the working directory is later."""
        return Path(self.out).absolute()

    @property
    def stages(self) -> Path:
        """The private folder of what lies between source and release."""
        return self.folder / "private" / "stages"


def check_memory(value: object) -> None:
    """Refuse what is no amount of memory."""
    if not isinstance(value, str) or not MEMORY.fullmatch(value):
        raise InvalidParameterError(
            "memory_limit must be a number with MB, GB, MiB or GiB behind it, such as 500MB or "
            "2GB. DuckDB needs some 100MB for each core."
        )
