"""Validation of a release by Great Expectations, on counts computed by DuckDB, and its Data Docs.

Great Expectations is imported inside functions only: the import takes about 8 seconds.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from string import Template
from typing import TYPE_CHECKING, Any, Final

from setanon_dagster.quality.data_docs import CheckOutcome, DataDocs, write_data_docs
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

# Our expectations return counts in every format; this one keeps them in the Data Docs.
RESULT_FORMAT: Final = "SUMMARY"


def run_expectations(
    open_connection: Callable[[], AbstractContextManager[Connection]],
    promises: ReleasePromises,
    docs: DataDocs | None = None,
) -> dict[str, CheckOutcome]:
    """Return an outcome per promise, and write Data Docs of the results.

    Those of a run that failed, or could not run, are kept apart from those of a run that passed.
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
    try:
        context = _ephemeral_context()
        expectations = _expectations(promises)
        for name, batch in batches.items():
            outcomes[name] = _validate(context, name, expectations[name], batch)
    except Exception as error:  # noqa: BLE001
        outcomes |= {name: CheckOutcome.of_error(error) for name in checks if name not in outcomes}
    outcomes = {name: outcomes[name] for name in checks}
    if docs is not None:
        values = asdict(promises)
        promised = {name: Template(text).substitute(values) for name, text in checks.items()}
        with suppress(OSError):  # the outcomes do not depend on the pages
            write_data_docs(docs, outcomes, promised)
    return outcomes


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
        "no_user_or_time_column": custom.ExpectOnlyColumnsOfTheRelease(
            format=promises.format, attributes=list(promises.attributes)
        ),
        "every_row_is_accounted_for": custom.ExpectEveryRowToBeAccountedFor(),
        "edits_match_the_cost_report": custom.ExpectEditsToMatchTheCostReport(),
        "something_is_left": custom.ExpectSomethingToBeLeft(may_be_empty=promises.may_be_empty),
    }


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
