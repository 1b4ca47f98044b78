"""Overlapping result sets: the measure, and two search engines: a table, and full text in SQLite.

Paper:      section 5.1, "Overlapping result sets": the results of a search engine, top 50.
Guarantee:  each distinct text is asked for once at most. The same collection gives the same
            results for a query; equal ranks are in the order of the documents. Nothing leaves the
            machine, and no document is written to disk.
Complexity: a table answers in O(1); full text in O(occurrences of the query's words).
Deviation:  the paper had a web search engine. Any function from a text to results, best first,
            takes its place: these two are the ones at hand. Full text finds documents that have
            one of the query's words, ranked by BM25, so that those with all the rare words come
            first; it reads the first 32 distinct words of a query.
"""

import re
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.declarations import check_parameters
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.params import Similar
from setanon_core.ranges import AtLeast, Share
from setanon_core.threads.overlap import common_weight, encode_sets
from setanon_core.threads.similarity import Bools

MAX_WORDS: Final = 32
"""Words of a query that are looked up; an expression in SQLite may not be of any size."""

WORD: Final = re.compile(r"\w+")

Results = Callable[[str], Sequence[Hashable]]
"""A search engine: the results of a query, best first. Any function of a text will do."""


@dataclass(frozen=True, slots=True)
class ResultOverlap:
    """A measure: a search engine answers both queries with much the same results.

    >>> engine = {"humane society": ["a", "b"], "animal shelter": ["b", "c", "d"]}
    >>> similar = ResultOverlap(lambda query: engine.get(query, [])).over(list(engine))
    >>> similar(np.array([0]), np.array([1])).tolist()
    [True]
    """

    results: Results
    """The search engine."""

    share: Share = 0.5
    """Common results, at least, as a share of the smaller result set; above 0, at most 1."""

    top: Annotated[int, AtLeast(1)] = 50
    """How many results of each query are looked at; 1 or more."""

    def __post_init__(self) -> None:
        """Refuse thresholds out of range."""
        check_parameters(self)
        if self.share == 0:
            raise InvalidParameterError("share must be above 0; got 0: all would be similar.")

    def over(self, texts: Sequence[str]) -> Similar:
        """Ask the engine for each text, but for blank ones: they are similar to none."""
        answers = (self.results(text)[: self.top] if text.strip() else () for text in texts)
        found, _ = encode_sets(answers)
        common = common_weight(found, np.ones(found.width, np.int64))

        def similar(a: Ints, b: Ints) -> Bools:
            shared = common(a, b)
            smaller = np.minimum(found.sizes[a], found.sizes[b])
            answer: Bools = (shared > 0) & (shared >= self.share * smaller)
            return answer

        return similar


@dataclass(frozen=True, slots=True)
class TableResults:
    """Results that somebody has looked up: a table from query to results, best first.

    >>> TableResults({"pine straw": ["/mulch", "/garden"]})("pine straw")
    ['/mulch', '/garden']
    """

    table: Mapping[str, Sequence[Hashable]]

    def __call__(self, query: str) -> Sequence[Hashable]:
        """The results of this very text; none if it is not in the table."""
        return self.table.get(query, ())


class FullTextResults:
    """A full-text engine in memory over documents given as (id, text).

    >>> engine = FullTextResults([("a", "pine straw and mulch"), ("b", "effects of caffeine")])
    >>> engine("Mulch, pine")
    ['a']
    """

    def __init__(self, documents: Iterable[tuple[Hashable, str]], top: int = 50) -> None:
        """Index the documents; `top` results are returned for a query."""
        AtLeast(1).check("top", top)
        self._top = top
        self._ids: list[Hashable] = []
        self._index = sqlite3.connect(":memory:")
        # Contentless: the index alone is kept, not the documents.
        self._index.execute("CREATE VIRTUAL TABLE documents USING fts5(text, content='')")
        with self._index:
            self._index.executemany(
                "INSERT INTO documents (rowid, text) VALUES (?, ?)", self._rows(documents)
            )

    def __call__(self, query: str) -> list[Hashable]:
        """The ids of the best documents for this query, best first."""
        words = list(dict.fromkeys(WORD.findall(query)))[:MAX_WORDS]
        if not words:
            return []
        # Words are letters and digits only: in quotes, none of them can be an operator.
        found = self._index.execute(
            "SELECT rowid FROM documents WHERE documents MATCH ? ORDER BY rank, rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), self._top),
        )
        return [self._ids[row] for (row,) in found]

    def close(self) -> None:
        """Give the memory back; the engine answers no more."""
        self._index.close()

    def _rows(self, documents: Iterable[tuple[Hashable, str]]) -> Iterable[tuple[int, str]]:
        for position, (name, text) in enumerate(documents):
            if not isinstance(text, str):
                raise MalformedInputError(
                    f"every document must be text; document {position} is of type "
                    f"{type(text).__name__}."
                )
            self._ids.append(name)
            # SQLite stores no lone surrogates, and reads a text up to its first NUL.
            yield position, text.encode("utf-8", "replace").decode().replace("\0", " ")
