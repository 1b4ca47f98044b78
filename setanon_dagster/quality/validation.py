"""Validation of a release by Great Expectations, on counts computed by DuckDB, and its Data Docs.

Great Expectations is imported inside functions only: the import takes about 8 seconds.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from setanon_dagster.quality.data_docs import make_offline
from setanon_dagster.quality.promises import ReleasePromises, promised_checks
from setanon_dagster.quality.release_counts import (
    column_types,
    edit_counts,
    entry_counts,
    left_counts,
    list_counts,
    owner_counts,
    stage_rows,
    user_counts,
)
from setanon_dagster.verifier.sql import Connection

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )
    from great_expectations.expectations.expectation import Expectation

SITE: Final = "release"
"""Name of the Data Docs site."""

# Our expectations return counts in every format; this one keeps them in the Data Docs.
RESULT_FORMAT: Final = "SUMMARY"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Whether a check passed, with its counts; or the error that kept it from running."""

    passed: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    """Class of the exception; its message may contain data."""

    @classmethod
    def of_error(cls, error: Exception) -> "CheckOutcome":
        """A check that could not run has failed."""
        return cls(passed=False, error=type(error).__name__)


def run_expectations(
    open_connection: Callable[[], AbstractContextManager[Connection]],
    promises: ReleasePromises,
    docs: Path | None = None,
) -> dict[str, CheckOutcome]:
    """Return an outcome per promise; replace the folder `docs` by Data Docs of the results.

    If a check could not run, no Data Docs are written, and those of an earlier run are removed.
    """
    checks = promised_checks(promises.format)
    outcomes: dict[str, CheckOutcome] = {}
    batches: dict[str, pd.DataFrame] = {}
    try:
        with open_connection() as connection:
            for name, count in _batches(connection, promises).items():
                try:
                    batches[name] = count()
                except Exception as error:  # noqa: BLE001 - a check that could not run has failed
                    outcomes[name] = CheckOutcome.of_error(error)
    except Exception as error:  # noqa: BLE001
        outcomes |= {name: CheckOutcome.of_error(error) for name in checks if name not in batches}
    if docs is not None:
        shutil.rmtree(docs, ignore_errors=True)
    try:
        context = _ephemeral_context()
        expectations = _expectations(promises)
        for name, batch in batches.items():
            outcomes[name] = _validate(context, name, expectations[name], batch)
        if docs is not None and not any(outcome.error for outcome in outcomes.values()):
            _write_data_docs(context, docs)
    except Exception as error:  # noqa: BLE001
        outcomes |= {name: CheckOutcome.of_error(error) for name in checks if name not in outcomes}
    return {name: outcomes[name] for name in checks}


def _batches(
    connection: Connection, promises: ReleasePromises
) -> dict[str, Callable[[], "pd.DataFrame"]]:
    """For each promise of the format, the function that counts its batch."""
    form, k, min_owners = promises.format, promises.k, promises.min_owners
    counts = {
        "every_list_has_k_users": lambda: list_counts(connection, form),
        "every_set_has_k_users": lambda: user_counts(connection, form),
        "every_keyword_has_owners": lambda: owner_counts(connection, form, max(k, min_owners)),
        "threads_are_unique": lambda: entry_counts(connection, form),
        "no_user_or_time_column": lambda: column_types(connection),
        "every_row_is_accounted_for": lambda: stage_rows(connection, form, k),
        "edits_match_the_cost_report": lambda: edit_counts(connection, form, k),
        "something_is_left": lambda: left_counts(connection, form),
    }
    return {name: counts[name] for name in promised_checks(form)}


def _expectations(promises: ReleasePromises) -> dict[str, "Expectation"]:
    """The expectation of each promise."""
    from setanon_dagster.quality import expectations as custom

    return {
        "every_list_has_k_users": custom.ExpectEveryListToHaveKUsers(k=promises.k),
        "every_set_has_k_users": custom.ExpectEverySetToHaveKUsers(k=promises.k),
        "every_keyword_has_owners": custom.ExpectEveryKeywordToHaveOwners(
            min_owners=promises.min_owners
        ),
        "threads_are_unique": custom.ExpectThreadsToBeUniqueAndWellFormed(),
        "no_user_or_time_column": custom.ExpectOnlyColumnsOfTheRelease(format=promises.format),
        "every_row_is_accounted_for": custom.ExpectEveryRowToBeAccountedFor(),
        "edits_match_the_cost_report": custom.ExpectEditsToMatchTheCostReport(),
        "something_is_left": custom.ExpectSomethingToBeLeft(may_be_empty=promises.may_be_empty),
    }


def _write_data_docs(context: "AbstractDataContext", folder: Path) -> None:
    """Write the validated expectations as static pages; the first page is index.html."""
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


def _ephemeral_context() -> "AbstractDataContext":
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # By default, an ephemeral context writes Data Docs into a temporary folder.
    context.variables.data_docs_sites = {}
    return context


def _validate(
    context: "AbstractDataContext", name: str, expectation: "Expectation", batch: "pd.DataFrame"
) -> CheckOutcome:
    """Validate one batch by one expectation."""
    import great_expectations as gx

    asset = context.data_sources.add_pandas(name).add_dataframe_asset(name)
    data = asset.add_batch_definition_whole_dataframe(name)
    suite = context.suites.add(gx.ExpectationSuite(name, expectations=[expectation]))
    validation = gx.ValidationDefinition(name=name, data=data, suite=suite)
    result = validation.run(batch_parameters={"dataframe": batch}, result_format=RESULT_FORMAT)
    return outcome_of(result.results)


def outcome_of(results: list[Any]) -> CheckOutcome:
    """The outcome of the result of one expectation; an exception is an error, not a violation."""
    if len(results) != 1:
        return CheckOutcome(passed=False, error="NoResult")
    [result] = results
    raised = next(_exception_classes(result.exception_info), None)
    if raised is not None:
        return CheckOutcome(passed=False, error=raised)
    counts = {name: int(n) for name, n in result.result.items() if name != "observed_value"}
    return CheckOutcome(result.success is True and counts.get("violations") == 0, counts)


def _exception_classes(info: Mapping[str, Any] | None) -> Iterator[str]:
    """Classes of the exceptions of a result, which has one entry, or one per metric."""
    for name, value in (info or {}).items():
        if isinstance(value, Mapping):
            yield from _exception_classes(value)
        elif name == "raised_exception" and value:
            trace = str((info or {}).get("exception_traceback") or "").strip().splitlines()
            match = re.match(r"[\w.]*?(\w+(?:Error|Exception))\b", trace[-1]) if trace else None
            yield match.group(1) if match else "Exception"
