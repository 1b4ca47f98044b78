"""Anonymize a collection of sets with one call."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from setanon_core.columns.records import Records
from setanon_core.columns.tables import is_table
from setanon_core.columns.user_names import merge_spellings
from setanon_core.errors import MalformedInputError
from setanon_core.model.groups import Anonymized
from setanon_core.params import Combinations, GrouperName, Method, Operations, Params, UserNames
from setanon_core.pipeline.group_records import anonymize_records


def anonymize(  # noqa: PLR0913 - the parameters, keyword-only
    records: Records | Iterable[Collection[Hashable]],
    k: int,
    *,
    users: Sequence[Hashable] | None = None,
    method: Method = "best",
    grouper: GrouperName | None = None,
    operations: Operations = "both",
    combinations: Combinations | None = None,
    min_owners: int | None = None,
    seed: int = 0,
    user_names: UserNames = "folded",
) -> Anonymized:
    """Replace every record's set by a set shared by at least k users, with few changes.

    `records` is an iterable of collections of hashable items, a column of lists (a pandas or
    Polars Series, an Arrow array), or `Records`. `users` has the user of each record; without it,
    every record has its own user. The result depends neither on the names of users nor on the
    order of the input, except for users whose records have the same sets: of these, the first in
    the input is grouped first. The other parameters are those of `Params`.

    >>> result = anonymize([{"e1", "e2", "e3"}, {"e1", "e2"}, {"e1", "e3"}], k=2)
    >>> result
    Anonymized(3 records, 1 groups, 0 withdrawn, cost 2)
    >>> [sorted(record) for record in result.records]
    [['e1', 'e2', 'e3'], ['e1', 'e2', 'e3'], ['e1', 'e2', 'e3']]
    >>> result.cost.additions, result.cost.deletions
    (2, 0)
    """
    params = Params(k, method, grouper, operations, combinations, min_owners, seed, user_names)
    merged = merge_spellings(users, params.user_names)
    result = anonymize_records(_read_records(records, merged), params)
    if _is_series(records):
        return replace(result, constructor=type(records.to_frame()))  # type: ignore[union-attr]
    return result


def _read_records(
    records: Records | Iterable[Collection[Hashable]], users: Sequence[Hashable] | None
) -> Records:
    if isinstance(records, Records):
        if users is not None:
            raise MalformedInputError(
                "users must not be passed with Records, which have users already. "
                "Pass them to Records.from_columns."
            )
        data = records
    elif hasattr(records, "dictionary_encode"):  # an Arrow column
        data = Records.from_arrow(records, users)
    else:
        # Iterating over a table would read its column names as records.
        if is_table(records) or not isinstance(records, Iterable):
            raise MalformedInputError(
                "records must be an iterable of collections of items; got a value of type "
                f"{type(records).__name__}. Pass one column of lists, or use anonymize_baskets "
                "for a table with one item per row."
            )
        if users is not None and not _is_sequence(users):
            raise MalformedInputError(
                "users must be a sequence with one user for each record; got a value of type "
                f"{type(users).__name__}. Convert it to a list."
            )
        data = Records.from_sets(_lists(records) if _is_series(records) else records, users)
    if len(data) == 0:
        raise MalformedInputError("records must have at least one record; got none.")
    return data


def _is_series(records: object) -> bool:
    return hasattr(records, "to_list") and hasattr(records, "to_frame")


def _lists(series: Any) -> Iterable[Collection[Hashable]]:  # noqa: ANN401 - duck-typed Series
    """The lists of a Series, with plain Python values instead of NumPy scalars."""
    return (
        items.tolist() if isinstance(items, np.ndarray) else items for items in series.to_list()
    )


def _is_sequence(users: object) -> bool:
    """Whether users are ordered: sets and mappings are not."""
    if isinstance(users, np.ndarray):
        return users.ndim == 1
    return hasattr(users, "__getitem__") and not isinstance(users, Mapping | str | bytes)
