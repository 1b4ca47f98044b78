"""Compare the utility of the original, of its release and of the paper's release.

Paper:      section 5.5, "Utility": "measure the impact of the anonymization on algorithms that
            actually use the dataset".
Guarantee:  queries of held-out users are not anonymized. Values depend only on the data and the
            parameters, not on the secret; they contain no keyword and no user.
Complexity: that of two releases; the measures are O(W log W) for W words.
Deviation:  none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Unpack, cast

from setanon_core.columns.tables import Table
from setanon_core.errors import MalformedInputError
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import QueryRelease, SetRelease
from setanon_core.params import Format, ReleaseParams
from setanon_core.pipeline.baskets import release_baskets
from setanon_core.pipeline.log import release_log, threads_of_log
from setanon_core.pipeline.sweep import ReleaseOptions, read_input
from setanon_core.utility.frequencies import (
    TOP_SIZES,
    frequency_measures,
    set_counts,
    thread_counts,
)
from setanon_core.utility.measures import Utility, UtilityMeasure, Versions
from setanon_core.utility.query_texts import (
    QueryTexts,
    released_texts,
    split_users,
    typed_texts,
)
from setanon_core.utility.refinements import refinement_measures
from setanon_core.utility.rules import Items, rule_measures
from setanon_core.utility.suggestions import suggestion_measures

PAPER_P: Final = 2
"""Min-Hashes of a cluster's key in the paper's release."""


def utility_of(  # noqa: PLR0913 - the columns, keyword-only
    data: Log | Baskets | Table | Iterable[Sequence[Any]],
    k: int,
    *,
    user: str | None = None,
    time: str = "time",
    query: str = "query",
    record: str = "record",
    item: str | None = None,
    **params: Unpack[ReleaseOptions],
) -> Utility:
    """Measure the utility of the original, of its release, and of the paper's release.

    `data` is what `anonymize_log` or `anonymize_baskets` takes; a table is read as baskets if
    `item` names its column of items, else as a log. `params` are those of `ReleaseParams`.
    Nothing is released.

    >>> log = {"user": range(9), "time": range(9), "query": ["tea pot"] * 9}
    >>> utility = utility_of(log, k=3)
    >>> utility.measures[-4].name, utility.measures[-4].release
    ('keywords: rank correlation', 1.0)
    """
    options = ReleaseParams(k, **params)
    source = read_input(data, user=user, time=time, query=query, record=record, item=item)
    if isinstance(source, Baskets):
        measures = measure_baskets(source, options)
    else:
        measures = measure_log(source, options)
    return Utility(measures, constructor=source.constructor)


def measure_log(log: Log, params: ReleaseParams) -> tuple[UtilityMeasure, ...]:
    """Suggestions, refinements and keyword frequencies of a log and its releases.

    One in five users is held out first; their queries are predicted from those of the others.
    Queries are released as queries, whatever `format` is.
    """
    kept, held_out = split_users(log)
    texts = Versions(
        typed_texts(threads_of_log(kept, params)),
        _release_texts(kept, params),
        _release_texts(kept, paper_params(params)),
    )
    return (
        *suggestion_measures(texts, typed_texts(threads_of_log(held_out, params))),
        *refinement_measures(texts),
        *frequency_measures(texts.map(thread_counts), "keywords", "threads"),
    )


def measure_baskets(baskets: Baskets, params: ReleaseParams) -> tuple[UtilityMeasure, ...]:
    """Association rules and item frequencies of baskets and their releases."""
    sets: Versions[Sequence[Items]] = Versions(
        basket_sets(baskets),
        _release_sets(baskets, params),
        _release_sets(baskets, paper_params(params)),
    )
    counts = sets.map(set_counts)
    return (*rule_measures(sets), *frequency_measures(counts, "items", "baskets", TOP_SIZES[:1]))


def paper_params(params: ReleaseParams) -> ReleaseParams:
    """The paper's method for the same k: p = 2, no `min_owners`, each thread's own queries."""
    return replace(
        params,
        method="paper",
        grouper=None,
        p=PAPER_P,
        min_owners=0,
        combinations="any",
        format="edited",
    )


def basket_sets(baskets: Baskets) -> list[Items]:
    """The items of each basket as sorted texts; baskets in the order of their first rows."""
    if len(baskets.records) != len(baskets.items):
        raise MalformedInputError(
            f"every row must have a record and an item; got {len(baskets.records)} records and "
            f"{len(baskets.items)} items."
        )
    sets: dict[Any, set[str]] = {}
    for record, item in zip(baskets.records, baskets.items, strict=True):
        sets.setdefault(record, set()).add(str(item))
    return [tuple(sorted(items)) for items in sets.values()]


def _release_texts(log: Log, params: ReleaseParams) -> QueryTexts:
    result = release_log(log, replace(params, format=_queries_format(params)))
    return released_texts(cast("QueryRelease", result.release), params.tokenizer)


def _queries_format(params: ReleaseParams) -> Format:
    """The format of the measured queries: texts of queries are needed even for `sets`."""
    if params.format != "sets":
        return params.format
    return "edited" if params.spelling == "as_typed" else "queries"


def _release_sets(baskets: Baskets, params: ReleaseParams) -> list[Items]:
    release = cast("SetRelease", release_baskets(baskets, params).release)
    return list(release.keywords)
