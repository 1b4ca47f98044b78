"""Custom expectations of Great Expectations, one per promise of a release.

Each validates a small pandas batch from `release_counts`, and fails if the batch is empty, lacks a
column or has values other than counts. Results and Data Docs have counts only. Importing this
module imports Great Expectations, which takes about 8 seconds.
"""

from string import Template
from typing import Any, ClassVar, Final

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.components import (
    LegacyRendererType,
    RenderedStringTemplateContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererConfiguration

from setanon_core.params import Format
from setanon_dagster.quality.promises import PROMISES
from setanon_dagster.quality.release_counts import STAGE_COLUMNS
from setanon_dagster.verifier.release_format import layout_of

BATCH: Final = "setanon.batch"
"""Metric of all expectations: the batch itself, which is small."""

FIGURES: Final = {"threads", "keywords", "withdrawals", "additions", "deletions", "kept"}
"""Figures of a cost report that a batch must have, one row each."""


class BatchMetric(TableMetricProvider):
    """Passes the batch to the expectation."""

    metric_name = BATCH

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls: object,  # noqa: N805 - GX passes the class, without a decorator
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        **_: object,
    ) -> pd.DataFrame:
        return execution_engine.get_domain_records(domain_kwargs=metric_domain_kwargs)


class CountsExpectation(BatchExpectation):
    """Base class: validates a batch of counts; subclasses define columns and violations."""

    metric_dependencies = (BATCH,)
    promise: ClassVar[str] = ""
    """Key of its description in `PROMISES`."""

    counts: ClassVar[tuple[str, ...]] = ()
    """Columns of integers of at least 0."""

    texts: ClassVar[tuple[str, ...]] = ()
    """Columns of strings; they are compared and never shown."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Keep this class out of the registry of Great Expectations."""
        return cls.__name__ == "CountsExpectation" or bool(super().is_abstract())

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Return counts; `violations` must be one of them, and 0 if the promise holds."""
        raise NotImplementedError

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002 - GX's signature
        execution_engine: object = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        batch = metrics[BATCH]
        if not self._is_valid(batch):
            counts = {"rows": len(batch), "violations": 1}
            return {
                "success": False,
                "result": {"observed_value": "not a batch of counts", **counts},
            }
        counts = self.count_violations(batch)
        shown = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items())
        return {"success": counts["violations"] == 0, "result": {"observed_value": shown, **counts}}

    def _is_valid(self, batch: pd.DataFrame) -> bool:
        """Whether the batch has rows, and exactly the expected columns and types."""
        names = set(batch.columns)
        return (
            len(batch) > 0
            and names == {*self.counts, *self.texts}
            and len(names) == len(batch.columns)
            and all(_are_counts(batch[name]) for name in self.counts)
            and all(
                batch[name].map(lambda cell: isinstance(cell, str)).all() for name in self.texts
            )
        )

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration[Any]
    ) -> RendererConfiguration[Any]:
        renderer_configuration.template_str = cls._description(renderer_configuration.kwargs)
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: object = None,  # noqa: ARG003 - GX's signature
        runtime_configuration: object = None,  # noqa: ARG003
    ) -> list[RenderedStringTemplateContent]:
        description = cls._description(configuration.kwargs if configuration else {})
        return [RenderedStringTemplateContent(string_template={"template": description})]

    @classmethod
    def _description(cls, kwargs: dict[str, Any]) -> str:
        return Template(PROMISES[cls.promise]).safe_substitute(kwargs)


class ExpectEverySetToHaveKUsers(CountsExpectation):
    """Expect at least k users to share every published set."""

    k: int = pydantic.Field(ge=2, description="Minimum number of users that share a set.")
    success_keys = ("k",)
    promise = "every_set_has_k_users"
    counts = ("users", "sets", "threads")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count threads with a set of too few users, as the verifier does."""
        return _shared_by_k(batch, "sets", self.k)


class ExpectEveryListToHaveKUsers(CountsExpectation):
    """Expect at least k users to share every published list of queries."""

    k: int = pydantic.Field(ge=2, description="Minimum number of users that share a list.")
    success_keys = ("k",)
    promise = "every_list_has_k_users"
    counts = ("users", "lists", "threads")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count threads with a list of too few users, as the verifier does."""
        return _shared_by_k(batch, "lists", self.k)


class ExpectEveryKeywordToHaveOwners(CountsExpectation):
    """Expect at least min_owners users to have typed every published keyword."""

    min_owners: int = pydantic.Field(
        ge=0, description="Minimum number of users that typed a keyword."
    )
    success_keys = ("min_owners",)
    promise = "every_keyword_has_owners"
    counts = ("owners", "keywords")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count keywords of too few owners."""
        counts = _without_zero_row(batch)
        rare = counts["owners"] < self.min_owners
        return {
            "keywords": int(counts["keywords"].sum()),
            "fewest_owners": int(counts["owners"].min()) if len(counts) else 0,
            "violations": int(counts.loc[rare, "keywords"].sum() + (counts["keywords"] == 0).sum()),
        }


