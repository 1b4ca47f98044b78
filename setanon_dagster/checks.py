"""Asset checks: what people see of a release's promises in Dagster, and what stops a run early.

They are not the gate: a run without checks would pass them by, and so the publishing asset
verifies for itself. Great Expectations judges the promises of a release, on counts made by DuckDB;
the stages before it are judged by DuckDB alone.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Template
from typing import Any, Final

import dagster as dg

from setanon_core.params import Format, Params
from setanon_dagster.metadata_keys import LINES, OUTSIDE
from setanon_dagster.quality.gathering import Connection, Files, opened
from setanon_dagster.quality.gx_worker import validate
from setanon_dagster.quality.release_counts import PROMISES
from setanon_dagster.quality.stage_counts import (
    OF_CLUSTERS,
    OF_LINES,
    OF_THREADS,
    Sentences,
    count_clusters,
    count_lines,
    count_threads,
)
from setanon_dagster.quality.validation import Finding, PromisedValues

ALL: Final = "all"
"""The folder of the Data Docs where there are no partitions."""

SAID: Final = {"lines": LINES, "outside": OUTSIDE}
"""What the reader says in the metadata of a materialization; outside the partition, that is."""

Findings = Mapping[str, Finding]
Opener = Callable[[Files], AbstractContextManager[Connection]]
"""Opens the files of a check, within the limits that are given for all."""


def build_checks(  # noqa: PLR0913 - the knobs, each by name
    keys: Mapping[str, dg.AssetKey],
    *,
    k: int,
    min_owners: int | None = None,
    format: Format = "queries",  # noqa: A002 - the knob's name everywhere
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    docs: Path | None = None,
    name: str = "setanon",
    memory: str | None = None,
    spill: Path | None = None,
) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of a release's assets, given their keys by the names of the stages.

    Inputs come from the assets' IO managers as paths of Parquet files. Data Docs go into a folder
    of `docs` that is named for the partition; they are private, as the report is. `name` tells
    the steps of one release from those of another. `memory` ("1GB") limits DuckDB, which spills
    into a folder made in `spill`.
    """
    asked = PromisedValues(
        k=k, min_owners=Params(k, min_owners=min_owners).required_owners, format=format
    )
    raw = "raw_log" if "raw_log" in keys else "raw_baskets"
    promises: Sentences = {
        check: (Template(said).substitute(k=k, min_owners=asked.min_owners, format=format), ())
        for check, said in PROMISES.items()
    }
    before = [stage for stage in (raw, "threads", "clusters") if stage in keys]
    build = partial(_definition, name, keys, partitions_def)
    limited = partial(opened, memory=memory, spill=spill)
    look = partial(_stage, limited)
    made = [
        build((raw, "rejected_rows"), OF_LINES, partial(_lines, limited, raw, keys[raw])),
        build(("clusters",), OF_CLUSTERS, partial(look, count_clusters, OF_CLUSTERS)),
        build(
            ("anonymized_threads", "ledger", "cost_report", *before),
            promises,
            partial(_promises, limited, asked, docs),
        ),
    ]
    if "threads" in keys:
        find = partial(look, count_threads, OF_THREADS)
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
    limited: Opener,
    asked: PromisedValues,
    docs: Path | None,
    files: Files,
    context: dg.AssetCheckExecutionContext,
) -> Findings:
    partition = context.partition_key if context.has_partition_key else None
    folder = None if docs is None else data_docs_folder(docs, partition)
    return validate(partial(limited, files), asked, folder)


def data_docs_folder(docs: Path, partition: str | None) -> Path:
    """The folder of the Data Docs of a partition."""
    return docs / re.sub(r"[^\w.-]", "_", ALL if partition is None else partition)


def _lines(
    limited: Opener,
    raw: str,
    key: dg.AssetKey,
    files: Files,
    context: dg.AssetCheckExecutionContext,
) -> Findings:
    with limited(files) as connection:
        counts = count_lines(connection, raw)
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
            values = {name: metadata[key].value for name, key in SAID.items() if key in metadata}
            return {name: value for name, value in values.items() if isinstance(value, int)}
    return {}


def _stage(
    limited: Opener,
    count: Callable[[Connection], dict[str, int]],
    sentences: Sentences,
    files: Files,
    _: dg.AssetCheckExecutionContext,
) -> Findings:
    with limited(files) as connection:
        return _findings(count(connection), sentences)


def _findings(counts: Mapping[str, int], sentences: Sentences) -> Findings:
    return {
        check: Finding(not any(counts.get(name) for name in zeros), counts)
        for check, (_, zeros) in sentences.items()
    }
