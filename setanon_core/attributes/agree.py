"""Split the groups of threads by their attributes, and choose the values of each group.

Paper:      section 5.5: the times and the clicked results of a thread are items, too.
Guarantee:  the keywords of the centers do not change, so neither do those that are published. Every
            group has at least k users. A value is published with the threads of a group if more
            than half of the users of the group have it, and at least `min_owners` users of the log;
            with `operations="deletions"`, if all its threads have it. All threads of a group get
            the same values. The result does not depend on the order of the threads.
Complexity: O(2^a N log N) for a attributes and N values, and one comparison for each pair of a
            remaining thread and a new group with which it shares a value.
Deviation:  keywords decide the groups, and attributes only split them: a day that very many threads
            share must not cost a keyword. Users are counted, not threads: one user's repeated value
            is no majority.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    dense_ranks,
    first_positions,
    offsets_of,
    run_starts,
    sorted_unique,
)
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import count_users, user_ranks
from setanon_core.errors import NotAnonymousError
from setanon_core.model.attributes import AttributeCost, Attributes
from setanon_core.model.groups import WITHDRAWN, Anonymized
from setanon_core.params import Params

REST: Final = -1
"""The part of the threads of a group that are in none of its new groups."""

PAIRS_AT_ONCE: Final = 1 << 22
"""Pairs of threads and parts compared at once: bounds the memory."""


def agree_on_attributes(result: Anonymized, attributes: Attributes, users: Ints) -> Anonymized:
    """The threads in the new groups, with their values; `users` has the user of each thread.

    Several of the new groups may have the same center.
    """
    published = np.flatnonzero(result.labels != WITHDRAWN)
    label = result.labels[published].astype(np.int64)
    user = users[published].astype(np.int64)
    own = attributes.sets.take(published)
    # Values of few users are never published: they must not split a group.
    common = attributes.owners >= result.params.required_owners
    members = _Members(label, user, own.keep_items(common), result.params.k)
    part = _split(members, attributes)
    group, n = dense_ranks(label * (int(part.max(initial=REST)) + 2) + part + 1)
    parent = np.zeros(n, np.int64)
    parent[group] = label
    values = _agreed_values(members, group, n, deletions=result.params.operations == "deletions")
    _require_agreement(members, group, values, attributes, result.params)
    labels = result.labels.copy()
    labels[published] = group
    return replace(
        result,
        labels=labels,
        centers=result.centers.take(parent),
        attribute_values=values,
        attribute_costs=_costs(attributes, own, values, group),
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Members:
    """The published threads: group, user and the values that may be published of each."""

    label: Ints
    user: Ints
    values: Sets
    k: int

    def take(self, positions: Ints) -> "_Members":
        return _Members(
            self.label[positions], self.user[positions], self.values.take(positions), self.k
        )


class _Part(NamedTuple):
    """New groups of some threads, and the values that define them."""

    labels: Ints
    """The group that each part is of."""

    values: Sets


def _split(members: _Members, attributes: Attributes) -> Ints:
    """The part of each thread in its group, or `REST`; each part and each rest has k users."""
    part = np.full(len(members.label), REST)
    found = _Part(np.empty(0, np.int64), members.values.take(np.empty(0, np.int64)))
    # Threads that agree on all attributes, then on all except the last one, and so on.
    kinds = range(len(attributes.names))
    for size in range(len(kinds), 0, -1):
        for chosen in combinations(kinds, size):
            rest = np.flatnonzero(part == REST)
            rows, number, new = _equal_parts(members.take(rest), attributes, chosen)
            part[rest[rows]] = number + len(found.labels)
            found = _Part(np.append(found.labels, new.labels), _concat(found.values, new.values))
    if len(found.labels):
        rest = np.flatnonzero(part == REST)
        part[rest] = _join(members.take(rest), found)
    return part


def _equal_parts(
    members: _Members, attributes: Attributes, chosen: tuple[int, ...]
) -> tuple[Ints, Ints, _Part]:
    """Threads whose values of these attributes k users of the group have; their parts, numbered."""
    values = members.values.keep_items(np.isin(attributes.attribute, chosen))
    complete = np.ones(len(values), np.bool_)
    for kind in chosen:
        of_kind = attributes.attribute[values.items] == kind
        complete &= np.bincount(values.rows[of_kind], minlength=len(values)) > 0
    cells, _ = dense_ranks(members.label * (int(values.ranks.max(initial=0)) + 1) + values.ranks)
    shared = complete & (user_ranks(cells, members.user)[1] >= members.k)
    rows = np.flatnonzero(shared)
    number, _ = dense_ranks(cells[rows])
    first = rows[first_positions(number)]
    return rows, number, _Part(members.label[first], values.take(first))


def _join(rest: _Members, parts: _Part) -> Ints:
    """For each remaining thread, the part that it joins, or `REST`.

    A thread joins the part with the fewest changes if these are fewer than deleting its values.
    All threads join parts where fewer than k users would remain.
    """
    sizes = rest.values.sizes
    part, changes = _nearest_parts(rest, parts)
    joins = changes < sizes
    users = count_users(rest.label[~joins], rest.user[~joins], int(rest.label.max(initial=-1)) + 1)
    has_part = np.isin(rest.label, parts.labels)
    forced = ~joins & has_part & (users[rest.label] < rest.k)
    # The part with the fewest values: they are added.
    order = np.lexsort((parts.values.sizes, parts.labels))
    order = order[run_starts(parts.labels[order])]
    position = np.searchsorted(parts.labels[order], rest.label[forced])
    smallest = order[position]
    is_nearer = changes[forced] <= sizes[forced] + parts.values.sizes[smallest]
    part[forced] = np.where(is_nearer, part[forced], smallest)
    part[~(joins | forced)] = REST
    return part


def _nearest_parts(rest: _Members, parts: _Part) -> tuple[Ints, Ints]:
    """For each thread the part of its group with the fewest changes, and their number.

    Only parts with a value of the thread are compared; without any, the number is the maximum.
    """
    part = np.full(len(rest.label), REST)
    changes = np.full(len(rest.label), np.iinfo(np.int64).max)
    width = max(rest.values.width, parts.values.width, 1)
    cells = parts.labels[parts.values.rows] * width + parts.values.items
    order = np.argsort(cells, kind="stable")
    ascending, owner = cells[order], parts.values.rows[order]
    own = rest.label[rest.values.rows] * width + rest.values.items
    first = np.searchsorted(ascending, own)
    counts = np.searchsorted(ascending, own, side="right") - first
    batch = np.cumsum(counts) // PAIRS_AT_ONCE
    # A thread is in one batch: that of its first value.
    batch = batch[rest.values.offsets[:-1][rest.values.rows]]
    for values in np.split(np.arange(len(own)), np.flatnonzero(np.diff(batch)) + 1):
        pairs = owner[concat_ranges(first[values], counts[values])]
        rows = np.repeat(rest.values.rows[values], counts[values])
        n = len(parts.labels)
        pair, common = np.unique(rows * n + pairs, return_counts=True)
        row, candidate = np.divmod(pair, n)
        needed = rest.values.sizes[row] + parts.values.sizes[candidate] - 2 * common
        best = np.lexsort((candidate, needed, row))
        best = best[run_starts(row[best])]
        part[row[best]], changes[row[best]] = candidate[best], needed[best]
    return part, changes


def _require_agreement(
    members: _Members, group: Ints, values: Sets, attributes: Attributes, params: Params
) -> None:
    """Refuse groups of few users and values of few owners, whatever the split did."""
    small = int((count_users(group, members.user, len(values)) < params.k).sum())
    rare = int((attributes.owners[values.items] < params.required_owners).sum())
    if small or rare:
        raise NotAnonymousError(
            f"every group must have k = {params.k} users, and every value of an attribute "
            f"min_owners = {params.required_owners}; {small} groups and {rare} values had fewer. "
            "Nothing was returned. This is a bug in setanon."
        )


def _concat(first: Sets, second: Sets) -> Sets:
    return Sets.unchecked(
        items=np.append(first.items, second.items),
        offsets=offsets_of(np.append(first.sizes, second.sizes)),
    )


def _agreed_values(members: _Members, group: Ints, n: int, *, deletions: bool) -> Sets:
    """The values of each group: those of most of its users, or of all its threads."""
    width = max(members.values.width, 1)
    cells = group[members.values.rows] * width + members.values.items
    distinct = sorted_unique(cells)
    row = np.searchsorted(distinct, cells)
    of_group = distinct // width
    if deletions:
        agreed = np.bincount(row, minlength=len(distinct)) == np.bincount(group)[of_group]
    else:
        having = count_users(row, members.user[members.values.rows], len(distinct))
        agreed = 2 * having > count_users(group, members.user, n)[of_group]
    sizes = np.bincount(of_group[agreed], minlength=n)
    return Sets.unchecked(items=distinct[agreed] % width, offsets=offsets_of(sizes))


def _costs(
    attributes: Attributes, own: Sets, values: Sets, group: Ints
) -> tuple[AttributeCost, ...]:
    """The cost of each attribute; `own` are the values of the published threads."""
    width = len(attributes.texts) + 1
    kept = np.isin(group[own.rows] * width + own.items, values.rows * width + values.items)
    true_values = attributes.counts(own.items[kept])
    threads = np.bincount(group, minlength=len(values))
    published = np.bincount(
        attributes.attribute[values.items], threads[values.rows], len(attributes.names)
    )
    return tuple(
        AttributeCost(name, int(total), int(shown - true), int(total - true))
        for name, total, shown, true in zip(
            attributes.names,
            attributes.counts(attributes.sets.items),
            published,
            true_values,
            strict=True,
        )
    )
