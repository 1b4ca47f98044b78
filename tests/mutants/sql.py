"""Mutations of SQL texts: one operator, aggregate or clause changed each."""

import re
from collections.abc import Iterator

SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|HAVING|GROUP BY|ORDER BY|JOIN|FILTER|DISTINCT|IS NULL|IS NOT NULL)\b"
    r"|\b(count|min|max|sum|coalesce|bool_and|bool_or|list|len|trim)\("
)

REPLACEMENTS = (
    (r"<=", "<"),
    (r">=", ">"),
    (r"<>", "="),
    (r"<(?![=>])", "<="),
    (r"(?<!<)>(?!=)", ">="),
    (r"(?<![<>!])=(?!=)", "<>"),
    (r"\bAND\b", "OR"),
    (r"\bOR\b(?! REPLACE)", "AND"),
    (r"\bcount\(DISTINCT ", "count("),
    (r"\bSELECT DISTINCT\b", "SELECT"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bbool_and\(", "bool_or("),
    (r"\bbool_or\(", "bool_and("),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bIS DISTINCT FROM\b", "IS NOT DISTINCT FROM"),
    (r"\bIS NOT DISTINCT FROM\b", "IS DISTINCT FROM"),
    (r"\bNOT (?!NULL|DISTINCT|EXISTS)", ""),
    (r"\bNOT EXISTS\b", "EXISTS"),
    (r"\bNOT IN\b", "IN"),
    (r"\bWHERE\b", "WHERE true OR"),
    (r"\bHAVING\b", "HAVING true OR"),
    (r"\b(LEFT|FULL) JOIN\b", "JOIN"),
    (r"\bANTI JOIN\b", "SEMI JOIN"),
    (r"\bSEMI JOIN\b", "ANTI JOIN"),
    (r"\bUNION ALL\b", "UNION"),
    (r"\bnfc_normalize\(", "("),
    (r"\btrim\(", "("),
    (r" \+ 1\b", ""),
    (r" - 1\b", ""),
)
"""Pattern and replacement; `WHERE true OR a AND b` is always true, as if there was no clause."""


def is_sql(text: str) -> bool:
    """Whether a text of the source is probably SQL."""
    return SQL.search(text) is not None


def sql_mutations(text: str) -> Iterator[str]:
    """The text with one occurrence of one pattern replaced.

    >>> list(sql_mutations("FILTER (WHERE a < b)"))
    ['FILTER (WHERE a <= b)', 'FILTER (WHERE true OR a < b)']
    """
    for pattern, replacement in REPLACEMENTS:
        for match in re.finditer(pattern, text):
            yield text[: match.start()] + replacement + text[match.end() :]
