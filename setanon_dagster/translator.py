"""Asset specs of the stages: keys, descriptions, partitions and automation conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from setanon_dagster.config import ReleaseConfig

STAGES: Final[Mapping[str, str]] = {
    "raw_log": "Queries as read from the source: user, time, query and line. Private.",
    "raw_baskets": "Baskets as read from the source: record, item, user and line. Private.",
    "rejected_rows": "Rejected lines with their reason, without their content.",
    "threads": "Queries of each user, separated by topic (section 5.1 of the paper). Private.",
    "clusters": "Keywords and items of each thread, and the places where it is grouped, or its "
    "Min-Hash keys (sections 5.2, 5.3). Private.",
    "anonymized_threads": "Threads whose keyword set k users share (4, 5.4). Not yet published.",
    "ledger": "The user of each thread id. Private: with it, the release can be de-anonymized.",
    "cost_report": "Additions, deletions and withdrawals after each round, and the lower bound.",
    "release": "Published files, verified on disk before publication.",
}
"""Descriptions by stage, in pipeline order; the first stage is raw_log or raw_baskets."""

LOG_STAGES: Final = tuple(stage for stage in STAGES if stage != "raw_baskets")
BASKET_STAGES: Final = tuple(stage for stage in STAGES if stage not in {"raw_log", "threads"})
SOURCE_STAGES: Final = frozenset({"raw_log", "raw_baskets", "rejected_rows"})


@dataclass(frozen=True, slots=True)
class Stage:
    """Argument of a translator: the name of a stage, and the release it belongs to."""

    name: str
    config: ReleaseConfig


class SetanonTranslator:
    """Maps stages to asset specs; override `get_asset_spec` to change keys, owners or metadata."""

    def get_asset_spec(self, stage: Stage) -> dg.AssetSpec:
        """Key, description, group, kinds, owners, automation and partitions of a stage's asset."""
        # Automation conditions react to assets, not files: files need a job, schedule or sensor.
        reads_file = stage.name in SOURCE_STAGES and stage.config.upstream is None
        return dg.AssetSpec(
            key=dg.AssetKey([stage.config.name, stage.name]),
            description=STAGES[stage.name],
            group_name=stage.config.name,
            kinds={"parquet", "duckdb"},
            owners=list(stage.config.owners),
            metadata={"setanon/k": stage.config.k, "setanon/method": stage.config.method},
            automation_condition=None if reads_file else eager_after_checks(),
            partitions_def=partitions_definition(stage.config),
        )


def eager_after_checks() -> dg.AutomationCondition[Any]:
    """`eager()`, but not while a blocking check of a dependency fails, which `eager()` ignores."""
    return dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()


def partitions_definition(config: ReleaseConfig) -> dg.TimeWindowPartitionsDefinition | None:
    """Daily, weekly or monthly partitions of a release; None if it has no partitions."""
    if config.partition is None:
        return None
    first, zone = config.first_day(), config.timezone
    # Weeks and months start on the day of `start`; otherwise the days before the first Sunday, or
    # before the first of a month, would be in no partition. Dagster counts weekdays from Sunday.
    if config.partition == "day":
        return dg.DailyPartitionsDefinition(first, timezone=zone)
    if config.partition == "week":
        return dg.WeeklyPartitionsDefinition(
            first, day_offset=first.isoweekday() % 7, timezone=zone
        )
    return dg.MonthlyPartitionsDefinition(first, day_offset=first.day, timezone=zone)


def asset_specs(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> dict[str, dg.AssetSpec]:
    """Asset specs of all stages of this release, by stage name."""
    names = BASKET_STAGES if config.source.kind == "baskets" else LOG_STAGES
    translator = translator or SetanonTranslator()
    return {name: translator.get_asset_spec(Stage(name, config)) for name in names}
