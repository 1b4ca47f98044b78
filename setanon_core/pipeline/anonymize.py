"""Sets in, certified k-anonymous groups out: the whole of section 4 behind one call."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from setanon_core.columns.arrays import Ints, inverse_permutation
from setanon_core.columns.hashing import mix64
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users, user_ranks
from setanon_core.errors import MalformedInputError, NotAnonymousError
from setanon_core.grouping.bounds.lower_bound import lower_bound
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.methods import group, group_within
from setanon_core.grouping.strip import Stripped, count_owners, strip
from setanon_core.model.groups import WITHDRAWN, Anonymized, Certificate, Cost, Round
from setanon_core.params import GrouperName, Method, Operations, Params
from setanon_core.runtime.executor import submit


def anonymize(  # noqa: PLR0913 - the knobs, each by name
    records: Records | Iterable[Collection[Hashable]],
    k: int,
    *,
    users: Sequence[Hashable] | None = None,
    method: Method = "best",
    grouper: GrouperName | None = None,
    operations: Operations = "both",
    min_owners: int | None = None,
    seed: int = 0,
) -> Anonymized:
    """Make every record's set the set of at least k users, with few additions and deletions.

    `records` is any iterable of collections of hashable items, or `Records`. Without `users`
    every record is a user of its own. The result does not depend on the users' names, nor on the
    order of the input, except between users who are alike in all respects, with the same sets in
    all their records: of these, whoever comes first is served first.

    >>> result = anonymize([{"e1", "e2", "e3"}, {"e1", "e2"}, {"e1", "e3"}], k=2)
    >>> [sorted(record) for record in result.records]
    [['e1', 'e2', 'e3'], ['e1', 'e2', 'e3'], ['e1', 'e2', 'e3']]
    >>> result.cost.additions, result.cost.deletions
    (2, 0)
    """
    params = Params(k, method, grouper, operations, min_owners, seed)
    return anonymize_records(_records(records, users), params)


def anonymize_records(
    data: Records, params: Params, clusters: Ints | None = None, held: Ints | None = None
) -> Anonymized:
    """The same for columns.

    With `clusters`, a number for each record, groups form within each cluster only. `held` is the
    number of owners of each item, where more is known of them than the records tell.
    """
    held = count_owners(data) if held is None else held
    stripped = strip(data, params, held)
    # By what they held before: records that only stripping made alike are not alike.
    order = canonical_order(data.subset(stripped.positions))
    ordered = _ordered(stripped.records, order)
    stripped = replace(stripped, records=ordered)  # one of them is enough to keep
    bound_of_rest = submit(lower_bound, ordered.without_vocabulary(), params)
    if clusters is None:
        grouping = group(ordered, params)
    else:
        grouping = group_within(ordered, params, clusters[stripped.positions[order]])
    rows, centers = flip(ordered, grouping.labels, params.operations)
    _refuse_small_groups(ordered, rows, params.k)
    _refuse_rare_items(held[centers.items], params.required_owners)
    labels = np.full(len(data), WITHDRAWN)
    labels[stripped.positions[order]] = rows
    cost = cost_of(data, labels, centers)
    proven = grouping.proven_optimal
    bound = cost.total if proven else stripped.cost + bound_of_rest()
    # Only what is published leaves: the rare items of the input have no business in a result.
    published, items = np.unique(centers.items, return_inverse=True)
    names = data.vocabulary or range(data.width)
    return Anonymized(
        labels=labels,
        centers=Sets(items, centers.offsets),
        vocabulary=tuple(names[item] for item in published.tolist()),
        certificate=Certificate(cost, bound, proven_optimal=proven or bound >= cost.total),
        params=params,
        notes=grouping.notes,
        warnings=_warnings(data, stripped, params),
        rounds=tuple(_of_all(round_, stripped) for round_ in grouping.rounds),
    )


def _of_all(round_: Round, stripped: Stripped) -> Round:
    """Count what was stripped before the round as well."""
    cost = round_.cost
    deletions, withdrawals = cost.deletions + stripped.cost, cost.withdrawals + stripped.withdrawn
    return Round(round_.name, Cost(cost.additions, deletions, withdrawals))


def _records(
    records: Records | Iterable[Collection[Hashable]], users: Sequence[Hashable] | None
) -> Records:
    if isinstance(records, Records):
        if users is not None:
            raise MalformedInputError(
                "users must not be given beside Records, which have users already. "
                "Pass them to Records.from_columns."
            )
        data = records
    elif hasattr(records, "dictionary_encode"):  # an Arrow column
        data = Records.from_arrow(records, users)
    else:
        # The keys of a mapping would be read as records, and may well be users.
        if isinstance(records, Mapping) or not isinstance(records, Iterable):
            raise MalformedInputError(
                "records must be an iterable of collections of items; got a value of type "
                f"{type(records).__name__}."
            )
        if users is not None and not _is_sequence(users):
            raise MalformedInputError(
                "users must be a sequence with one user for each record; got a value of type "
                f"{type(users).__name__}. Make it a list."
            )
        data = Records.from_sets(records, users)
    if len(data) == 0:
        raise MalformedInputError("records must hold at least one record; got none.")
    return data


def _is_sequence(users: object) -> bool:
    """Whether there is a user in the place of each record: a set or a mapping has no places."""
    if isinstance(users, np.ndarray):
        return users.ndim == 1
    return hasattr(users, "__getitem__") and not isinstance(users, Mapping | str | bytes)


def canonical_order(records: Records) -> Ints:
    """Order records by what they and their users' other records hold, not by where they stand."""
    ranks, users = records.ranks, encode_users(records.users, len(records))
    # A user is known by the sets of all their records: a sum of these does not tell their order.
    # That two users who differ have one sum is a matter of chance, once in 2^64 pairs.
    known = np.zeros(int(users.max(initial=-1)) + 1, np.uint64)
    np.add.at(known, users, mix64(ranks.astype(np.uint64) + np.uint64(1)))
    place = inverse_permutation(np.argsort(known, kind="stable"))
    return np.argsort(ranks * len(known) + place[users], kind="stable")


