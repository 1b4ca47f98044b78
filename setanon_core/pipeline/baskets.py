"""Anonymize baskets in memory: purchases, clicks, any sets with one row per item.

Paper:      section 1 names market baskets; they are the records of section 3.
Guarantee:  that of `build_release`.
Complexity: O(N log N) for N item occurrences, before the grouping.
Deviation:  none. Without users, every basket has its own user, as in the paper.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from setanon_core.attributes.encode import column_of_rows
from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.tables import Table
from setanon_core.columns.user_names import merge_spellings
from setanon_core.columns.users import distinct_users, encode_users, user_of_each_record
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.model.inputs import Baskets
from setanon_core.model.publication import ReleaseResult
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import (
    Combinations,
    GrouperName,
    Method,
    Operations,
    PublishedParams,
    ReleaseParams,
    UserNames,
)
from setanon_core.pipeline.build_release import build_release
from setanon_core.pipeline.build_threads import build_threads
from setanon_core.pipeline.group_threads import group_threads


def anonymize_baskets(  # noqa: PLR0913 - columns and parameters, keyword-only
    baskets: Baskets | Table,
    k: int,
    *,
    record: str = "record",
    item: str = "item",
    user: str | None = None,
    method: Method = "best",
    grouper: GrouperName | None = None,
    operations: Operations = "both",
    combinations: Combinations | None = None,
    min_owners: int | None = None,
    seed: int = 0,
    user_names: UserNames = "folded",
    p: int = 2,
    attributes: Sequence[str] = (),
    secret: bytes | None = None,
) -> ReleaseResult:
    """Group baskets, replace their sets by those of their groups, and verify the release.

    `baskets` is a table with one row per item (a pandas or Polars data frame, an Arrow table, a
    mapping of columns) or `Baskets`. `record`, `item` and `user` name the columns of a table;
    without `user`, every basket has its own user. `attributes` are further columns. The other
    parameters are those of `ReleaseParams`; a random secret is generated if none is passed.

    >>> table = {"record": [1, 1, 2, 2, 2], "item": ["tea", "milk", "milk", "tea", "rum"]}
    >>> result = anonymize_baskets(table, k=2)
    >>> result.release.keywords
    (('milk', 'tea'), ('milk', 'tea'))
    >>> result.cost.certificate.cost.deletions
    1
    """
    secret_option: dict[str, Any] = {} if secret is None else {"secret": secret}
    params = ReleaseParams(
        k=k,
        method=method,
        grouper=grouper,
        operations=operations,
        combinations=combinations,
        min_owners=min_owners,
        seed=seed,
        user_names=user_names,
        p=p,
        attributes=tuple(attributes),
        **secret_option,
    )
    columns = Baskets.from_data(
        baskets, record=record, item=item, user=user, attributes=params.attributes
    )
    return release_baskets(columns, params)


def release_baskets(baskets: Baskets, params: ReleaseParams) -> ReleaseResult:
    """Anonymize baskets with parameters that are checked already.

    `format` is always "sets"; the other parameters of queries (`identity`, `spelling`, `measure`,
    `tokenizer`) have no effect; another `unit` than the default is refused.
    """
    require_no_unit(params)
    params = replace(params, format="sets")
    threads = threads_of_baskets(baskets, params.user_names)
    result = group_threads(threads, params)
    return build_release(threads, result, params, constructor=baskets.constructor)


def require_no_unit(params: PublishedParams) -> None:
    """Refuse a unit of queries for baskets: each basket is one record."""
    if params.unit != "thread":
        raise InvalidParameterError("unit must be left out: baskets have no queries.")


def threads_of_baskets(baskets: Baskets, user_names: UserNames = "folded") -> Threads:
    """Every basket as a thread of one query, whose words are its items."""
    given = merge_spellings(baskets.users, user_names)
    record, names = encode_values(baskets.records, "record")
    word, items = encode_values(baskets.items)
    if len(record) != len(word):
        raise MalformedInputError(
            f"every row must have a record and an item; got {len(record)} records and "
            f"{len(word)} items."
        )
    order = np.argsort(record, kind="stable")
    offsets = offsets_of(np.bincount(record, minlength=len(names)))
    owner = np.arange(len(names))
    users: Sequence[Hashable] = names
    if given is not None:
        owner = user_of_each_record(encode_users(given, len(record)), record, len(names))
        users = distinct_users(given)
    typed = Queries(word[order], offsets, np.arange(len(names)))
    return build_threads(
        typed,
        _texts(items),
        owner,
        users,
        names=list(map(str, names)),
        attributes={
            name: column_of_rows(record, values) for name, values in baskets.attributes.items()
        },
    )


def _texts(items: Sequence[Hashable]) -> tuple[str, ...]:
    """The items as published; refuse different items with the same text form."""
    texts = tuple(map(str, items))
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "items must differ when written as text; some do not, such as a number and the same "
            "number as text. Convert all of them to text."
        )
    return texts
