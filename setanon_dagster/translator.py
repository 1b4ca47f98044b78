"""What each asset is called and how it is described: one table, and one hook to change it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from setanon_dagster.config import ReleaseConfig

STAGES: Final[Mapping[str, str]] = {
    "raw_log": "Queries as read from the source: user, time, query and line. Private.",
    "raw_baskets": "Baskets as read from the source: record, item, user and line. Private.",
    "rejected_rows": "Lines that could not be used, with the reason and never the content.",
    "threads": "Each user's queries by topic (section 5.1 of the paper). Private.",
    "clusters": "Threads as keywords and items, with their clusters' keys (5.2, 5.3). Private.",
    "anonymized_threads": "Threads whose keywords k users share (4, 5.4). Not yet published.",
    "ledger": "The user behind every thread id. Private: who has it can undo the release.",
    "cost_report": "Additions, deletions and withdrawals after each round, and the certificate.",
    "release": "The published files, verified as they are on disk before they get their name.",
}
"""The assets of a release in the order of the pipeline; a log or baskets come first."""

LOG: Final = tuple(stage for stage in STAGES if stage != "raw_baskets")
BASKETS: Final = tuple(stage for stage in STAGES if stage not in {"raw_log", "threads"})


@dataclass(frozen=True, slots=True)
class Stage:
    """What a translator knows of an asset: the name of its stage and the release it is for."""

    name: str
    config: ReleaseConfig


class SetanonTranslator:
    """Turns stages into asset specs; override `get_asset_spec` to rename or enrich them."""

    def get_asset_spec(self, stage: Stage) -> dg.AssetSpec:
        """Key, description, group, kinds and owners of a stage's asset."""
        # Automation sees assets, not files: what is read from a file waits for a job or a sensor.
        of_file = stage.name in SOURCES and stage.config.upstream is None
        return dg.AssetSpec(
            key=dg.AssetKey([stage.config.name, stage.name]),
            description=STAGES[stage.name],
            group_name=stage.config.name,
            kinds={"parquet", "duckdb"},
            owners=list(stage.config.owners),
            metadata={"setanon/k": stage.config.k, "setanon/method": stage.config.method},
            automation_condition=None if of_file else eager_after_checks(),
            partitions_def=partitions_definition(stage.config),
        )


SOURCES: Final = frozenset({"raw_log", "raw_baskets", "rejected_rows"})


def eager_after_checks() -> dg.AutomationCondition[Any]:
    """Eager, but never after a blocking check has failed: plain `eager` would go on."""
    return dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()


def partitions_definition(config: ReleaseConfig) -> dg.TimeWindowPartitionsDefinition | None:
    """Days, weeks or months of the log, if it is released in parts."""
    if config.partition is None:
        return None
    first = config.first_day()
    # Weeks and months begin as the first does: else the days before a Sunday, or before the first
    # of a month, would be in no part. Dagster counts weekdays from Sunday.
    if config.partition == "day":
        return dg.DailyPartitionsDefinition(first)
    if config.partition == "week":
        return dg.WeeklyPartitionsDefinition(first, day_offset=first.isoweekday() % 7)
    return dg.MonthlyPartitionsDefinition(first, day_offset=first.day)


def asset_specs(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> dict[str, dg.AssetSpec]:
    """The spec of every stage that this release has."""
    names = BASKETS if config.source.kind == "baskets" else LOG
    chosen = translator or SetanonTranslator()
    return {name: chosen.get_asset_spec(Stage(name, config)) for name in names}
