"""Compare a release with an earlier one: sets whose number of threads rose by fewer than k.

Paper:      none; Definition 1 concerns one release.
Guarantee:  exact counts.
Complexity: O(words) of both releases.
Deviation:  none.
"""

from collections import Counter
from math import nan
from pathlib import Path

import pyarrow as pa

from setanon_core.errors import MalformedInputError
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.release_folder import THREADS

KeywordSet = frozenset[str]


def attack_earlier(earlier: pa.Table, published: pa.Table, paper: pa.Table, k: int) -> AttackResult:
    """Compare the published rows, and those of the paper's method, with an earlier release.

    A set that rose by fewer than k threads shows what fewer than k users did in between.
    """
    before = set_counts(earlier)
    release, of_paper = (risen_sets(before, set_counts(each), k) for each in (published, paper))
    names = ("sets with more threads", "sets with 1 to k - 1 more threads")
    return AttackResult(
        "Earlier release",
        "Published sets with more threads than in the earlier release, and those with fewer than k "
        "more: the threads of fewer than k users joined them.",
        f"{release[0]:,} sets have more threads than in the earlier release; {release[1]:,} of "
        f"them have fewer than k = {k} more.",
        tuple(
            RiskFigure(name, nan, rose, paper_rose, "count")
            for name, rose, paper_rose in zip(names, release, of_paper, strict=True)
        ),
    )


def read_release(folder: Path) -> pa.Table:
    """The published rows of a release folder, or of its file of threads."""
    path = folder / THREADS if folder.is_dir() else folder
    if not path.is_file():
        raise MalformedInputError(
            f"the earlier release must be a folder with {THREADS}; it has none. Pass a folder such "
            "as DIR/releases/NAME/latest."
        )
    with connect() as connection:
        table: pa.Table = read_parquet(path, connection).to_arrow_table()
    if "thread_id" not in table.column_names or not {"query", "keywords"} & {*table.column_names}:
        raise MalformedInputError(
            "the earlier release must have the columns thread_id and query, or keywords; at least "
            f"one of them is missing among {table.num_columns}. Pass a folder of setanon release."
        )
    return table


def set_counts(published: pa.Table) -> Counter[KeywordSet]:
    """The number of threads of each set, in rows of a release or of its stage."""
    if "keywords" in published.column_names:
        return Counter(map(frozenset, published["keywords"].to_pylist()))
    sets: dict[object, set[str]] = {}
    thread_column = "thread_id" if "thread_id" in published.column_names else "thread"
    rows = zip(published[thread_column].to_pylist(), published["query"].to_pylist(), strict=True)
    for thread, query in rows:
        sets.setdefault(thread, set()).update(query.split(" "))
    return Counter(map(frozenset, sets.values()))


def risen_sets(before: Counter[KeywordSet], after: Counter[KeywordSet], k: int) -> tuple[int, int]:
    """The number of sets with more threads, and of those with fewer than k more.

    >>> risen_sets(Counter({frozenset("a"): 3}), Counter({frozenset("a"): 4, frozenset("b"): 3}), 3)
    (2, 1)
    """
    rises = [count - before[each] for each, count in after.items() if count > before[each]]
    return len(rises), sum(rise < k for rise in rises)
