"""Expectations of our own for Great Expectations: what a release promises, asked of counts.

Each judges a small pandas batch, such as the functions of `audit` make, and fails on a batch
that is empty, lacks a column or holds anything but counts. Results and Data Docs have counts
only. Importing this module imports Great Expectations, which takes some 8 seconds.
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
from setanon_dagster.quality.release_counts import COLUMNS, PROMISES

BATCH: Final = "setanon.batch"
"""The metric behind all expectations: the batch itself, which is small."""

FIGURES: Final = {"threads", "keywords", "withdrawals", "additions", "deletions", "kept"}
"""What is compared of a cost report: one row for each, or the comparison is not complete."""


class WholeBatch(TableMetricProvider):
    """Hands the batch to the expectation."""

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
    """Judges a batch of counts; subclasses name the columns and say what must hold."""

    metric_dependencies = (BATCH,)
    promise: ClassVar[str] = ""
    """The name of its sentence in `PROMISES`."""

    counts: ClassVar[tuple[str, ...]] = ()
    """Columns that must hold whole numbers from 0."""

    texts: ClassVar[tuple[str, ...]] = ()
    """Columns that must hold texts; they are compared and never shown."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Keep this class itself out of GX's registry."""
        return cls.__name__ == "CountsExpectation" or bool(super().is_abstract())

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Count what there is; `violations` must be among the counts, and must be 0."""
        raise NotImplementedError

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002 - GX's signature
        execution_engine: object = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        batch = metrics[BATCH]
        if not self._readable(batch):
            seen = {"rows": len(batch), "violations": 1}
            return {"success": False, "result": {"observed_value": "not a batch of counts", **seen}}
        found = self.judge(batch)
        shown = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in found.items())
        return {"success": found["violations"] == 0, "result": {"observed_value": shown, **found}}

    def _readable(self, batch: pd.DataFrame) -> bool:
        """Fail closed: no row, no column or no count is no proof of anything."""
        names = set(batch.columns)
        return (
            len(batch) > 0
            and names == {*self.counts, *self.texts}
            and len(names) == len(batch.columns)
            and all(_whole(batch[name]) for name in self.counts)
            and all(
                batch[name].map(lambda cell: isinstance(cell, str)).all() for name in self.texts
            )
        )

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration[Any]
    ) -> RendererConfiguration[Any]:
        renderer_configuration.template_str = cls._sentence(renderer_configuration.kwargs)
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: object = None,  # noqa: ARG003 - GX's signature
        runtime_configuration: object = None,  # noqa: ARG003
    ) -> list[RenderedStringTemplateContent]:
        sentence = cls._sentence(configuration.kwargs if configuration else {})
        return [RenderedStringTemplateContent(string_template={"template": sentence})]

    @classmethod
    def _sentence(cls, kwargs: dict[str, Any]) -> str:
        return Template(PROMISES[cls.promise]).safe_substitute(kwargs)


class ExpectEverySetToHaveKUsers(CountsExpectation):
    """Expect every published set to be that of at least k users."""

    k: int = pydantic.Field(ge=2, description="Users who must share every published set.")
    success_keys = ("k",)
    promise = "every_set_has_k_users"
    counts = ("users", "sets", "threads")

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Sets of too few users; a user has a thread at least for each of their sets."""
        held = _published(batch)
        short = held["users"] < self.k
        odd = (held["sets"] == 0) | (held["threads"] < held["sets"] * held["users"])
        return {
            "sets": int(held["sets"].sum()),
            "threads": int(held["threads"].sum()),
            "smallest_group": int(held["users"].min()) if len(held) else 0,
            "exposed_threads": int(held.loc[short, "threads"].sum()),
            "violations": int(held.loc[short, "sets"].sum() + odd.sum()),
        }


