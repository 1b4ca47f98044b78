"""Two local search engines for `ResultOverlap`: a lookup table, and full-text search in SQLite.

Guarantee:  results depend on the query and the documents only; documents of equal rank are in
            the order of input. No query leaves the machine, and no document is written to disk.
Complexity: O(1) for the table; O(occurrences of the query's words) for full text.
Deviation:  full text returns the documents that contain at least one word of the query, ranked by
            BM25, so that documents with all the rare words are first. Only the first 32 distinct
            words of a query are used.
"""

import re
import sqlite3
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from setanon_core.errors import MalformedInputError
from setanon_core.ranges import AtLeast

MAX_WORDS: Final = 32
"""Words of a query that are searched; SQLite limits the size of an expression."""

WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TableResults:
    """Precomputed results: a mapping from query to results, best first.

    >>> TableResults({"pine straw": ["/mulch", "/garden"]})("pine straw")
    ['/mulch', '/garden']
    """

    # Queries are data: the repr of parameters with this engine must not show them.
    table: Mapping[str, Sequence[Hashable]] = field(repr=False)

    def __call__(self, query: str) -> Sequence[Hashable]:
        """The results of exactly this text; empty if it is not in the table."""
        return self.table.get(query, ())


class FullTextResults:
    """In-memory full-text search over documents given as (id, text).

    >>> engine = FullTextResults([("a", "pine straw and mulch"), ("b", "effects of caffeine")])
    >>> engine("Mulch, pine")
    ['a']
    """

    def __init__(self, documents: Iterable[tuple[Hashable, str]], top: int = 50) -> None:
        """Index the documents; a query returns at most `top` results."""
        AtLeast(1).check("top", top)
        self._top = top
        self._ids: list[Hashable] = []
        self._index = sqlite3.connect(":memory:")
        # Contentless table: the index is stored, the documents are not.
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
        # Quoted words of \w characters cannot be parsed as operators.
        rows = self._index.execute(
            "SELECT rowid FROM documents WHERE documents MATCH ? ORDER BY rank, rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), self._top),
        )
        return [self._ids[row] for (row,) in rows]

    def close(self) -> None:
        """Free the memory; later queries fail."""
        self._index.close()

    def _rows(self, documents: Iterable[tuple[Hashable, str]]) -> Iterable[tuple[int, str]]:
        for position, (document_id, text) in enumerate(documents):
            if not isinstance(text, str):
                raise MalformedInputError(
                    f"every document must be text; document {position} is of type "
                    f"{type(text).__name__}."
                )
            self._ids.append(document_id)
            # SQLite cannot store lone surrogates, and reads a text up to its first NUL.
            yield position, text.encode("utf-8", "replace").decode().replace("\0", " ")
