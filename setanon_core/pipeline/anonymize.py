"""Anonymize a collection of sets with one call."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from setanon_core.columns.read_records import read_records
from setanon_core.columns.records import Records
from setanon_core.columns.tables import Table
from setanon_core.model.groups import Anonymized
from setanon_core.params import Combinations, GrouperName, Method, Operations, Params, UserNames
from setanon_core.pipeline.group_records import anonymize_records


def anonymize(  # noqa: PLR0913 - the parameters, keyword-only
    records: Records | Table | Iterable[Collection[Hashable]],
    k: int,
    *,
    users: Sequence[Hashable] | None = None,
    record: str | None = None,
    item: str | None = None,
    user: str | None = None,
    method: Method = "best",
    grouper: GrouperName | None = None,
    operations: Operations = "both",
    combinations: Combinations | None = None,
    min_owners: int | None = None,
    seed: int = 0,
    user_names: UserNames = "folded",
) -> Anonymized:
    """Replace every record's set by a set shared by at least k users, with few changes.

    `records` is one of:

    - an iterable of collections of hashable items, or `Records`;
    - a column of lists: a pandas or Polars Series, an Arrow array;
    - a table with one row per item (a pandas or Polars data frame, an Arrow table, a mapping of
      columns), if `record` and `item` name its columns; `user` names the column of users;
    - a one-hot table or matrix: one row per record, one column per item, with values 0 and 1 or
      booleans. The items are the names of the columns, or the numbers of the columns of a NumPy
      array or of a sparse matrix of SciPy; `user` names a column that is not an item.

    `users` has the user of each record, by position; without users, every record has its own
    user. The result depends neither on the names of users nor on the order of the input, except
    for users whose records have the same sets: of these, the first in the input is grouped first.
    The other parameters are those of `Params`.

    >>> result = anonymize([{"e1", "e2", "e3"}, {"e1", "e2"}, {"e1", "e3"}], k=2)
    >>> result
    Anonymized(3 records, 1 groups, 0 withdrawn, cost 2)
    >>> [sorted(record) for record in result.records]
    [['e1', 'e2', 'e3'], ['e1', 'e2', 'e3'], ['e1', 'e2', 'e3']]
    >>> result.cost.additions, result.cost.deletions
    (2, 0)
    >>> table = {"basket": [1, 1, 2], "item": ["tea", "rum", "tea"], "card": ["ann", "ann", "bob"]}
    >>> anonymize(table, k=2, record="basket", item="item", user="card").to_frame()
    {'record': [0, 1], 'item': ['tea', 'tea']}
    """
    params = Params(k, method, grouper, operations, combinations, min_owners, seed, user_names)
    source = read_records(
        records, users=users, record=record, item=item, user=user, user_names=params.user_names
    )
    result = anonymize_records(source.records, params)
    return replace(
        result,
        layout=source.layout,
        constructor=source.constructor,
        item_columns=source.columns_of(result.vocabulary),
        n_columns=source.n_columns,
    )