class ExpectEveryKeywordToHaveOwners(CountsExpectation):
    """Expect every published keyword to have been typed by at least so many users."""

    min_owners: int = pydantic.Field(ge=0, description="Users who must have typed a keyword.")
    success_keys = ("min_owners",)
    promise = "every_keyword_has_owners"
    counts = ("owners", "keywords")

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Keywords of too few owners."""
        held = _published(batch)
        rare = held["owners"] < self.min_owners
        return {
            "keywords": int(held["keywords"].sum()),
            "fewest_owners": int(held["owners"].min()) if len(held) else 0,
            "violations": int(held.loc[rare, "keywords"].sum() + (held["keywords"] == 0).sum()),
        }


class ExpectThreadIdsToBeUniqueAndWellFormed(CountsExpectation):
    """Expect every thread id to be a keyed hash, published once and known to the ledger."""

    promise = "thread_ids_are_unique"
    counts = ("rows", "distinct_rows", "ids", "distinct_ids", "malformed", "unmatched")

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Repeated, malformed and unknown ids; a thread has a row at least."""
        total = {name: int(batch[name].sum()) for name in self.counts}
        repeated = total["rows"] - total["distinct_rows"] + total["ids"] - total["distinct_ids"]
        odd = abs(len(batch) - 1) + max(total["ids"] - total["rows"], 0) + max(-repeated, 0)
        return {
            "ids": total["ids"],
            "repeated": repeated,
            "malformed": total["malformed"],
            "unmatched": total["unmatched"],
            "violations": abs(repeated) + total["malformed"] + total["unmatched"] + odd,
        }


class ExpectOnlyColumnsOfTheRelease(CountsExpectation):
    """Expect the columns of the format and no other: no user, no time, nothing undeclared."""

    format: Format = pydantic.Field(description="queries or sets.")
    success_keys = ("format",)
    promise = "no_user_or_time_column"
    texts = ("name", "type")

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Columns too many, too few or of another type."""
        allowed = sorted(COLUMNS[self.format].items())
        seen = sorted(zip(batch["name"], batch["type"], strict=True))
        foreign = sum(column not in allowed for column in seen)
        missing = sum(column not in seen for column in allowed)
        repeated = len(seen) - len(set(seen))
        return {"columns": len(seen), "violations": foreign + missing + repeated}


class ExpectEveryRowToBeAccountedFor(CountsExpectation):
    """Expect that whatever came into a stage was kept or set aside."""

    promise = "every_row_is_accounted_for"
    counts = ("came", "kept", "set_aside")
    texts = ("stage",)

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """The difference, over all stages; a stage is looked at once."""
        unexplained = (batch["came"] - batch["kept"] - batch["set_aside"]).abs().sum()
        return {
            "came": int(batch["came"].iloc[0]),
            "kept": int(batch["kept"].iloc[-1]),
            "set_aside": int(batch["set_aside"].sum()),
            "violations": int(unexplained) + len(batch) - batch["stage"].nunique(),
        }


class ExpectEditsToMatchTheCostReport(CountsExpectation):
    """Expect the cost report to say what a recount from the data says."""

    promise = "edits_match_the_cost_report"
    counts = ("least", "most", "reported")
    texts = ("figure",)

    def judge(self, batch: pd.DataFrame) -> dict[str, int]:
        """Figures that are outside their interval, missing or given twice."""
        reported = dict(zip(batch["figure"], batch["reported"].astype(int), strict=True))
        wrong = (batch["reported"] < batch["least"]) | (batch["reported"] > batch["most"])
        missing = len(FIGURES ^ set(reported)) + len(batch) - len(reported)
        shown = ("additions", "deletions", "withdrawals")
        return {
            **{name: int(reported[name]) for name in shown if name in reported},
            "violations": int(wrong.sum()) + missing,
        }


def _published(batch: pd.DataFrame) -> pd.DataFrame:
    """The rows, but for a single one of zeros: it says that nothing is published."""
    nothing = len(batch) == 1 and not batch.to_numpy().any()
    return batch.iloc[:0] if nothing else batch


def _whole(column: "pd.Series[Any]") -> bool:
    """Whether a column holds whole numbers from 0, all of them known."""
    if column.dtype.kind not in "iu":
        return False
    return not column.isna().any() and bool((column >= 0).all())
