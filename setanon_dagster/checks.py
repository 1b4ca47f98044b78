"""Asset checks: what people see of a release's promises in Dagster, and what stops a run early.

They are not the gate: a run without checks would pass them by, and so the publishing asset
verifies for itself. Great Expectations judges the promises of a release, on counts made by DuckDB;
the stages before it are judged by DuckDB alone.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Template
from typing import Any, Final

import dagster as dg

from setanon_core.params import Params
from setanon_core.release import Format
from setanon_dagster.audit import PROMISES, Files, counted
from setanon_dagster.validation import Asked, Finding, examine

ALL: Final = "all"
"""The folder of the Data Docs where there are no partitions."""

SAID: Final = ("lines", "outside")
"""What the reader says in the metadata of a materialization; outside the partition, that is."""

LINES: Final = """
    SELECT (SELECT count(*) FROM {raw}) AS rows,
        (SELECT count(DISTINCT line) FROM {raw}) AS accepted,
        (SELECT count(DISTINCT line) FROM rejected_rows) AS rejected,
        (SELECT count(*) - count({once} line) FROM {raw})
            + (SELECT count(*) - count(DISTINCT line) FROM rejected_rows)
            + (SELECT count(*) FROM rejected_rows WHERE line IN (SELECT line FROM {raw}))
            AS doubtful,
        (SELECT (count(*) = 0)::BIGINT FROM {raw}) AS empty"""
"""Lines that were accepted or rejected, and how many of them were so twice or have no number."""

THREADS: Final = """
    WITH balance AS (
        SELECT sum(n) AS n FROM (
            SELECT hash(user, time, query) AS entry, 1 AS n FROM raw_log
            UNION ALL SELECT hash(user, time, query), -1 FROM threads) GROUP BY entry),
    own AS (
        SELECT min(user) IS DISTINCT FROM max(user) OR count(user) < count(*) AS mixed,
            count(*) <> count(DISTINCT position) AS repeated
        FROM threads GROUP BY thread)
    SELECT (SELECT count(*) FROM threads) AS rows, (SELECT count(*) FROM own) AS threads,
        (SELECT coalesce(sum(n) FILTER (n > 0), 0)::BIGINT FROM balance) AS lost_rows,
        (SELECT coalesce(-sum(n) FILTER (n < 0), 0)::BIGINT FROM balance) AS added_rows,
        (SELECT count(*) FILTER (mixed) FROM own) AS mixed_threads,
        (SELECT count(*) FILTER (repeated) FROM own) AS repeated_positions"""
"""Rows of the log that no thread has, rows of threads that the log lacks, mixed threads."""

CLUSTERS: Final = """
    SELECT count(*) AS threads,
        (SELECT count(DISTINCT keys[1]) FROM clusters) AS clusters,
        (SELECT coalesce(max(n), 0) FROM (
            SELECT count(*) AS n FROM clusters GROUP BY keys[1])) AS largest_cluster,
        count(*) - count(DISTINCT thread) + count(*) - count(user) AS unnamed,
        count(*) FILTER (coalesce(len(keys), 0) = 0
            OR len(keys) <> (SELECT max(len(keys)) FROM clusters)) AS without_keys,
        count(*) FILTER (words IS NULL OR items IS NULL
            OR coalesce(list_sum(lengths), 0) IS DISTINCT FROM len(words)
            OR len(items) <> len(list_distinct(items))
            OR len(items) > len(list_distinct(words))
            OR (len(items) = 0) <> (len(words) = 0)) AS odd_sizes
    FROM clusters"""
"""Threads, clusters of the first round, and threads whose columns contradict each other."""

Sentences = Mapping[str, tuple[str, tuple[str, ...]]]
"""For each check of a stage its sentence, and the counts that must be zero."""

OF_LINES: Final[Sentences] = {
    "every_line_is_accounted_for": (
        "Every line that was read was accepted, rejected or outside the partition, once.",
        ("doubtful", "unexplained"),
    ),
    "some_rows_are_usable": ("The source has rows that can be used.", ("empty",)),
}
OF_THREADS: Final[Sentences] = {
    "every_row_is_in_one_thread": (
        "Every row of the log is in exactly one thread, and no other row is.",
        ("lost_rows", "added_rows", "repeated_positions"),
    ),
    "no_thread_mixes_users": ("All queries of a thread are one user's.", ("mixed_threads",)),
}
OF_CLUSTERS: Final[Sentences] = {
    "every_thread_has_keys": (
        "Every thread has a user, and a cluster in each round.",
        ("unnamed", "without_keys"),
    ),
    "keywords_and_items_agree": (
        "A thread has the keywords of its queries, and items for all of them.",
        ("odd_sizes",),
    ),
}

Findings = Mapping[str, Finding]


def build_checks(  # noqa: PLR0913 - the knobs, each by name
    keys: Mapping[str, dg.AssetKey],
    *,
    k: int,
    min_owners: int | None = None,
    format: Format = "queries",  # noqa: A002 - the knob's name everywhere
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    docs: Path | None = None,
    name: str = "setanon",
) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of a release's assets, given their keys by the names of the stages.

    Inputs come from the assets' IO managers as paths of Parquet files. Data Docs go into a folder
    of `docs` that is named for the partition; they are private, as the report is. `name` tells
    the steps of one release from those of another.
    """
    asked = Asked(k=k, min_owners=Params(k, min_owners=min_owners).owners, format=format)
    raw = "raw_log" if "raw_log" in keys else "raw_baskets"
    # A line is one query; a basket may stand on one line or on many.
    lines = LINES.format(raw=raw, once="DISTINCT" if raw == "raw_log" else "")
    promises: Sentences = {
        check: (Template(said).substitute(k=k, min_owners=asked.min_owners, format=format), ())
        for check, said in PROMISES.items()
    }
    before = [stage for stage in (raw, "threads", "clusters") if stage in keys]
    build = partial(_definition, name, keys, partitions_def)
    made = [
        build((raw, "rejected_rows"), OF_LINES, partial(_lines, lines, keys[raw])),
        build(("clusters",), OF_CLUSTERS, partial(_counts, CLUSTERS, OF_CLUSTERS)),
        build(
            ("anonymized_threads", "ledger", "cost_report", *before),
            promises,
            partial(_promises, asked, docs),
        ),
    ]
    if "threads" in keys:
        find = partial(_counts, THREADS, OF_THREADS)
        made.append(build(("threads", raw), OF_THREADS, find))
    return made


