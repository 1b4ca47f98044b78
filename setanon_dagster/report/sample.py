"""A few threads before and after, as in the paper's Figure 5. Private: these are people's words.

Thread ids are keyed hashes, so that the first of them are a fair sample of all published threads.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from duckdb import DuckDBPyConnection

from setanon_dagster.report.model import Change, ShownThread, Word

Words = Sequence[str]

SHOWN: Final = 2
"""Threads of each kind: with additions, with deletions alone, untouched, withdrawn."""

LOOKED_AT: Final = 2_000
"""Threads among which those to show are chosen."""

LONGEST: Final = 6
"""Queries of a thread that is shown; longer ones would fill the page."""

WIDEST: Final = 60
"""Words of a thread that is shown."""

END: Final = "\n"
"""Stands between the queries of a thread; no keyword has it."""

PUBLISHED: Final = """
    WITH few AS (SELECT thread_id, thread FROM ledger ORDER BY thread_id LIMIT $most),
    published AS (SELECT thread_id, {queries} AS queries
        FROM anonymized_threads SEMI JOIN few USING (thread_id) {grouped})
    SELECT words, lengths, queries
    FROM few JOIN published USING (thread_id) JOIN clusters USING (thread)
    WHERE len(lengths) <= $longest AND len(words) <= $widest ORDER BY thread_id"""

QUERIES: Final = {"queries": "list(query ORDER BY position)", "grouped": "GROUP BY thread_id"}
SETS: Final = {"queries": "keywords", "grouped": ""}

WITHDRAWN: Final = """
    SELECT words, lengths FROM clusters ANTI JOIN ledger USING (thread)
    WHERE len(lengths) <= $longest AND len(words) BETWEEN 2 AND $widest
    ORDER BY thread LIMIT $most"""

LIMITS: Final = {"longest": LONGEST, "widest": WIDEST}


def sample(connection: DuckDBPyConnection, form: str) -> tuple[ShownThread, ...]:
    """Some threads of each kind, the most changed kind first; `form` is the release's format."""
    asked = PUBLISHED.format_map(SETS if form == "sets" else QUERIES)
    rows = connection.execute(asked, {"most": LOOKED_AT, **LIMITS}).fetchall()
    if form == "sets":
        pairs = [([sorted(set(words))], [after]) for words, _, after in rows]
    else:
        pairs = [
            (_cut(words, lengths), [query.split(" ") for query in after])
            for words, lengths, after in rows
        ]
    gone = connection.execute(WITHDRAWN, {"most": SHOWN, **LIMITS}).fetchall()
    return (
        *_chosen([ShownThread(compare(before, after)) for before, after in pairs]),
        *(_withdrawn(_cut(*row)) for row in gone),
    )


def compare(before: Iterable[Words], after: Iterable[Words]) -> tuple[tuple[Word, ...], ...]:
    """The words of all queries in their order, and what became of each.

    >>> [[(word.text, word.change) for word in query] for query in compare([["pine", "straw"]],
    ...                                                                    [["pine", "bark"]])]
    [[('pine', 'kept'), ('straw', 'deleted'), ('bark', 'added')]]
    """
    old, new = _joined(before), _joined(after)
    queries: list[list[Word]] = [[]]
    for word, change in _steps(old, new):
        if word == END:
            queries.append([])
        else:
            queries[-1].append(Word(word, change))
    return tuple(tuple(query) for query in queries if query)


def _steps(old: list[str], new: list[str]) -> Iterator[tuple[str, Change]]:
    """Turn one row of words into the other, keeping as many as can be."""
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            alike = old[i] == new[j]
            common[i][j] = (
                common[i + 1][j + 1] + 1 if alike else max(common[i + 1][j], common[i][j + 1])
            )
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            yield old[i], "kept"
            i, j = i + 1, j + 1
        elif j == len(new) or (i < len(old) and common[i + 1][j] >= common[i][j + 1]):
            yield old[i], "deleted"
            i += 1
        else:
            yield new[j], "added"
            j += 1


def _joined(queries: Iterable[Words]) -> list[str]:
    """All words in a row, with a mark after each query."""
    return [word for query in queries for word in (*query, END)]


def _cut(words: list[str], lengths: Sequence[int]) -> list[list[str]]:
    """The words of a thread as its queries."""
    ends = [sum(lengths[: place + 1]) for place in range(len(lengths))]
    return [words[end - size : end] for size, end in zip(lengths, ends, strict=True)]


def _withdrawn(queries: Iterable[Words]) -> ShownThread:
    return ShownThread(
        tuple(tuple(Word(word, "deleted") for word in query) for query in queries if query),
        withdrawn=True,
    )


def _chosen(threads: Sequence[ShownThread]) -> Iterator[ShownThread]:
    """The first of each kind that have more than a word to show."""
    kinds: dict[tuple[bool, bool], list[ShownThread]] = {
        (True, True): [], (True, False): [], (False, True): [], (False, False): [],
    }  # fmt: skip
    for thread in threads:
        kind = kinds[thread.count("added") > 0, thread.count("deleted") > 0]
        if len(kind) < SHOWN and sum(map(len, thread.queries)) > 1:
            kind.append(thread)
    for kind in kinds.values():
        yield from kind
