"""Asset checks: the promises of a release in the Dagster UI; a failed check stops the run.

The checks are not the gate: a run may skip them, so the release asset verifies by itself. Great
Expectations validates the promises of a release on counts computed by DuckDB. The checks of the
stages before it need DuckDB only.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Template
from typing import Any, Final

import dagster as dg

from setanon_core.params import Format, Params
from setanon_dagster.executor import STEP_TAGS
from setanon_dagster.metadata_keys import CHECK_ERROR, DATA_DOCS, LINES, OUTSIDE
from setanon_dagster.quality.data_docs import ALL, CheckOutcome, DataDocs
from setanon_dagster.quality.gx_worker import validate
from setanon_dagster.quality.promises import ReleasePromises, promised_checks
from setanon_dagster.quality.stage_counts import (
    CLUSTER_CHECKS,
    LINE_CHECKS,
    THREAD_CHECKS,
    StageCheck,
    count_clusters,
    count_lines,
    count_threads,
)
from setanon_dagster.quality.stage_views import Files, open_stages
from setanon_dagster.redaction import explain_resource_errors
from setanon_dagster.verifier.sql import Connection

LINE_METADATA: Final = {"lines": LINES, "outside": OUTSIDE}
"""Counts of a check, and the materialization metadata they are read from."""

Outcomes = Mapping[str, CheckOutcome]
Opener = Callable[[Files], AbstractContextManager[Connection]]
"""Opens the files of a check with the memory limit and spill folder of all checks."""


def build_checks(  # noqa: PLR0913 - parameters, each by name
    keys: Mapping[str, dg.AssetKey],
    *,
    k: int,
    min_owners: int | None = None,
    format: Format = "queries",  # noqa: A002 - the name of the parameter everywhere
    attributes: tuple[str, ...] = (),
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    docs: Path | None = None,
    name: str = "setanon",
    memory: str | None = None,
    spill: Path | None = None,
) -> list[dg.AssetChecksDefinition]:
    """Build the blocking checks of the assets of a release; `keys` are their keys by stage.

    The IO managers of the assets must load inputs of type `Path` as paths of Parquet files. Data
    Docs are written into a folder of `docs` per partition; they are private. `name` makes the step
    names of several releases distinct. `memory` ("1GB") limits DuckDB, which spills into a
    temporary folder in `spill`.
    """
    promises = ReleasePromises(
        k=k,
        min_owners=Params(k, min_owners=min_owners).required_owners,
        format=format,
        attributes=attributes,
        may_be_empty=partitions_def is not None,
    )
    values = {"k": k, "min_owners": promises.min_owners, "format": format}
    release_checks = {
        check: StageCheck(Template(description).substitute(values))
        for check, description in promised_checks(format).items()
    }
    raw = "raw_log" if "raw_log" in keys else "raw_baskets"
    upstream = [stage for stage in (raw, "threads", "clusters") if stage in keys]
    build = partial(_definition, name, keys, partitions_def)
    opener = partial(open_stages, memory=memory, spill=spill)
    definitions = [
        build((raw, "rejected_rows"), LINE_CHECKS, partial(_check_lines, opener, raw, keys[raw])),
        build(
            ("clusters",),
            CLUSTER_CHECKS,
            partial(_check_stage, opener, count_clusters, CLUSTER_CHECKS),
        ),
        build(
            ("anonymized_threads", "ledger", "cost_report", *upstream),
            release_checks,
            partial(_check_release, opener, promises, docs, name),
        ),
    ]
    if "threads" in keys:
        run = partial(_check_stage, opener, count_threads, THREAD_CHECKS)
        definitions.append(build(("threads", raw), THREAD_CHECKS, run))
    return definitions


def _definition(  # noqa: PLR0913, PLR0917 - the first three are bound by the caller
    name: str,
    keys: Mapping[str, dg.AssetKey],
    partitions_def: dg.PartitionsDefinition[Any] | None,
    stages: tuple[str, ...],
    checks: Mapping[str, StageCheck],
    run: Callable[[Files, dg.AssetCheckExecutionContext], Outcomes],
) -> dg.AssetChecksDefinition:
    """Define the checks of the first of `stages` as one step; the other stages are inputs."""
    checked, *others = stages
    with warnings.catch_warnings():
        # Without partitions_def, a check would get the files of all partitions.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        specs = [
            dg.AssetCheckSpec(
                check,
                asset=keys[checked],
                description=description,
                additional_deps=[keys[stage] for stage in others],
                blocking=True,
                partitions_def=partitions_def,
            )
            for check, (description, _) in checks.items()
        ]

    def step(
        context: dg.AssetCheckExecutionContext, **files: Path
    ) -> Iterator[dg.AssetCheckResult]:
        try:
            with explain_resource_errors():
                outcomes = run(files, context)
        except dg.Failure:
            raise
        except Exception as error:  # noqa: BLE001 - a check that could not run has failed
            outcomes = dict.fromkeys(checks, CheckOutcome.of_error(error))
        for spec in specs:
            yield _result(spec, outcomes[spec.name])

    # Dagster reads the inputs from the signature only.
    context = signature(step).parameters["context"]
    inputs = [Parameter(s, Parameter.POSITIONAL_OR_KEYWORD, annotation=Path) for s in stages]
    step.__signature__ = Signature([context, *inputs])  # type: ignore[attr-defined]
    step.__annotations__ = {"context": context.annotation, **dict.fromkeys(stages, Path)}
    return dg.multi_asset_check(
        name=f"{name}__check_{checked}",
        specs=specs,
        ins={stage: keys[stage] for stage in stages},
        can_subset=False,
        op_tags=STEP_TAGS,
    )(step)


def _result(spec: dg.AssetCheckSpec, outcome: CheckOutcome) -> dg.AssetCheckResult:
    description = spec.description or spec.name
    if outcome.error is not None:
        description = f"Failed, could not be checked ({outcome.error}): {description}"
    elif not outcome.passed:
        description = f"This does not hold: {description}"
    counts = {name: dg.MetadataValue.int(n) for name, n in outcome.counts.items()}
    pages = {} if outcome.page is None else {DATA_DOCS: dg.MetadataValue.path(outcome.page)}
    errors = {} if outcome.error is None else {CHECK_ERROR: outcome.error}
    return dg.AssetCheckResult(
        passed=outcome.passed,
        asset_key=spec.asset_key,
        check_name=spec.name,
        severity=dg.AssetCheckSeverity.ERROR,
        description=description,
        metadata={**counts, **pages, **errors},
    )


def _check_release(  # noqa: PLR0913, PLR0917 - all but the last two are bound by the caller
    opener: Opener,
    promises: ReleasePromises,
    folder: Path | None,
    name: str,
    files: Files,
    context: dg.AssetCheckExecutionContext,
) -> Outcomes:
    partition = context.partition_key if context.has_partition_key else None
    if folder is None:
        return validate(partial(opener, files), promises, None)
    shown = name if partition is None else f"{name}, {partition}"
    docs = DataDocs(data_docs_folder(folder, partition), shown)
    outcomes = validate(partial(opener, files), promises, docs)
    return {check: replace(each, page=docs.index(outcomes)) for check, each in outcomes.items()}


def data_docs_folder(docs: Path, partition: str | None) -> Path:
    """The folder of the Data Docs of a partition."""
    return docs / re.sub(r"[^\w.-]", "_", ALL if partition is None else partition)


def _check_lines(
    opener: Opener,
    raw: str,
    key: dg.AssetKey,
    files: Files,
    context: dg.AssetCheckExecutionContext,
) -> Outcomes:
    with opener(files) as connection:
        counts = count_lines(connection, raw)
    if context.has_partition_key:
        counts["empty"] = 0  # nobody has searched in this partition; `read_source` refuses others
    return line_outcomes(counts, _line_metadata(context, key))


def line_outcomes(counts: Mapping[str, int], read: Mapping[str, int]) -> Outcomes:
    """Compare the counted lines with the numbers that were recorded when the source was read."""
    if "lines" in read:
        explained = counts["accepted"] + counts["rejected"] + read.get("outside", 0)
        counts = {**counts, **read, "unexplained": abs(read["lines"] - explained)}
    return stage_outcomes(counts, LINE_CHECKS)


def _line_metadata(context: dg.AssetCheckExecutionContext, key: dg.AssetKey) -> dict[str, int]:
    """Read the line counts from the metadata of the latest materialization."""
    partitions = [context.partition_key] if context.has_partition_key else None
    records_filter = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    for record in context.instance.fetch_materializations(records_filter, limit=1).records:
        if record.asset_materialization is not None:
            metadata = record.asset_materialization.metadata
            values = {
                count: metadata[name].value
                for count, name in LINE_METADATA.items()
                if name in metadata
            }
            return {count: value for count, value in values.items() if isinstance(value, int)}
    return {}


def _check_stage(
    opener: Opener,
    count: Callable[[Connection], dict[str, int]],
    checks: Mapping[str, StageCheck],
    files: Files,
    _: dg.AssetCheckExecutionContext,
) -> Outcomes:
    with opener(files) as connection:
        return stage_outcomes(count(connection), checks)


def stage_outcomes(counts: Mapping[str, int], checks: Mapping[str, StageCheck]) -> Outcomes:
    """A check passes if all of its zero counts are 0."""
    return {
        name: CheckOutcome(not any(counts.get(count) for count in check.zero_counts), counts)
        for name, check in checks.items()
    }