def _definition(  # noqa: PLR0913, PLR0917 - three are bound at once, above
    name: str,
    keys: Mapping[str, dg.AssetKey],
    partitions_def: dg.PartitionsDefinition[Any] | None,
    stages: tuple[str, ...],
    sentences: Sentences,
    find: Callable[[Files, dg.AssetCheckExecutionContext], Findings],
) -> dg.AssetChecksDefinition:
    """Checks of the first of these stages, made in one step; the others are looked at too."""
    checked, *others = stages
    with warnings.catch_warnings():
        # Without partitions, a check would be handed the files of all of them.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        specs = [
            dg.AssetCheckSpec(
                check,
                asset=keys[checked],
                description=sentence,
                additional_deps=[keys[stage] for stage in others],
                blocking=True,
                partitions_def=partitions_def,
            )
            for check, (sentence, _) in sentences.items()
        ]

    def check(
        context: dg.AssetCheckExecutionContext, **files: Path
    ) -> Iterator[dg.AssetCheckResult]:
        try:
            findings = find(files, context)
        except Exception as error:  # noqa: BLE001 - what could not be checked has failed
            findings = dict.fromkeys(sentences, Finding.of_error(error))
        for spec in specs:
            yield _result(spec, findings[spec.name])

    # Dagster reads off the parameters what to ask the IO manager for, and has no other way.
    own = signature(check).parameters["context"]
    asked = [Parameter(s, Parameter.POSITIONAL_OR_KEYWORD, annotation=Path) for s in stages]
    check.__signature__ = Signature([own, *asked])  # type: ignore[attr-defined]
    check.__annotations__ = {"context": own.annotation, **dict.fromkeys(stages, Path)}
    return dg.multi_asset_check(
        name=f"{name}__check_{checked}",
        specs=specs,
        ins={stage: keys[stage] for stage in stages},
        can_subset=False,
    )(check)


def _result(spec: dg.AssetCheckSpec, finding: Finding) -> dg.AssetCheckResult:
    said = spec.description or spec.name
    if finding.error is not None:
        said = f"This could not be checked, and so has failed ({finding.error}): {said}"
    elif not finding.passed:
        said = f"This does not hold: {said}"
    return dg.AssetCheckResult(
        passed=finding.passed,
        asset_key=spec.asset_key,
        check_name=spec.name,
        severity=dg.AssetCheckSeverity.ERROR,
        description=said,
        metadata={count: dg.MetadataValue.int(n) for count, n in finding.counts.items()},
    )


def _promises(
    asked: Asked, docs: Path | None, files: Files, context: dg.AssetCheckExecutionContext
) -> Findings:
    part = context.partition_key if context.has_partition_key else ALL
    folder = None if docs is None else docs / re.sub(r"[^\w.-]", "_", part)
    return examine(files, asked, folder)


def _lines(
    query: str, key: dg.AssetKey, files: Files, context: dg.AssetCheckExecutionContext
) -> Findings:
    counts = counted(files, query)
    said = _said(context, key)
    if "lines" in said:
        known = counts["accepted"] + counts["rejected"] + said.get("outside", 0)
        counts |= {**said, "unexplained": abs(said["lines"] - known)}
    return _findings(counts, OF_LINES)


def _said(context: dg.AssetCheckExecutionContext, key: dg.AssetKey) -> dict[str, int]:
    """What the reader of the source said: lines read, and those outside the partition."""
    part = [context.partition_key] if context.has_partition_key else None
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=part)
    for record in context.instance.fetch_materializations(wanted, limit=1).records:
        if record.asset_materialization is not None:
            metadata = record.asset_materialization.metadata
            values = {name: metadata[name].value for name in SAID if name in metadata}
            return {name: value for name, value in values.items() if isinstance(value, int)}
    return {}


def _counts(
    query: str, sentences: Sentences, files: Files, _: dg.AssetCheckExecutionContext
) -> Findings:
    return _findings(counted(files, query), sentences)


def _findings(counts: Mapping[str, int], sentences: Sentences) -> Findings:
    return {
        check: Finding(not any(counts.get(name) for name in zeros), counts)
        for check, (_, zeros) in sentences.items()
    }
