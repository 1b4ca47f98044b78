"""The texts of a release, and their verification before they are returned.

A release has thread ids and keywords or queries: no users, no times, no input order.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from setanon_core.columns.arrays import earlier_occurrences
from setanon_core.columns.tables import TableConstructor
from setanon_core.errors import NotAnonymousError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.publication import Ledger, QueryRelease, Release, SetRelease
from setanon_core.model.queries import Queries
from setanon_core.model.verdict import Verdict
from setanon_core.params import Format, ReleaseParams
from setanon_core.verify import verify


def format_release(
    edited: Queries,
    vocabulary: Sequence[str],
    ids: Mapping[int, str],
    format: Format,  # noqa: A002 - the name of the parameter everywhere
    *,
    constructor: TableConstructor = dict,
) -> Release:
    """The queries of each thread, or the sets of their keywords, sorted by thread id."""
    positions = earlier_occurrences(edited.threads).tolist()
    rows = sorted(
        (ids[thread], position, [vocabulary[word] for word in query])
        for position, (thread, query) in zip(positions, edited.lists(), strict=True)
    )
    if format == "sets":
        sets = {
            thread_id: tuple(sorted({word for _, _, query in queries for word in query}))
            for thread_id, queries in groupby(rows, key=itemgetter(0))
        }
        return SetRelease(tuple(sets), tuple(sets.values()), constructor=constructor)
    return QueryRelease(
        tuple(thread_id for thread_id, _, _ in rows),
        tuple(position for _, position, _ in rows),
        tuple(" ".join(query) for _, _, query in rows),
        constructor=constructor,
    )


def verify_release(release: Release, ledger: Ledger, params: ReleaseParams) -> Verdict:
    """Verify the texts of a release, tokenized again, with the users of the ledger."""
    tokenizer = params.tokenizer or tokenize
    sets: dict[str, Collection[str]]
    if isinstance(release, SetRelease):
        sets = dict(zip(release.thread_ids, release.keywords, strict=True))
    else:
        keywords: dict[str, set[str]] = {thread_id: set() for thread_id in ledger.thread_ids}
        for thread_id, query in zip(release.thread_ids, release.queries, strict=True):
            # Different texts without keywords must not count as equal sets.
            keywords[thread_id].update(tokenizer(query) or [query])
        sets = dict(keywords)
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    return verify(list(sets.values()), params.k, users=[users[thread_id] for thread_id in sets])


def require_anonymous(verdict: Verdict, params: ReleaseParams) -> None:
    """Refuse a release that violates k-anonymity, except with `spelling="as_typed"`.

    Spellings as typed are not shared by k users; the caller decides whether to publish them.
    """
    if params.spelling == "common" and not verdict.ok:
        raise NotAnonymousError(
            f"the keywords of every published thread must be shared by k = {params.k} users; "
            f"{verdict.violations} threads violate this. Nothing was returned. A tokenizer must "
            "return its own keywords when they are joined by spaces."
        )
