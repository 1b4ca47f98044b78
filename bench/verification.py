"""Verification of a release beside DuckDB, which reads the same file and counts its groups.

python bench/verification.py [THREADS]
"""
# ruff: noqa: S608 - statements are made of names of files, and of integers

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
from measure import seconds, table

from setanon_dagster.verifier.release_file import verify_file

Row = dict[str, object]

SORTED = "list_sort(list_distinct(string_split(string_agg(query, ' '), ' ')))"
SETS = {
    "sets": "SELECT thread_id, keywords FROM '{}'",
    "queries": f"SELECT thread_id, {SORTED} AS keywords FROM '{{}}' GROUP BY thread_id",
}
"""The sets of a published file, as anybody would ask for them."""

GROUPS = "SELECT count(*), min(n) FROM (SELECT keywords, count(*) AS n FROM ({}) GROUP BY keywords)"
USERS = """SELECT count(*), min(n) FROM (SELECT keywords, count(DISTINCT "user") AS n
FROM ({}) JOIN '{}' USING (thread_id) GROUP BY keywords)"""
WRITE = "COPY ({}) TO '{}' (FORMAT parquet, COMPRESSION zstd)"

REPEATS = 3
K = 3


def compare(folder: Path, k: int, repeats: int = REPEATS) -> Iterator[Row]:
    """A published folder in both formats, with and without its ledger: ours and DuckDB's."""
    own = folder / "threads.parquet"
    ledger = folder.parents[1] / "private" / folder.name / "ledger.parquet"
    with tempfile.TemporaryDirectory() as spare, duckdb.connect() as connection:
        columns = connection.read_parquet(str(own)).columns
        if "query" in columns:
            sets = Path(spare) / "sets.parquet"
            ordered = f"{SETS['queries'].format(own)} ORDER BY thread_id"
            connection.execute(WRITE.format(ordered, sets))
            files = {"sets": sets, "queries": own}
        else:
            files = {"sets": own}
        for form, path in files.items():
            yield from _beside(connection, form, path, ledger, k, repeats)


def _beside(  # noqa: PLR0913, PLR0917 - two files, and how to measure them
    connection: duckdb.DuckDBPyConnection,
    form: str,
    path: Path,
    ledger: Path,
    k: int,
    repeats: int,
) -> Iterator[Row]:
    sets = SETS[form].format(path)
    asked = {
        "the file alone": (None, GROUPS.format(sets)),
        "with the ledger": (ledger, USERS.format(sets, ledger)),
    }
    floor = 0.0
    for what, (held, query) in asked.items():
        answer, counting = seconds(lambda q=query: connection.execute(q).fetchall(), repeats)
        verdict, ours = seconds(lambda h=held: verify_file(path, k, h), repeats)
        floor = floor or counting
        if not verdict.ok or [(verdict.groups, verdict.smallest_group)] != answer:
            raise AssertionError(f"{form}, {what}: DuckDB counts otherwise.")
        yield {
            "format": form,
            "verified": what,
            "threads": verdict.records,
            "groups": verdict.groups,
            "seconds": round(ours, 2),
            "DuckDB: the same counts": round(counting, 2),
            "x DuckDB": round(ours / counting, 2),
            "x DuckDB, the file alone": round(ours / floor, 2),
        }


def write_release(folder: Path, threads: int) -> Path:
    """Make up a release of so many threads: a set has some 8, of 3 users at least."""
    out, private = folder / "releases" / "made-up", folder / "private" / "made-up"
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
                FROM (SELECT number, (60000 * power(hash(number, place) % 9973 / 9973, 2))::INT
                    AS word FROM range({sets}) AS sets(number),
                    LATERAL (SELECT unnest(range(1 + (hash(number) % 4)::INT)) AS place))
                GROUP BY number;
            CREATE TABLE made AS SELECT md5(thread::VARCHAR) AS thread_id, thread,
                CASE WHEN thread < 3 * {sets} THEN thread % {sets}
                    ELSE ({sets} - 1) * power(hash(thread) % 99991 / 99991, 3) END::BIGINT
                    AS number,
                CASE WHEN thread < 3 * {sets} THEN thread // {sets} * {third}
                    + (hash(thread, 1) % {third})::BIGINT
                    ELSE (hash(thread, 2) % {users})::BIGINT END::VARCHAR AS "user"
                FROM range({threads}) AS threads(thread);"""
        )
        # Each thread has one query to six: all its keywords, the other way round, or one alone.
        connection.execute(
            WRITE.format(
                """SELECT thread_id, place AS position, array_to_string(CASE
                    WHEN place = 0 OR hash(thread, place) % 3 = 0 THEN keywords
                    WHEN hash(thread, place) % 3 = 1 THEN list_reverse(keywords)
                    ELSE keywords[:1] END, ' ') AS query
                FROM (SELECT *, unnest(range(1 + (hash(thread) % 6)::BIGINT)) AS place
                    FROM made JOIN sets USING (number)) ORDER BY thread_id, position""",
                out / "threads.parquet",
            )
        )
        connection.execute(
            WRITE.format(
                'SELECT thread_id, thread, "user" FROM made ORDER BY thread_id',
                private / "ledger.parquet",
            )
        )
    return out


def main() -> None:
    """Make up a release, and print the table."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        print(table(compare(write_release(Path(folder), threads), K)))


if __name__ == "__main__":
    main()
