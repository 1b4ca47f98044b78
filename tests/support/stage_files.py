"""Parquet files of the stages of a small log, each written from a SELECT that tests may change."""

from datetime import datetime

import duckdb

K = 3
STAGES = (
    "raw_log", "rejected_rows", "threads", "clusters", "anonymized_threads", "ledger",
    "cost_report",
)  # fmt: skip
CANARIES = ("canaryuser", "canaryword", "canarycolumn")
"""Parts of all users and keywords; they must not appear in logs, results and pages."""

# Three users share a set, one of them has a further keyword; a fourth user is withdrawn.
LOG = [
    ("canaryuser1", "canaryword straw"),
    ("canaryuser2", "canaryword straw"),
    ("canaryuser3", "canaryword straw canarymulch"),
    ("canaryuser4", "canarysurname"),
]
GOOD = {
    "raw_log": "SELECT user, time, query, line FROM typed",
    "rejected_rows": "SELECT 99::BIGINT AS line, 'no user' AS reason",
    "threads": "SELECT line - 1 AS thread, user, time, 0::BIGINT AS position, query FROM typed",
    "clusters": """SELECT line - 1 AS thread, user, user || '-0' AS name,
        string_split(query, ' ') AS words, [len(string_split(query, ' '))::INTEGER] AS lengths,
        list_sort(string_split(query, ' ')) AS items, [1, line]::UBIGINT[] AS keys,
        [0]::SMALLINT[] AS places, [0]::TINYINT[] AS savings FROM typed""",
    "anonymized_threads": """SELECT line - 1 AS thread, 0::BIGINT AS "group",
        0::BIGINT AS position, 'canaryword straw' AS query FROM typed WHERE line < 4""",
    "ledger": """SELECT line - 1 AS thread, user FROM typed WHERE line < 4""",
    "cost_report": """SELECT 3 AS k, 'best' AS method, round, 4 AS threads, 8 AS keywords,
        0 AS additions, 2 AS deletions, 1 AS withdrawals, 0 AS respellings, 2 AS lower_bound,
        1.0 AS factor, 0.75 AS retained FROM (VALUES ('star'), ('total')) rounds(round)""",
}
AS_SETS = {
    "anonymized_threads": """SELECT line - 1 AS thread, 0::BIGINT AS "group",
        ['canaryword', 'straw'] AS keywords FROM typed WHERE line < 4"""
}
ALL_WITHDRAWN = {
    "anonymized_threads": GOOD["anonymized_threads"].replace("line < 4", "false"),
    "ledger": GOOD["ledger"].replace("line < 4", "false"),
    "cost_report": GOOD["cost_report"]
    .replace("1 AS with", "4 AS with")
    .replace("2 AS d", "8 AS d"),
}


def write_stages(folder, **selects):
    """Write all stages; `selects` replace those of single stages. Return the paths by stage."""
    files = {stage: folder / f"{stage}.parquet" for stage in STAGES}
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE typed (line BIGINT, user VARCHAR, time TIMESTAMP, query VARCHAR)"
        )
        for line, (user, query) in enumerate(LOG, 1):
            row = [line, user, datetime(2006, 3, line), query]  # noqa: DTZ001
            connection.execute("INSERT INTO typed VALUES (?, ?, ?, ?)", row)
        for stage, select in {**GOOD, **selects}.items():
            connection.execute(f"COPY ({select}) TO '{files[stage]}' (FORMAT parquet)")
    return files
