"""A few threads before and after, as in Figure 5 of the paper. Private: words of users.

Thread ids are keyed hashes, so the threads with the smallest ids are a random sample.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from duckdb import DuckDBPyConnection
from rapidfuzz.distance import LCSseq

from setanon_dagster.report.model import Change, ShownThread, Word

Words = Sequence[str]

THREADS_PER_KIND: Final = 2
"""Threads shown of each kind: with additions, with deletions only, unchanged, withdrawn."""

CANDIDATES: Final = 2_000
"""Threads from which the shown ones are selected."""

MAX_QUERIES: Final = 6
"""Queries of a shown thread; longer threads would fill the page."""

MAX_WORDS: Final = 60
"""Words of a shown thread."""

QUERY_END: Final = "\n"
"""Separator after each query; no keyword contains it."""

SCATTERED: Final = "thread * 2654435761 % 4294967296"
"""SQL of an order in which the threads of one user are apart (multiplicative hashing)."""

PUBLISHED: Final = f"""
    WITH few AS (SELECT thread FROM ledger ORDER BY {SCATTERED} LIMIT $candidates),
    published AS (SELECT thread, {{queries}} AS queries
        FROM anonymized_threads SEMI JOIN few USING (thread) {{group_by}})
    SELECT words, lengths, queries FROM published JOIN clusters USING (thread)
    WHERE len(lengths) <= $max_queries AND len(words) <= $max_words
    ORDER BY {SCATTERED}"""  # noqa: S608 - a constant

QUERIES: Final = {"queries": "list(query ORDER BY position)", "group_by": "GROUP BY thread"}
SETS: Final = {"queries": "keywords", "group_by": ""}

WITHDRAWN: Final = """
    SELECT words, lengths FROM clusters ANTI JOIN ledger USING (thread)
    WHERE len(lengths) <= $max_queries AND len(words) BETWEEN 2 AND $max_words
    ORDER BY thread LIMIT $candidates"""

LIMITS: Final = {"max_queries": MAX_QUERIES, "max_words": MAX_WORDS}


def sample(connection: DuckDBPyConnection, form: str) -> tuple[ShownThread, ...]:
    """A few threads of each kind, the most changed kind first; `form` is the release's format."""
    statement = PUBLISHED.format_map(SETS if form == "sets" else QUERIES)
    rows = connection.execute(statement, {"candidates": CANDIDATES, **LIMITS}).fetchall()
    if form == "sets":
        pairs = [([sorted(set(words))], [after]) for words, _, after in rows]
    else:
        pairs = [
            (_split(words, lengths), [query.split(" ") for query in after])
            for words, lengths, after in rows
        ]
    withdrawn = connection.execute(WITHDRAWN, {"candidates": THREADS_PER_KIND, **LIMITS}).fetchall()
    return (
        *_select([ShownThread(compare(before, after)) for before, after in pairs]),
        *(_withdrawn(_split(*row)) for row in withdrawn),
    )


def compare(before: Iterable[Words], after: Iterable[Words]) -> tuple[tuple[Word, ...], ...]:
    """Words of all queries in order, each with its change; keeps as many words as possible.

    >>> [[(word.text, word.change) for word in query] for query in compare([["pine", "straw"]],
    ...                                                                    [["pine", "bark"]])]
    [[('pine', 'kept'), ('straw', 'deleted'), ('bark', 'added')]]
    """
    queries: list[list[Word]] = [[]]
    for text, change in _changes(_join(before), _join(after)):
        if text == QUERY_END:
            queries.append([])
        else:
            queries[-1].append(Word(text, change))
    return tuple(tuple(query) for query in queries if query)


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, Change]]:
    """Longest common subsequence; between its words, deletions first, then additions."""
    old_start = new_start = 0
    for block in LCSseq.editops(old, new).as_matching_blocks():
        yield from ((word, "deleted") for word in old[old_start : block.a])
        yield from ((word, "added") for word in new[new_start : block.b])
        old_start, new_start = block.a + block.size, block.b + block.size
        yield from ((word, "kept") for word in old[block.a : old_start])


def _join(queries: Iterable[Words]) -> list[str]:
    """All words in order, with a separator after each query."""
    return [word for query in queries for word in (*query, QUERY_END)]


def _split(words: list[str], lengths: Sequence[int]) -> list[list[str]]:
    """Words of a thread, split into its queries."""
    ends = [sum(lengths[: index + 1]) for index in range(len(lengths))]
    return [words[end - size : end] for size, end in zip(lengths, ends, strict=True)]


def _withdrawn(queries: Iterable[Words]) -> ShownThread:
    return ShownThread(
        tuple(tuple(Word(word, "deleted") for word in query) for query in queries if query),
        withdrawn=True,
    )


def _select(threads: Sequence[ShownThread]) -> Iterator[ShownThread]:
    """First threads of each kind that have at least two words."""
    kinds: dict[tuple[bool, bool], list[ShownThread]] = {
        (True, True): [], (True, False): [], (False, True): [], (False, False): [],
    }  # fmt: skip
    for thread in threads:
        kind = kinds[thread.count("added") > 0, thread.count("deleted") > 0]
        if len(kind) < THREADS_PER_KIND and sum(map(len, thread.queries)) > 1:
            kind.append(thread)
    for kind in kinds.values():
        yield from kind