def _ordered(records: Records, order: Ints) -> Records:
    """The records in this order, and the users numbered in it: ties are broken by both."""
    users = encode_users(records.users[order], len(order))
    return Records.from_checked_sets(records.take(order), users, records.vocabulary)


def _refuse_small_groups(records: Records, rows: Ints, k: int) -> None:
    """Fail closed: whatever a grouper did, no group of fewer than k users leaves this module."""
    inside = rows != WITHDRAWN
    _, users = user_ranks(rows[inside], records.users[inside])
    small = len(np.unique(rows[inside][users < k]))
    if small:
        raise NotAnonymousError(
            f"every group must have at least k = {k} users; {small} had fewer. Nothing was "
            "returned. This is a fault of setanon: please report it with these parameters."
        )


def _refuse_rare_items(held: Ints, least: int) -> None:
    """Fail closed here too: no center holds an item of too few owners."""
    rare = int((held < least).sum())
    if rare:
        raise NotAnonymousError(
            f"every published item must have at least min_owners = {least} owners; {rare} had "
            "fewer. Nothing was returned. This is a fault of setanon: please report it with these "
            "parameters."
        )


def _warnings(data: Records, stripped: Stripped, params: Params) -> tuple[str, ...]:
    """Tell in sentences what a person should know before using the result."""
    found = []
    if stripped.empty:
        found.append(f"{stripped.empty} empty records were withdrawn.")
    if stripped.barred:
        found.append(
            f"{stripped.barred} records were withdrawn because they hold an item of fewer than "
            f"min_owners = {params.required_owners} users, which additions cannot hide. Allow "
            "deletions, or set min_owners=0."
        )
    if stripped.records.n_users < params.k:
        found.append(
            f"Every record was withdrawn: k = {params.k} users must share a set, and there are "
            f"{stripped.records.n_users} with something to publish (of {data.n_users})."
        )
    elif len(stripped.records.items) == 0:
        found.append(
            "Every record was withdrawn: no item is held by enough users to be published, with "
            f"k = {params.k} and min_owners = {params.required_owners}."
        )
    return tuple(found)
