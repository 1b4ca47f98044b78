"""Parameters of a release: its source, its privacy parameters and its output folder."""

import os
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from secrets import token_bytes
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from setanon_core.attribute_names import Attribute
from setanon_core.errors import InvalidParameterError
from setanon_core.params import PublishedParams, ReleaseParams
from setanon_core.pipeline.baskets import require_no_unit
from setanon_core.ranges import AtLeast, Matching, Share
from setanon_core.threads.edit_distance import EditDistance
from setanon_dagster.runtime.memory_shares import LEAST, MemoryShares, parse_memory
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.folders import PRIVATE
from setanon_dagster.verifier.release_folder import LATEST

Partition = Literal["day", "week", "month"]
Engine = Literal["embedded", "spark"]
ReportKind = Literal["plain", "full"]
Approval = Literal["none", "required"]
Signature = Literal["optional", "required"]

SECRET: Final = "SETANON_SECRET"  # noqa: S105 - the name of the variable, not a secret
"""Environment variable with the key of the thread ids."""

SHORTEST_SECRET: Final = 16
"""Bytes; a shorter key could be found by trying all keys."""

LAST_START: Final = 28
"""Every month has this day, but not all have the days after it."""

NAME: Final = Matching(
    "[a-z][a-z0-9_]*", "lower case letters, digits and _, starting with a letter"
)

MEMORY: Final = Matching(
    r"[1-9]\d{0,6} ?([MG]i?B)",
    "a number followed by MB, GB, MiB or GiB, such as 4GB or 1500MB",
)

DATE: Final = Matching(r"\d{4}-\d{1,2}-\d{1,2}", "a date such as 2006-03-01")


