"""Group records into certified k-anonymous groups: all of section 4.

Paper:      section 4; Definitions 1 and 2 of section 3.
Guarantee:  every group has at least k users, every published item at least `min_owners` owners
            (both are checked here, whatever the grouper did), and no solution costs less than the
            lower bound of the certificate. With `combinations="typed"`, records of at least k users
            contain each published set; this is checked too.
Complexity: that of the grouper.
Deviation:  that of the grouper; records are sorted first, so that input order does not matter.
            `best` groups very many records place by place: see `group_in_places`.
"""

from dataclasses import replace

import numpy as np

from setanon_core.columns.arrays import Ints, inverse_permutation, mix64
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users, user_ranks
from setanon_core.errors import NotAnonymousError
from setanon_core.grouping.bounds.lower_bound import lower_bound
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip, flip_cost
from setanon_core.grouping.methods import group, group_within
from setanon_core.grouping.strip import Stripped, count_owners, strip
from setanon_core.grouping.superset_users import SupersetUsers
from setanon_core.grouping.typed_centers import typed_centers
from setanon_core.model.groups import WITHDRAWN, Anonymized, Certificate, Cost, Round
from setanon_core.params import Params
from setanon_core.partition.bound_parts import bound_in_parts
from setanon_core.partition.group_in_places import group_in_places
from setanon_core.partition.plan import count_places
from setanon_core.runtime.executor import submit


def anonymize_records(
    records: Records, params: Params, clusters: Ints | None = None, owners: Ints | None = None
) -> Anonymized:
    """Group records, form the centers, compute cost and certificate.

    With `clusters`, the cluster number of each record, groups form within clusters only. `owners`
    is the number of owners of each item, if it cannot be counted from the records alone.
    """
    owners = count_owners(records) if owners is None else owners
    stripped = strip(records, params, owners)
    # By the items before stripping: records that differ in stripped items only are not equal.
    order = canonical_order(records.subset(stripped.positions))
    ordered = _reorder(stripped.records, order)
    stripped = replace(stripped, records=ordered)  # frees the unordered copy
    places = 1 if clusters is not None or params.method == "paper" else count_places(len(ordered))
    if places > 1:
        grouping = group_in_places(ordered, params, places)
        # After the grouping, which needs the memory of all processes.
        remaining_bound = submit(bound_in_parts, ordered.without_vocabulary(), params)
    else:
        remaining_bound = submit(lower_bound, ordered.without_vocabulary(), params)
        if clusters is None:
            grouping = group(ordered, params)
        else:
            grouping = group_within(ordered, params, clusters[stripped.positions[order]])
    rows, centers = flip(ordered, grouping.labels, params.operations)
    if params.combinations == "typed":
        rows, centers = typed_centers(ordered, rows, centers, params)
        _require_typed(records, centers, params.k)
    _require_users(ordered, rows, params.k)
    _require_owners(owners[centers.items], params.required_owners)
    labels = np.full(len(records), WITHDRAWN)
    labels[stripped.positions[order]] = rows
    cost = cost_of(records, labels, centers)
    rounds = [_add_stripped(round_, stripped) for round_ in grouping.rounds]
    if params.combinations == "typed":
        rounds.append(Round(typed_centers.__name__, cost))
    if grouping.proven_optimal:
        # Typed centers may cost more than these, but never less.
        bound = stripped.cost + flip_cost(ordered, grouping.labels, params.operations).total
    else:
        bound = stripped.cost + remaining_bound()
    # The result must not contain items that are not published.
    published, items = np.unique(centers.items, return_inverse=True)
    vocabulary = records.vocabulary or range(records.width)
    return Anonymized(
        labels=labels,
        centers=Sets(items, centers.offsets),
        vocabulary=tuple(vocabulary[item] for item in published.tolist()),
        certificate=Certificate(cost, bound, proven_optimal=bound >= cost.total),
        params=params,
        notes=grouping.notes,
        warnings=_warnings(records, stripped, params),
        rounds=tuple(rounds),
    )


def canonical_order(records: Records) -> Ints:
    """Order records by their sets and by all sets of their users, not by input position."""
    ranks, users = records.ranks, encode_users(records.users, len(records))
    # A sum over a user's sets does not depend on their order. Collision probability of two users
    # with different sets: 2^-64 per pair.
    digest = np.zeros(int(users.max(initial=-1)) + 1, np.uint64)
    np.add.at(digest, users, mix64(ranks.astype(np.uint64) + np.uint64(1)))
    user_rank = inverse_permutation(np.argsort(digest, kind="stable"))
    return np.argsort(ranks * len(digest) + user_rank[users], kind="stable")


def _reorder(records: Records, order: Ints) -> Records:
    """The records in this order, users renumbered in it: both break ties in the grouping."""
    users = encode_users(records.users[order], len(order))
    return Records.from_checked_sets(records.take(order), users, records.vocabulary)


def _add_stripped(round_: Round, stripped: Stripped) -> Round:
    """Add the cost of what was stripped before the grouping."""
    cost = round_.cost
    deletions, withdrawals = cost.deletions + stripped.cost, cost.withdrawals + stripped.withdrawn
    return Round(round_.name, Cost(cost.additions, deletions, withdrawals))


def _require_users(records: Records, rows: Ints, k: int) -> None:
    """Refuse groups of fewer than k users, whatever the grouper did."""
    published = rows != WITHDRAWN
    _, users = user_ranks(rows[published], records.users[published])
    small = len(np.unique(rows[published][users < k]))
    if small:
        raise NotAnonymousError(
            f"every group must have at least k = {k} users; {small} groups had fewer. Nothing was "
            "returned. This is a bug in setanon: please report it with these parameters."
        )


def _require_owners(owners: Ints, least: int) -> None:
    """Refuse centers with items of too few owners, whatever the grouper did."""
    rare = int((owners < least).sum())
    if rare:
        raise NotAnonymousError(
            f"every published item must have at least min_owners = {least} owners; {rare} had "
            "fewer. Nothing was returned. This is a bug in setanon: please report it with these "
            "parameters."
        )


def _require_typed(records: Records, centers: Sets, k: int) -> None:
    """Refuse centers that the input records of fewer than k users contain."""
    untyped = int((SupersetUsers(records).count_users(centers) < k).sum())
    if untyped:
        raise NotAnonymousError(
            f"records of at least k = {k} users must contain every published set; {untyped} sets "
            "are in fewer. Nothing was returned. This is a bug in setanon: please report it with "
            "these parameters."
        )


def _warnings(records: Records, stripped: Stripped, params: Params) -> tuple[str, ...]:
    """Sentences on withdrawn records, which the user should read before using the result."""
    warnings = []
    if stripped.empty:
        warnings.append(f"{stripped.empty} empty records were withdrawn.")
    if stripped.barred:
        warnings.append(
            f"{stripped.barred} records were withdrawn because they have an item of fewer than "
            f"min_owners = {params.required_owners} users, which additions cannot hide. Allow "
            "deletions, or set min_owners=0."
        )
    if stripped.records.n_users < params.k:
        warnings.append(
            f"Every record was withdrawn: a set must be shared by k = {params.k} users, and only "
            f"{stripped.records.n_users} of {records.n_users} users have a publishable record."
        )
    elif len(stripped.records.items) == 0:
        warnings.append(
            "Every record was withdrawn: no item has enough owners to be published, with "
            f"k = {params.k} and min_owners = {params.required_owners}."
        )
    return tuple(warnings)
