"""Time of the verification of a release, compared with DuckDB queries that count its groups.

python bench/verification.py [THREADS]
"""
# ruff: noqa: S608 - statements contain file names and integers

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
from markdown_table import Row, table
from measure import seconds

from setanon_dagster.verifier.release_file import verify_file

SORTED = "list_sort(list_distinct(string_split(string_agg(query, ' '), ' ')))"
SETS = {
    "sets": "SELECT thread_id, keywords FROM '{}'",
    "queries": f"SELECT thread_id, {SORTED} AS keywords FROM '{{}}' GROUP BY thread_id",
}
"""The sets of a published file, by format."""

LAYOUTS = {"sets": "sets", "queries": "edited"}
"""Format that each file is verified for; lists of the synthetic release are not shared, and the
verifier counts them in both formats of queries."""

GROUPS = "SELECT count(*), min(n) FROM (SELECT keywords, count(*) AS n FROM ({}) GROUP BY keywords)"
USERS = """SELECT count(*), min(n) FROM (SELECT keywords, count(DISTINCT "user") AS n
FROM ({}) JOIN '{}' USING (thread_id) GROUP BY keywords)"""
WRITE = "COPY ({}) TO '{}' (FORMAT parquet, COMPRESSION zstd)"

REPEATS = 3
K = 3


def compare(folder: Path, k: int, repeats: int = REPEATS) -> Iterator[Row]:
    """Verify a published folder in both formats, with and without its ledger."""
    published = folder / "threads.parquet"
    ledger = folder.parents[2] / "private" / folder.name / "ledger.parquet"
    with tempfile.TemporaryDirectory() as temporary, duckdb.connect() as connection:
        columns = connection.read_parquet(str(published)).columns
        if "query" in columns:
            sets = Path(temporary) / "sets.parquet"
            ordered = f"{SETS['queries'].format(published)} ORDER BY thread_id"
            connection.execute(WRITE.format(ordered, sets))
            files = {"sets": sets, "queries": published}
        else:
            files = {"sets": published}
        for data_format, path in files.items():
            yield from _compare_file(connection, data_format, path, ledger, k, repeats)


def _compare_file(  # noqa: PLR0913, PLR0917 - two files, and parameters of the measurement
    connection: duckdb.DuckDBPyConnection,
    data_format: str,
    path: Path,
    ledger: Path,
    k: int,
    repeats: int,
) -> Iterator[Row]:
    sets = SETS[data_format].format(path)
    cases = {
        "file only": (None, GROUPS.format(sets)),
        "with the ledger": (ledger, USERS.format(sets, ledger)),
    }
    file_only = 0.0
    for case, (used_ledger, query) in cases.items():
        counts, duckdb_seconds = seconds(lambda q=query: connection.execute(q).fetchall(), repeats)
        verdict, verify_seconds = seconds(
            lambda u=used_ledger: verify_file(path, k, u, format=LAYOUTS[data_format]), repeats
        )
        file_only = file_only or duckdb_seconds
        if not verdict.ok or [(verdict.groups, verdict.smallest_group)] != counts:
            raise AssertionError(f"{data_format}, {case}: DuckDB must count the same groups.")
        yield {
            "format": data_format,
            "verified": case,
            "threads": verdict.records,
            "groups": verdict.groups,
            "seconds": round(verify_seconds, 2),
            "DuckDB: counts only": round(duckdb_seconds, 2),
            "x DuckDB": round(verify_seconds / duckdb_seconds, 2),
            "x DuckDB, file only": round(verify_seconds / file_only, 2),
        }


def write_release(folder: Path, threads: int) -> Path:
    """Write a synthetic release: about 8 threads per set, of at least 3 users."""
    out, private = folder / "releases" / "log" / "synthetic", folder / "private" / "synthetic"
    out.mkdir(parents=True)
    private.mkdir(parents=True)
    sets = users = max(threads // 8, 3)
    third = users // 3
    with duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{folder / 'spill'}'")
        connection.execute(
            f"""CREATE TABLE sets AS SELECT number,
                list_sort(list_distinct(list(substr(md5(word::VARCHAR), 1, 3 + word % 7))))
                    AS keywords
                FROM (SELECT number, (60000 * power(hash(number, position) % 9973 / 9973, 2))::INT
                    AS word FROM range({sets}) AS sets(number),
                    LATERAL (SELECT unnest(range(1 + (hash(number) % 4)::INT)) AS position))
                GROUP BY number;
            CREATE TABLE threads AS SELECT md5(thread::VARCHAR) AS thread_id, thread,
                CASE WHEN thread < 3 * {sets} THEN thread % {sets}
                    ELSE ({sets} - 1) * power(hash(thread) % 99991 / 99991, 3) END::BIGINT
                    AS number,
                CASE WHEN thread < 3 * {sets} THEN thread // {sets} * {third}
                    + (hash(thread, 1) % {third})::BIGINT
                    ELSE (hash(thread, 2) % {users})::BIGINT END::VARCHAR AS "user"
                FROM range({threads}) AS numbers(thread);"""
        )
        # Each thread has one to six queries: all its keywords, in reverse, or one of them.
        connection.execute(
            WRITE.format(
                """SELECT thread_id, position, array_to_string(CASE
                    WHEN position = 0 OR hash(thread, position) % 3 = 0 THEN keywords
                    WHEN hash(thread, position) % 3 = 1 THEN list_reverse(keywords)
                    ELSE keywords[:1] END, ' ') AS query
                FROM (SELECT *, unnest(range(1 + (hash(thread) % 6)::BIGINT)) AS position
                    FROM threads JOIN sets USING (number)) ORDER BY thread_id, position""",
                out / "threads.parquet",
            )
        )
        connection.execute(
            WRITE.format(
                'SELECT thread_id, thread, "user" FROM threads ORDER BY thread_id',
                private / "ledger.parquet",
            )
        )
    return out


def main() -> None:
    """Write a synthetic release, and print the table."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        print(table(compare(write_release(Path(folder), threads), K)))


if __name__ == "__main__":
    main()
