"""Replace lists of queries so that at least k users of a group share every list.

Paper:      none; section 5.4 edits each thread's own queries, so that their number, order and
            repetition remain, which often only one user has.
Guarantee:  in each group, every list (words, their order, queries, their order and repetition) has
            at least k distinct users; the words of a thread remain the same set. A list that k
            users have stays. The result depends neither on the order of the threads nor on user
            numbers, except for users with the same lists: which of them gets which list.
Complexity: O(W log W) for W words, then that of `assign_lists` for at most `CANDIDATES` candidates
            per group.
Deviation:  the paper's form is the format `edited`.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    dense_ranks,
    earlier_occurrences,
    offsets_of,
    run_starts,
)
from setanon_core.errors import NotAnonymousError
from setanon_core.lists.assign import assign_lists
from setanon_core.lists.choices import build_choices
from setanon_core.lists.query_lists import (
    QueryLists,
    count_common_queries,
    count_sharing_users,
    number_queries,
    sequence_ranks,
)
from setanon_core.lists.word_order import usual_queries
from setanon_core.model.queries import Queries

CANDIDATES: Final = 32
"""Candidates per group: so many shared lists, and so many others; those with most users."""

PAIRS_AT_ONCE: Final = 1 << 20
"""Pairs of members and candidates processed at once: bounds the memory."""


class SharedLists(NamedTuple):
    """The queries to publish."""

    queries: Queries
    true_rows: int
    """Published queries that their own threads have; a repeated query counts each time."""


def share_lists(queries: Queries, labels: Ints, users: Ints, k: int) -> SharedLists:
    """The queries of all threads, with every list shared by at least k users of its group.

    `labels` has the group of each thread, and `users` its user. Every group has at least k users,
    and all its threads have the same set of words.
    """
    own, texts = number_queries(queries, len(labels))
    number = own.ranks()
    shared = count_sharing_users(labels, number, users) >= k
    if shared.all():
        return SharedLists(queries, len(queries.threads))
    lists = own
    # Shared lists keep their word order, so that sharing a second time changes nothing.
    usual = usual_queries(own, texts, labels, users)
    usual = np.where(shared[own.rows], own.queries, usual)
    if not np.array_equal(usual, own.queries):
        lists = QueryLists(usual, own.offsets)
        number = lists.ranks()
    source = _choose_lists(lists, number, labels, users, k)
    published = lists.take(source)
    # Compared again as published, without the numbers that the choice relied on.
    violations = int((count_sharing_users(labels, published.ranks(), users) < k).sum())
    if violations:
        raise NotAnonymousError(
            f"every published list of queries must be shared by k = {k} users; {violations} "
            "threads violate this. Nothing was returned. This is a bug in setanon."
        )
    result = replace(texts.take(published.queries), threads=published.rows)
    changed = source != np.arange(len(source))
    changed[own.rows[own.queries != lists.queries]] = True
    rows = np.flatnonzero(changed)
    common = count_common_queries(own.take(rows), published.take(rows))
    return SharedLists(result, int(own.sizes[~changed].sum()) + common)


def _choose_lists(lists: QueryLists, number: Ints, labels: Ints, users: Ints, k: int) -> Ints:
    """For each thread, a thread of its group whose list it gets."""
    source = np.arange(len(labels))
    n_users = count_sharing_users(labels, number, users)
    members = np.flatnonzero(n_users < k)
    members = members[_canonical_order(number[members], labels[members], users[members])]
    in_group = np.zeros(int(labels.max(initial=0)) + 1, np.bool_)
    in_group[labels[members]] = True
    rows = np.flatnonzero(in_group[labels])
    candidates = rows[_candidates(number[rows], labels[rows], n_users[rows], k)]
    for some_members, some_candidates in _parts(members, candidates, labels):
        choices = build_choices(
            lists.take(some_members),
            dense_ranks(labels[some_members])[0],
            users[some_members],
            lists=lists.take(some_candidates),
            list_group=dense_ranks(labels[some_candidates])[0],
            shared=n_users[some_candidates] >= k,
        )
        source[some_members] = some_candidates[assign_lists(choices, k)]
    return source


def _canonical_order(number: Ints, labels: Ints, users: Ints) -> Ints:
    """An order by group that depends neither on user numbers nor on the order of the threads.

    In a group, users are ordered by all their lists, and the lists of a user by their numbers.
    """
    order = np.lexsort((number, users, labels))
    starts = run_starts(labels[order], users[order])
    sizes = np.diff(np.flatnonzero(np.append(starts, True)))
    rank = np.repeat(sequence_ranks(number[order], offsets_of(sizes)), sizes)
    return order[np.lexsort((number[order], rank, labels[order]))]


def _candidates(number: Ints, labels: Ints, n_users: Ints, k: int) -> Ints:
    """Threads whose lists are the candidates of their groups; sorted by group.

    In a group, lists with more users are first, then longer ones.
    """
    # Numbers ascend with the lengths of lists.
    order = np.lexsort((-number, -n_users, labels))
    order = order[run_starts(labels[order], number[order])]
    kind = labels[order] * 2 + (n_users[order] >= k)
    return order[earlier_occurrences(kind) < CANDIDATES]


def _parts(members: Ints, candidates: Ints, labels: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Members and candidates of some groups at a time; both are sorted by group."""
    if not len(members):
        return
    group, n = dense_ranks(labels[members])
    candidate_group, _ = dense_ranks(labels[candidates])
    pairs = np.bincount(group) * np.bincount(candidate_group)
    part = np.cumsum(pairs) // PAIRS_AT_ONCE
    starts = np.append(np.flatnonzero(run_starts(part)), n).tolist()
    for first, stop in pairwise(starts):
        rows = np.searchsorted(group, [first, stop])
        columns = np.searchsorted(candidate_group, [first, stop])
        yield members[rows[0] : rows[1]], candidates[columns[0] : columns[1]]
