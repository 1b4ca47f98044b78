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

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, inverse_permutation, mix64
from setanon_core.columns.narrow import narrow_column, narrow_records, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users
from setanon_core.errors import NotAnonymousError
from setanon_core.grouping.bounds.lower_bound import lower_bound
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip, flip_cost
from setanon_core.grouping.methods import group, group_within
from setanon_core.grouping.strip import Stripped, count_owners, strip
from setanon_core.grouping.superset_users import SupersetUsers
from setanon_core.grouping.typed_centers import typed_centers
from setanon_core.model.groups import (
    WITHDRAWN,
    Anonymized,
    Certificate,
    Cost,
    Grouping,
    Round,
)
from setanon_core.params import Params
from setanon_core.partition.bound_parts import bound_in_parts
from setanon_core.partition.group_in_places import group_placed
from setanon_core.partition.group_parts import (
    cost_in_parts,
    count_small_groups,
    flip_in_parts,
)
from setanon_core.partition.place_records import PlacedRecords, Places, place_records
from setanon_core.partition.plan import count_places
from setanon_core.partition.stored_places import take_places
from setanon_core.pipeline.prepare_records import PreparedRecords, prepare_records
from setanon_core.runtime.executor import submit


def anonymize_records(
    records: Records, params: Params, clusters: Ints | None = None, owners: Ints | None = None
) -> Anonymized:
    """Group records, form the centers, compute cost and certificate.

    With `clusters`, the cluster number of each record, groups form within clusters only. `owners`
    is the number of owners of each item, if it cannot be counted from the records alone.
    """
    owners = count_owners(records) if owners is None else owners
    if clusters is None and needs_places(records, params):
        prepared = prepare_records(narrow_records(records), params, owners)
        return anonymize_prepared(prepared, params, records.vocabulary)
    stripped = strip(records, params, owners)
    # By the items before stripping: records that differ in stripped items only are not equal.
    order = canonical_order(records.subset(stripped.positions))
    ordered = _reorder(stripped.records, order)
    remaining_bound = submit(lower_bound, ordered.without_vocabulary(), params)
    if clusters is None:
        grouping = group(ordered, params)
    else:
        grouping = group_within(ordered, params, clusters[stripped.positions[order]])
    rows, centers = flip(ordered, grouping.labels, params.operations)
    if params.combinations == "typed":
        rows, centers = typed_centers(ordered, rows, centers, params)
        _require_typed(records, centers, params.k)
    _require_users(count_small_groups(rows, ordered.users, params.k), params.k)
    _require_owners(owners[centers.items], params.required_owners)
    labels = np.full(len(records), WITHDRAWN)
    labels[stripped.positions[order]] = rows
    if grouping.proven_optimal:
        # Typed centers may cost more than these, but never less.
        bound = flip_cost(ordered, grouping.labels, params.operations).total
    else:
        bound = remaining_bound()
    return _anonymized(
        _Groups(labels, centers, cost_of(records, labels, centers)),
        grouping,
        stripped.cost + bound,
        stripped,
        params,
        vocabulary=records.vocabulary or range(records.width),
        warnings=_warnings(records.n_users, stripped, params),
    )


def needs_places(records: Records, params: Params) -> bool:
    """Whether so many records are grouped place by place."""
    return params.method != "paper" and count_places(int(np.count_nonzero(records.sizes))) > 1


def anonymize_prepared(
    prepared: PreparedRecords,
    params: Params,
    vocabulary: Sequence[Hashable] = (),
    stored: Iterable[Places] | None = None,
) -> Anonymized:
    """Group prepared records in places, form the centers, compute cost and certificate.

    Without a vocabulary, items are named by their numbers. `stored` are the places of all records
    of the input, in parts; without them, the places are planned here.
    """
    stripped, records = prepared.stripped, prepared.stripped.records
    grouping = group_placed(_placed(prepared, params, stored), params)
    rows, centers, _ = flip_in_parts(records, grouping.labels, params.operations)
    grouping = replace(grouping, labels=rows)  # the first labels are not needed, and large
    # After the grouping, which needs the memory of all processes.
    bound = bound_in_parts(records, params)
    if params.combinations == "typed" and prepared.typed is not None:
        everything = records.subset(np.arange(len(records)))
        rows, centers = typed_centers(everything, widen(rows), centers, params)
        _require_typed(prepared.typed.subset(np.arange(prepared.n_records)), centers, params.k)
    _require_users(count_small_groups(rows, records.users, params.k), params.k)
    _require_owners(prepared.owners[centers.items], params.required_owners)
    labels = narrow_column(prepared.n_records, WITHDRAWN)
    labels[stripped.positions] = rows
    cost = _add_stripped(Round("", cost_in_parts(records, rows, centers)), stripped).cost
    return _anonymized(
        _Groups(labels, centers, cost),
        grouping,
        stripped.cost + bound,
        stripped,
        params,
        vocabulary=vocabulary or range(len(prepared.owners)),
        warnings=_warnings(prepared.n_users, stripped, params),
    )


def _placed(
    prepared: PreparedRecords, params: Params, stored: Iterable[Places] | None
) -> PlacedRecords:
    records = prepared.stripped.records
    places = count_places(len(records))
    if stored is None:
        return place_records(records, params, places, prepared.digests)
    return take_places(stored, prepared.stripped, prepared.n_records, places, params.k)


class _Groups(NamedTuple):
    """The row of each record's center, the centers, and their cost."""

    labels: Ints
    centers: Sets
    cost: Cost


def _anonymized(  # noqa: PLR0913 - the parts of a result
    groups: _Groups,
    grouping: Grouping,
    bound: int,
    stripped: Stripped,
    params: Params,
    *,
    vocabulary: Sequence[Hashable],
    warnings: tuple[str, ...],
) -> Anonymized:
    rounds = [_add_stripped(round_, stripped) for round_ in grouping.rounds]
    if params.combinations == "typed":
        rounds.append(Round(typed_centers.__name__, groups.cost))
    # The result must not contain items that are not published.
    published, items = np.unique(groups.centers.items, return_inverse=True)
    return Anonymized(
        labels=groups.labels,
        centers=Sets(items, groups.centers.offsets),
        vocabulary=tuple(vocabulary[item] for item in published.tolist()),
        certificate=Certificate(groups.cost, bound, proven_optimal=bound >= groups.cost.total),
        params=params,
        notes=grouping.notes,
        warnings=warnings,
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


def _require_users(small: int, k: int) -> None:
    """Refuse groups of fewer than k users, whatever the grouper did."""
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


def _warnings(n_users: int, stripped: Stripped, params: Params) -> tuple[str, ...]:
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
            f"{stripped.records.n_users} of {n_users} users have a publishable record."
        )
    elif len(stripped.records.items) == 0:
        warnings.append(
            "Every record was withdrawn: no item has enough owners to be published, with "
            f"k = {params.k} and min_owners = {params.required_owners}."
        )
    return tuple(warnings)
