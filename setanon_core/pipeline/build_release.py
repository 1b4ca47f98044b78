"""Build a release from grouped threads: spelling, edits, ids, verification.

Paper:      section 5.4.
Guarantee:  what is published of a thread is shared by threads of at least k users: the list of its
            queries (format `queries`) or its set of keywords (`edited`, `sets`). It is verified on
            the returned texts.
Complexity: that of the stages; everything is held in memory.
Deviation:  that of the stages.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from setanon_core.columns.arrays import Ints, earlier_occurrences
from setanon_core.columns.tables import TableConstructor
from setanon_core.edits import EditCounts, EditTargets, edit_in_batches
from setanon_core.errors import NotAnonymousError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.attributes import Attributes
from setanon_core.model.groups import Anonymized
from setanon_core.model.publication import (
    Ledger,
    QueryRelease,
    Release,
    ReleaseCost,
    ReleaseResult,
    SetRelease,
)
from setanon_core.model.queries import Queries, Threads
from setanon_core.model.verdict import Verdict
from setanon_core.params import Format, ReleaseParams
from setanon_core.pipeline.group_threads import item_centers, release_cost
from setanon_core.pipeline.thread_ids import assign_thread_ids
from setanon_core.verify import verify


def build_release(
    threads: Threads,
    result: Anonymized,
    params: ReleaseParams,
    *,
    constructor: TableConstructor = dict,
) -> ReleaseResult:
    """Edit the queries, assign thread ids, verify the texts; refuse what is not k-anonymous.

    `constructor` builds the tables of the release and the ledger.
    """
    edited, cost = edit_threads(threads, result, params)
    order, digests = assign_thread_ids(threads, result, params)
    ids = dict(zip(order.tolist(), (digest.tobytes().hex() for digest in digests), strict=True))
    user = threads.records.users.tolist()
    ledger = Ledger(
        thread_ids=tuple(ids.values()),
        threads=tuple(ids),
        users=tuple(threads.users[user[thread]] for thread in ids),
        constructor=constructor,
    )
    release = format_release(
        edited, threads.keywords.vocabulary, ids, params.format, constructor=constructor
    )
    if threads.attributes is not None:
        release = replace(
            release,
            attributes=published_values(release.thread_ids, ids, threads.attributes, result),
        )
    verdict = verify_release(release, ledger, params)
    require_anonymous(verdict, params)
    return ReleaseResult(release, ledger, cost, verdict, params)


def edit_threads(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Queries, ReleaseCost]:
    """The queries to publish, as keyword numbers, and their cost; refuse rare keywords."""
    targets = edit_targets(threads.records.users, result, params)
    edited = edit_in_batches(threads.typed, threads.keywords, targets)
    cost = release_cost(threads, result, edited.counts.respellings)
    return edited.queries, edited_cost(cost, params, edited.counts)


def edit_targets(users: Ints, result: Anonymized, params: ReleaseParams) -> EditTargets:
    """What the threads of these users are edited to: centers of groups, in common spellings."""
    return EditTargets(
        result.labels,
        item_centers(result),
        params.required_owners,
        as_typed=params.spelling == "as_typed",
        users=users,
        sharing_users=params.k if params.format == "queries" else None,
    )


def edited_cost(cost: ReleaseCost, params: ReleaseParams, counts: EditCounts) -> ReleaseCost:
    """The cost of a release, with the queries that were edited."""
    if params.format == "sets":
        return cost
    return replace(cost, query_rows=counts.rows, true_query_rows=counts.true_rows)


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


def published_values(
    rows: Sequence[str], ids: Mapping[int, str], attributes: Attributes, result: Anonymized
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The values of each attribute in each row, which has a thread id: those of its group."""
    values = result.attribute_values
    assert values is not None  # noqa: S101 - the result is that of threads with attributes
    texts: list[list[tuple[str, ...]]] = []
    for low, high in pairwise(values.offsets.tolist()):
        numbers = values.items[low:high].tolist()
        texts.append(
            [
                tuple(attributes.texts[n] for n in numbers if attributes.attribute[n] == kind)
                for kind in range(len(attributes.names))
            ]
        )
    group = {ids[thread]: int(result.labels[thread]) for thread in ids}
    return {
        name: tuple(texts[group[thread_id]][kind] for thread_id in rows)
        for kind, name in enumerate(attributes.names)
    }


def verify_release(release: Release, ledger: Ledger, params: ReleaseParams) -> Verdict:
    """Verify the texts of a release with the users of the ledger.

    Format `queries`: the exact texts of each list. Format `edited`: the texts, tokenized again.
    """
    tokenizer = params.tokenizer or tokenize
    sets: dict[str, Collection[Hashable]]
    if isinstance(release, SetRelease):
        sets = dict(zip(release.thread_ids, release.keywords, strict=True))
        if release.attributes:
            # The whole row as the only item of a set: equal sets are equal rows.
            rows = zip(release.keywords, *release.attributes.values(), strict=True)
            sets = {each: [row] for each, row in zip(release.thread_ids, rows, strict=True)}
    elif params.format == "queries":
        # A list as the only item of a set: equal sets are equal lists.
        sets = {thread_id: [texts] for thread_id, texts in _texts(release, ledger).items()}
    else:
        keywords: dict[str, set[str]] = {thread_id: set() for thread_id in ledger.thread_ids}
        for thread_id, query in zip(release.thread_ids, release.queries, strict=True):
            # Different texts without keywords must not count as equal sets.
            keywords[thread_id].update(tokenizer(query) or [query])
        sets = dict(keywords)
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    return verify(list(sets.values()), params.k, users=[users[thread_id] for thread_id in sets])


def _texts(release: QueryRelease, ledger: Ledger) -> dict[str, tuple[tuple[Any, ...], ...]]:
    """Positions, queries and values of the attributes of each thread, by position."""
    texts: dict[str, list[tuple[Any, ...]]] = {thread_id: [] for thread_id in ledger.thread_ids}
    columns = (release.positions, release.queries, *release.attributes.values())
    for thread_id, *row in zip(release.thread_ids, *columns, strict=True):
        texts[thread_id].append(tuple(row))
    return {thread_id: tuple(sorted(queries)) for thread_id, queries in texts.items()}


def require_anonymous(verdict: Verdict, params: ReleaseParams) -> None:
    """Refuse a release that violates k-anonymity, except with `spelling="as_typed"`.

    Spellings as typed are not shared by k users; the caller decides whether to publish them.
    """
    if params.spelling == "common" and not verdict.ok:
        what = "list of queries" if params.format == "queries" else "set of keywords"
        raise NotAnonymousError(
            f"the {what} of every published thread must be shared by k = {params.k} users; "
            f"{verdict.violations} threads violate this. Nothing was returned. A tokenizer must "
            "return its own keywords when they are joined by spaces."
        )
