"""The promises of a release, one per check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from setanon_core.params import Format

PROMISES: Final[Mapping[str, str]] = {
    "every_list_has_k_users": "Every published list of queries is shared by at least $k users.",
    "every_set_has_k_users": "Every published set of keywords is shared by at least $k users.",
    "every_keyword_has_owners": "At least $min_owners users typed each published keyword.",
    "threads_are_unique": "Every thread is published once, with one user.",
    "no_user_or_time_column": "The columns are those of the format $format: no user, no time.",
    "every_row_is_accounted_for": "Every row of a stage is passed on, rejected or withdrawn.",
    "edits_match_the_cost_report": "A recount of the edits gives the numbers of the cost report.",
    "something_is_left": "Threads are left to publish; only a partition may be empty.",
}
"""Name and description of each check; Dagster and the Data Docs show both."""


SHARED_LISTS: Final = frozenset({"queries"})
"""Formats that promise k users for every list of queries."""


def promised_checks(form: Format) -> dict[str, str]:
    """Name and description of the checks of a format: only "queries" promises shared lists."""
    return {
        name: description
        for name, description in PROMISES.items()
        if form in SHARED_LISTS or name != "every_list_has_k_users"
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePromises:
    """The values in the promises of one release."""

    k: int
    min_owners: int
    format: Format
    attributes: tuple[str, ...] = ()
    may_be_empty: bool = False
    """Whether nothing may be left to publish: for partitions only."""
