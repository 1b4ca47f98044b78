"""The cost of a release for several values of k, without a release."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypedDict, Unpack

from setanon_core.columns.tables import Table
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import Sweep
from setanon_core.params import (
    Combinations,
    Format,
    GrouperName,
    Identity,
    Method,
    Operations,
    ReleaseParams,
    SimilarityMeasure,
    Spelling,
    Tokenizer,
    Unit,
    UserNames,
)
from setanon_core.pipeline.baskets import require_no_unit, threads_of_baskets
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_core.ranges import check_k

DEFAULT_KS: Final = range(2, 21)


class ReleaseOptions(TypedDict, total=False):
    """The parameters of `ReleaseParams` except k, as keyword arguments."""

    method: Method
    grouper: GrouperName | None
    operations: Operations
    combinations: Combinations | None
    min_owners: int | None
    seed: int
    user_names: UserNames
    p: int
    identity: Identity
    spelling: Spelling
    unit: Unit
    format: Format
    attributes: tuple[str, ...]
    measure: SimilarityMeasure | None
    tokenizer: Tokenizer | None
    secret: bytes


def sweep(  # noqa: PLR0913 - the columns, keyword-only
    data: Log | Baskets | Table | Iterable[Sequence[Any]],
    k: int | Iterable[int] = DEFAULT_KS,
    *,
    user: str | None = None,
    time: str = "time",
    query: str = "query",
    record: str = "record",
    item: str | None = None,
    **params: Unpack[ReleaseOptions],
) -> Sweep:
    """The cost of a release for each k; nothing is released.

    `data` is what `anonymize_log` or `anonymize_baskets` takes; a table is read as baskets if
    `item` names its column of items, else as a log. `params` are those of `ReleaseParams`.

    >>> log = {"user": [1, 2, 3], "time": [1, 1, 1], "query": ["tea", "tea", "tea rum"]}
    >>> sweep(log, k=[2, 3]).to_frame()["retained"]
    [0.75, 0.75]
    """
    ks = [check_k(each) for each in (k if isinstance(k, Iterable) else [k])]
    options = ReleaseParams(min(ks, default=2), **params)
    source = read_input(
        data,
        user=user,
        time=time,
        query=query,
        record=record,
        item=item,
        attributes=options.attributes,
    )
    if isinstance(source, Baskets):
        require_no_unit(options)
        threads = threads_of_baskets(source, options.user_names)
    else:
        threads = threads_of_log(source, options)
    return Sweep(tuple(sweep_threads(threads, options, ks)), constructor=source.constructor)


def read_input(  # noqa: PLR0913 - the columns, keyword-only
    data: Log | Baskets | Table | Iterable[Sequence[Any]],
    *,
    user: str | None,
    time: str,
    query: str,
    record: str,
    item: str | None,
    attributes: Sequence[str] = (),
) -> Log | Baskets:
    """Read baskets if `item` names a column or the data are `Baskets`, else a log."""
    if isinstance(data, Baskets):
        return data
    if item is not None and not isinstance(data, Log):
        return Baskets.from_data(data, record=record, item=item, user=user, attributes=attributes)
    name = "user" if user is None else user
    return Log.from_data(data, user=name, time=time, query=query, attributes=attributes)
