"""Prepare very many records for the grouping in places: strip them, sort them, narrow the columns.

Paper:      none.
Guarantee:  that of `strip`; the order does not depend on the order of the input.
Complexity: O(N log N) for N item occurrences; about 25 bytes per record remain. With
            `combinations="typed"`, the input remains, too.
Deviation:  the canonical order is by hashes of the contents, not by ranks.
"""

from dataclasses import dataclass, replace

import numpy as np

from setanon_core.columns.arrays import Ints, Keys, mix64
from setanon_core.columns.narrow import narrow, narrow_records, number_by_appearance
from setanon_core.columns.records import Records
from setanon_core.grouping.strip import Stripped, strip
from setanon_core.params import Params
from setanon_core.partition.content_hashes import set_hashes
from setanon_core.partition.parts import ranges


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PreparedRecords:
    """What remains to be grouped of very many records, in canonical order and narrow columns."""

    stripped: Stripped
    """The records, with their positions in the input."""

    owners: Ints
    """Owners of each item in the complete input."""

    n_records: int
    """Records of the input."""

    n_users: int
    """Users of the input."""

    digests: Keys
    """A hash of all sets of each user before items were removed."""

    typed: Records | None
    """The input, if sets that are not typed must be refused."""


def prepare_records(records: Records, params: Params, owners: Ints) -> PreparedRecords:
    """Strip and sort the records; the caller need not keep them."""
    stripped = strip(records, params, owners)
    stripped = replace(
        stripped,
        records=narrow_records(stripped.records),
        positions=narrow(stripped.positions, len(records)),
    )
    keys, of_user = _content_keys(records, stripped.positions)
    order = np.argsort(keys, kind="stable")
    order = narrow(order, len(order))
    del keys  # large
    kept, positions = stripped.records, stripped.positions[order]
    users = kept.users[order]
    ordered = Records.from_checked_sets(
        kept.take(order), number_by_appearance(users, _user_limit(records))
    )
    digests: Keys = np.zeros(_user_limit(ordered), np.uint64)
    for part in ranges(len(users)):
        digests[ordered.users[part]] = of_user[users[part]]
    return PreparedRecords(
        stripped=replace(stripped, records=narrow_records(ordered), positions=positions),
        owners=owners,
        n_records=len(records),
        n_users=records.n_users,
        digests=digests,
        typed=records if params.combinations == "typed" else None,
    )


def _content_keys(records: Records, positions: Ints) -> tuple[Keys, Keys]:
    """A hash of each record's items and of all sets of its user; a hash of all sets of each user.

    Collision probability of two records that differ: 2^-64 per pair.
    """
    keys: Keys = np.empty(len(positions), np.uint64)
    of_user: Keys = np.zeros(_user_limit(records), np.uint64)
    for part in ranges(len(positions)):
        # By the items before stripping: records that differ in stripped items are not equal.
        keys[part] = set_hashes(records.take(positions[part]))
        np.add.at(of_user, records.users[positions[part]], mix64(keys[part]))
    for part in ranges(len(positions)):
        keys[part] = mix64(keys[part] + mix64(of_user[records.users[positions[part]]]))
    return keys, of_user


def _user_limit(records: Records) -> int:
    return int(records.users.max(initial=-1)) + 1
