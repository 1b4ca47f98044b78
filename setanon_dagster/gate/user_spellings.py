"""Users of the source that have several spellings: the gate counts names as a reader would."""

from collections.abc import Mapping
from pathlib import Path

from setanon_core.params import UserNames
from setanon_dagster.sources.user_names import records_are_users, user_spellings
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.sql import Limits


def spelling_failures(
    stages: Mapping[str, Path], user_names: UserNames, limits: Limits
) -> list[str]:
    """A message with their number if spellings of one user are counted as several users.

    `stages` has the file of raw_baskets, or of clusters: a log has the users of its threads.
    Baskets without users have no spellings.
    """
    stage = "raw_baskets" if "raw_baskets" in stages else "clusters"
    with connect(limits["memory"], limits["cores"], limits["spill"]) as connection:
        read_parquet(stages[stage], connection, stage).create_view("names")
        with redact_engine_errors(f"{stage} must have the columns of its stage"):
            if stage == "raw_baskets" and records_are_users(connection, "names"):
                return []
            others = len(user_spellings(connection, "names", user_names))
    sentence = f"each user must have one spelling; {others} are spellings of other users"
    return [sentence] if others else []
