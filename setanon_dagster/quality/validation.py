"""Great Expectations asked about the counts of a release, and its answers as pages.

Great Expectations is imported here, and only inside functions: it takes some 8 seconds.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from setanon_core.params import Format
from setanon_dagster.quality.data_docs import make_offline
from setanon_dagster.quality.gathering import Connection
from setanon_dagster.quality.release_counts import (
    PROMISES,
    edits,
    identifiers,
    owners_per_keyword,
    published_columns,
    rows_accounted_for,
    users_per_set,
)

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )
    from great_expectations.expectations.expectation import Expectation

SITE: Final = "release"
"""The name of the Data Docs."""

# Our expectations answer in counts whatever the format; this one keeps them for the Data Docs.
RESULT_FORMAT: Final = "SUMMARY"


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a promise is kept, and the counts that say so; or why nobody knows."""

    passed: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    """The class of the exception that kept the check from running: never its text."""

    @classmethod
    def of_error(cls, error: Exception) -> "Finding":
        """A check that could not run has failed."""
        return cls(passed=False, error=type(error).__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedValues:
    """What is asked of a release."""

    k: int
    min_owners: int
    format: Format

    def batches(self, connection: Connection) -> dict[str, Callable[[], "pd.DataFrame"]]:
        """How to count what each promise is judged by."""
        kind, k = self.format, self.k
        return {
            "every_set_has_k_users": lambda: users_per_set(connection, kind),
            "every_keyword_has_owners": lambda: owners_per_keyword(
                connection, kind, max(k, self.min_owners)
            ),
            "thread_ids_are_unique": lambda: identifiers(connection, kind),
            "no_user_or_time_column": lambda: published_columns(connection),
            "every_row_is_accounted_for": lambda: rows_accounted_for(connection, kind, k),
            "edits_match_the_cost_report": lambda: edits(connection, kind, k),
        }

    def expectations(self) -> dict[str, "Expectation"]:
        """The expectation of each promise."""
        from setanon_dagster.quality import expectations as ours

        return {
            "every_set_has_k_users": ours.ExpectEverySetToHaveKUsers(k=self.k),
            "every_keyword_has_owners": ours.ExpectEveryKeywordToHaveOwners(
                min_owners=self.min_owners
            ),
            "thread_ids_are_unique": ours.ExpectThreadIdsToBeUniqueAndWellFormed(),
            "no_user_or_time_column": ours.ExpectOnlyColumnsOfTheRelease(format=self.format),
            "every_row_is_accounted_for": ours.ExpectEveryRowToBeAccountedFor(),
            "edits_match_the_cost_report": ours.ExpectEditsToMatchTheCostReport(),
        }


def run_expectations(
    opened: Callable[[], AbstractContextManager[Connection]],
    asked: PromisedValues,
    docs: Path | None = None,
) -> dict[str, Finding]:
    """A finding for every promise, whatever happens; Data Docs of them in the folder `docs`.

    The folder is replaced. Where a check could not run there are no Data Docs, and those of an
    earlier validation, which may have been better, are gone.
    """
    findings: dict[str, Finding] = {}
    batches: dict[str, pd.DataFrame] = {}
    try:
        with opened() as connection:
            for promise, count in asked.batches(connection).items():
                try:
                    batches[promise] = count()
                except Exception as error:  # noqa: BLE001 - whatever it is, nothing is proven
                    findings[promise] = Finding.of_error(error)
    except Exception as error:  # noqa: BLE001
        findings |= {name: Finding.of_error(error) for name in PROMISES if name not in batches}
    if docs is not None:
        shutil.rmtree(docs, ignore_errors=True)
    try:
        context = _context()
        expectations = asked.expectations()
        for promise, batch in batches.items():
            findings[promise] = _judged(context, promise, expectations[promise], batch)
        if docs is not None and not any(finding.error for finding in findings.values()):
            data_docs(context, docs)
    except Exception as error:  # noqa: BLE001
        findings |= {name: Finding.of_error(error) for name in PROMISES if name not in findings}
    return {name: findings[name] for name in PROMISES}


def data_docs(context: "AbstractDataContext", folder: Path) -> None:
    """Write what the context has validated as static pages; open index.html in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    context.add_data_docs_site(
        SITE,
        {
            "class_name": "SiteBuilder",
            "store_backend": {
                "class_name": "TupleFilesystemStoreBackend",
                "base_directory": str(folder.absolute()),
            },
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )
    context.build_data_docs([SITE])
    make_offline(folder)


def _context() -> "AbstractDataContext":
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # An ephemeral context comes with Data Docs of its own, in a temporary folder.
    context.variables.data_docs_sites = {}
    return context


def _judged(
    context: "AbstractDataContext", name: str, expectation: "Expectation", batch: "pd.DataFrame"
) -> Finding:
    """One batch, one suite of one expectation, one answer."""
    import great_expectations as gx

    source = context.data_sources.add_pandas(name)
    whole = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)
    suite = context.suites.add(gx.ExpectationSuite(name, expectations=[expectation]))
    validation = gx.ValidationDefinition(name=name, data=whole, suite=suite)
    answer = validation.run(batch_parameters={"dataframe": batch}, result_format=RESULT_FORMAT)
    return finding_of(answer.results)


def finding_of(results: list[Any]) -> Finding:
    """Read the answer of one expectation; an exception in it is an error, not a violation."""
    if len(results) != 1:
        return Finding(passed=False, error="NoResult")
    [result] = results
    raised = next(_raised(result.exception_info), None)
    if raised is not None:
        return Finding(passed=False, error=raised)
    counts = {name: int(n) for name, n in result.result.items() if name != "observed_value"}
    return Finding(result.success is True and counts.get("violations") == 0, counts)


def _raised(info: Mapping[str, Any] | None) -> Iterator[str]:
    """Classes of the exceptions in a result, which has one for itself or one for each metric."""
    for name, value in (info or {}).items():
        if isinstance(value, Mapping):
            yield from _raised(value)
        elif name == "raised_exception" and value:
            trace = str((info or {}).get("exception_traceback") or "").strip().splitlines()
            found = re.match(r"[\w.]*?(\w+(?:Error|Exception))\b", trace[-1]) if trace else None
            yield found.group(1) if found else "Exception"