@dataclass(frozen=True, slots=True)
class TimeZone:
    """Names of the IANA time zone database."""

    text: str = "a time zone such as UTC or Europe/Berlin"

    def check(self, name: str, value: object) -> str:
        """Return the name unchanged."""
        try:
            if value != "localtime":  # a link of some systems, not a name
                return ZoneInfo(str(value)).key
        except (KeyError, ValueError, OSError):
            pass
        raise InvalidParameterError(f"{name} must be {self.text}.")

    def schema(self) -> dict[str, Any]:
        """Return no keywords: JSON schema cannot express the range."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseConfig(PublishedParams):
    """All parameters of one release, those of `PublishedParams` included."""

    name: Annotated[str, NAME]
    """Published name of the release; its asset group and its files have the same name."""

    source: Source
    """Where the queries or baskets are read from."""

    upstream: str | None = None
    """Key of an asset whose table is the source (`team/queries`), instead of a file."""

    out: str
    """Folder of the releases; `releases` in it may be published, `private` may not."""

    similarity: Share = EditDistance().relative
    """Edit distance up to which queries are similar, as a share of the longer query."""

    engine: Engine = "embedded"
    """Engine of threads, clusters and large groupings. embedded: DuckDB; spark: Apache Spark."""

    spark_master: str = "local[*]"
    """Master URL of Spark, such as spark://host:7077; local[*]: the cores of this machine. Not used
    if the process has a Spark session already."""

    spark_settings: tuple[str, ...] = ()
    """Settings of Spark, such as spark.executor.memory=4g."""

    spark_submit: tuple[str, ...] = ()
    """Command that runs threads and clusters on a cluster elsewhere, by Dagster Pipes, such as
    [spark-submit, --master, yarn]; []: this process connects to spark_master."""

    workers: Annotated[int, AtLeast(1)] = 1
    """Processes that share the work on a large log; the number does not change the release."""

    memory_limit: Annotated[str, MEMORY] = "4GB"
    """Memory of all processes of a release, at least 1GB. Data that do not fit are written to a
    private folder; a log that cannot be grouped within the limit is refused."""

    partition: Partition | None = None
    """One release per day, week or month of the log; None: one release of the complete log."""

    start: Annotated[str, DATE] | None = None
    """First day of the first partition; required with partition."""

    timezone: Annotated[str, TimeZone()] = "UTC"
    """Time zone of partitions, of cron, and of times without an offset."""

    report: ReportKind = "plain"
    """The private report. plain: figures of this release; full: also sweep, utility, attacks."""

    show_threads: bool = False
    """Show a few threads before and after editing in the private report: real queries of users."""

    approval: Approval = "none"
    """required: a verified release waits for `setanon approve`; none: it is published at once."""

    signature: Signature = "optional"
    """optional: certificates are signed if `SETANON_SIGNING_KEY` is set; required: a release
    without a signature is refused."""

    cron: str = "0 6 * * *"
    """When the schedule starts a release; the schedule is off until you start it."""

    in_process: bool = False
    """Materialize assets in one process, not one per step, also among other definitions.

    false if other definitions set an executor: a code location has only one.
    """

    owners: tuple[str, ...] = ()
    """Owners of the assets: e-mail addresses, or team:name."""

    def __post_init__(self) -> None:
        """Check all fields, then their combinations, before any data are read."""
        PublishedParams.__post_init__(self)
        if self.name == LATEST:
            raise InvalidParameterError(
                f"name must not be {LATEST}: this is the name of links to releases. Set another."
            )
        if self.partition is not None:
            if self.source.kind == "baskets":
                raise InvalidParameterError("partition must be left out: baskets have no time.")
            if self.first_day().day > LAST_START and self.partition == "month":
                raise InvalidParameterError(
                    f"start must be a day from 1 to {LAST_START} with partition month, since "
                    f"every month has these days; got day {self.first_day().day}."
                )
        if self.memory.limit < parse_memory(LEAST):
            raise InvalidParameterError(
                f"memory_limit must be at least {LEAST}, which Python, Dagster and Great "
                f"Expectations need with DuckDB; got {self.memory_limit}. Set a higher limit."
            )
        if unassigned := sum("=" not in setting for setting in self.spark_settings):
            raise InvalidParameterError(
                "every entry of spark_settings must be name=value, such as "
                f"spark.executor.memory=4g; {unassigned} have no =."
            )
        if self.spark_submit and self.engine != "spark":
            raise InvalidParameterError(
                "engine must be spark to submit stages by spark_submit; got 'embedded'. Set "
                "engine: spark, or leave spark_submit out."
            )
        if self.source.kind == "baskets":
            if self.engine == "spark":
                raise InvalidParameterError(
                    "engine must be embedded for baskets; got 'spark', which runs stages of logs "
                    "only. Leave it out."
                )
            require_no_unit(self)
            # Baskets have no queries, so sets are their only format.
            object.__setattr__(self, "format", "sets")

    @property
    def memory(self) -> MemoryShares:
        """How the memory limit is divided."""
        return MemoryShares(parse_memory(self.memory_limit), self.workers)

    def first_day(self) -> datetime:
        """Midnight of the first day of the first partition, in the time zone of the release."""
        try:
            return datetime.strptime(self.start or "", "%Y-%m-%d").replace(
                tzinfo=ZoneInfo(self.timezone)
            )
        except ValueError:
            raise InvalidParameterError(
                "start must be the first day of the first partition, such as 2006-03-01."
            ) from None

    def params(self, secret: bytes | None = None) -> ReleaseParams:
        """The parameters for the core; the default secret is the environment's, or else random."""
        return ReleaseParams(
            **self._published(),
            measure=EditDistance(relative=self.similarity),
            secret=secret or environment_secret() or token_bytes(32),
        )

    def certified_parameters(self) -> dict[str, str | int | float | None]:
        """The parameters that a certificate states: no path, no secret."""
        published = self._published()
        del published["attributes"]
        if self.attributes:
            # Names only: the columns of the source are no concern of readers.
            published["attributes"] = ", ".join(self.attribute_names)
        if self.source.kind == "log" and any(
            Attribute.parse(each).is_of_time for each in self.attributes
        ):
            published["timezone"] = self.timezone
        return dict(sorted(published.items())) | {"similarity": self.similarity}

    @property
    def folder(self) -> Path:
        """The folder of the releases, as an absolute path."""
        return Path(self.out).absolute()

    @property
    def private(self) -> Path:
        """Folder of everything that must not be published."""
        return self.folder / PRIVATE

    @property
    def stages(self) -> Path:
        """The private folder of the intermediate tables."""
        return self.private / "stages"

    @property
    def data_docs(self) -> Path:
        """Private folder of the Data Docs; one folder per partition."""
        return self.private / "data_docs" / self.name

    def _published(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(PublishedParams)}


def environment_secret() -> bytes | None:
    """The key of the thread ids that the environment has; None if it has none."""
    secret = os.fsencode(os.environ.get(SECRET, ""))
    if 0 < len(secret) < SHORTEST_SECRET:
        raise InvalidParameterError(
            f"{SECRET} must have at least {SHORTEST_SECRET} bytes, or ids could be guessed; it "
            f"has {len(secret)}. Create one with: openssl rand -hex 32"
        )
    return secret or None