class ExpectThreadsToBeUniqueAndWellFormed(CountsExpectation):
    """Expect every thread to be published once, with one ledger entry and well-formed texts."""

    promise = "threads_are_unique"
    counts = ("rows", "distinct_rows", "entries", "distinct_entries", "malformed", "unmatched")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count repeated, malformed and unmatched threads; each thread has at least one row."""
        total = {name: int(batch[name].sum()) for name in self.counts}
        entries = total["entries"]
        repeated = total["rows"] - total["distinct_rows"] + entries - total["distinct_entries"]
        impossible = abs(len(batch) - 1) + max(entries - total["rows"], 0) + max(-repeated, 0)
        return {
            "threads": entries,
            "repeated": repeated,
            "malformed": total["malformed"],
            "unmatched": total["unmatched"],
            "violations": abs(repeated) + total["malformed"] + total["unmatched"] + impossible,
        }


class ExpectOnlyColumnsOfTheRelease(CountsExpectation):
    """Expect the columns of the format and no other."""

    format: Format = pydantic.Field(description="queries, edited or sets.")
    attributes: list[str] = pydantic.Field(
        default_factory=list, description="Published attributes: columns with lists of texts."
    )
    success_keys = ("format", "attributes")
    promise = "no_user_or_time_column"
    texts = ("name", "type")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count unexpected, missing and repeated columns, and those of another type."""
        further = dict.fromkeys(self.attributes, "VARCHAR[]")
        allowed = sorted({**STAGE_COLUMNS[layout_of(self.format)], **further}.items())
        seen = sorted(zip(batch["name"], batch["type"], strict=True))
        unexpected = sum(column not in allowed for column in seen)
        missing = sum(column not in seen for column in allowed)
        repeated = len(seen) - len(set(seen))
        return {"columns": len(seen), "violations": unexpected + missing + repeated}


class ExpectEveryRowToBeAccountedFor(CountsExpectation):
    """Expect every stage to keep or set aside all of its input rows."""

    promise = "every_row_is_accounted_for"
    counts = ("input_rows", "kept", "set_aside")
    texts = ("stage",)

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count lost and added rows of all stages; each stage must occur once."""
        unexplained = (batch["input_rows"] - batch["kept"] - batch["set_aside"]).abs().sum()
        return {
            "input_rows": int(batch["input_rows"].iloc[0]),
            "published_threads": int(batch["kept"].iloc[-1]),
            "withdrawn_threads": int(batch["set_aside"].sum()),
            "violations": int(unexplained) + len(batch) - batch["stage"].nunique(),
        }


class ExpectEditsToMatchTheCostReport(CountsExpectation):
    """Expect the cost report to agree with a recount from the data."""

    promise = "edits_match_the_cost_report"
    counts = ("least", "most", "reported")
    texts = ("figure",)

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count figures that are outside their interval, missing or repeated."""
        reported = dict(zip(batch["figure"], batch["reported"].astype(int), strict=True))
        wrong = (batch["reported"] < batch["least"]) | (batch["reported"] > batch["most"])
        missing = len(FIGURES ^ set(reported)) + len(batch) - len(reported)
        shown = ("additions", "deletions", "withdrawals")
        return {
            **{name: int(reported[name]) for name in shown if name in reported},
            "violations": int(wrong.sum()) + missing,
        }


class ExpectSomethingToBeLeft(CountsExpectation):
    """Expect threads to publish, unless the release is a partition, which may be empty."""

    may_be_empty: bool = pydantic.Field(
        default=False, description="Whether the release is a partition."
    )
    success_keys = ("may_be_empty",)
    promise = "something_is_left"
    counts = ("threads", "left")

    def count_violations(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count one violation if nothing is left, or more than there was."""
        threads, left = int(batch["threads"].sum()), int(batch["left"].sum())
        wrong = left > threads or (left == 0 and not self.may_be_empty)
        return {"threads": threads, "left": left, "violations": int(wrong) + len(batch) - 1}


def _shared_by_k(batch: pd.DataFrame, shared: str, k: int) -> dict[str, int]:
    """Count sets or lists, and threads with one of too few users.

    Each user of a set or list has at least one thread with it: other counts are impossible.
    """
    sizes = _without_zero_row(batch)
    too_few = sizes["users"] < k
    impossible = (sizes[shared] == 0) | (sizes["threads"] < sizes[shared] * sizes["users"])
    return {
        shared: int(sizes[shared].sum()),
        "threads": int(sizes["threads"].sum()),
        "fewest_users": int(sizes["users"].min()) if len(sizes) else 0,
        f"violating_{shared}": int(sizes.loc[too_few, shared].sum()),
        "violations": int(sizes.loc[too_few, "threads"].sum() + impossible.sum()),
    }


def _without_zero_row(batch: pd.DataFrame) -> pd.DataFrame:
    """The rows, except a single row of zeros, which stands for an empty release."""
    empty = len(batch) == 1 and not batch.to_numpy().any()
    return batch.iloc[:0] if empty else batch


def _are_counts(column: "pd.Series[Any]") -> bool:
    """Whether a column has integers of at least 0 only."""
    if column.dtype.kind not in "iu":
        return False
    return not column.isna().any() and bool((column >= 0).all())
