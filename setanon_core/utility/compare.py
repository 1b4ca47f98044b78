"""The utility of a release, beside that of the original and of the paper's release.

Paper:      section 5.5, "Utility": "measure the impact of the anonymization on algorithms that
            actually use the dataset".
Guarantee:  held-out users take no part in what is anonymized. The same numbers for the same data,
            parameters and secret; no keyword and no user is among them.
Complexity: that of two releases; the measures themselves are O(W log W) for W words.
Deviation:  none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from setanon_core.errors import MalformedInputError
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import QueryRelease, SetRelease
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import anonymize_baskets
from setanon_core.pipeline.log import anonymize_log, threads_of_log
from setanon_core.utility.frequencies import TOPS, frequency_measures, set_counts, thread_counts
from setanon_core.utility.measured import Measured
from setanon_core.utility.query_texts import Texts, released_texts, split, typed_texts
from setanon_core.utility.refinements import refinement_measures
from setanon_core.utility.rules import Items, rule_measures
from setanon_core.utility.suggestions import suggestion_measures

PAPER_P: Final = 2
"""Min-Hashes of a cluster's key in the paper's release."""


def utility_of(
    queries: Log | Iterable[Sequence[Any]], params: ReleaseParams
) -> tuple[Measured, ...]:
    """Suggestions, refinements and keywords: of a log, of its release, and of the paper's.

    One in five users is held out before anything else is done, to be foretold from the others.
    Queries are published as queries, whatever `format` says.
    """
    log = queries if isinstance(queries, Log) else Log.from_rows(queries)
    kept, held_out = split(log)
    original = typed_texts(threads_of_log(kept, params))
    three = original, _released(kept, params), _released(kept, paper_params(params))
    counts = thread_counts(three[0]), thread_counts(three[1]), thread_counts(three[2])
    return (
        *suggestion_measures(three, typed_texts(threads_of_log(held_out, params))),
        *refinement_measures(three),
        *frequency_measures(counts, "keywords", "threads"),
    )


def utility_of_baskets(baskets: Baskets, params: ReleaseParams) -> tuple[Measured, ...]:
    """Association rules and items: of baskets, of their release, and of the paper's."""
    three = (
        basket_sets(baskets),
        _released_sets(baskets, params),
        _released_sets(baskets, paper_params(params)),
    )
    counts = set_counts(three[0]), set_counts(three[1]), set_counts(three[2])
    return (*rule_measures(three), *frequency_measures(counts, "items", "baskets", TOPS[:1]))


def paper_params(params: ReleaseParams) -> ReleaseParams:
    """The paper's way for the same k: its grouping with p = 2, and no `min_owners`."""
    return replace(params, method="paper", grouper=None, p=PAPER_P, min_owners=0)


def basket_sets(baskets: Baskets) -> list[Items]:
    """The items of each basket, as texts, sorted; the baskets in the order of their first rows."""
    if len(baskets.records) != len(baskets.items):
        raise MalformedInputError(
            f"every row must have a record and an item; got {len(baskets.records)} records and "
            f"{len(baskets.items)} items."
        )
    found: dict[Any, set[str]] = {}
    for record, item in zip(baskets.records, baskets.items, strict=True):
        found.setdefault(record, set()).add(str(item))
    return [tuple(sorted(own)) for own in found.values()]


def _released(log: Log, params: ReleaseParams) -> Texts:
    release, _, _ = anonymize_log(log, replace(params, format="queries"))
    return released_texts(cast("QueryRelease", release), params.tokenizer)


def _released_sets(baskets: Baskets, params: ReleaseParams) -> list[Items]:
    release, _, _ = anonymize_baskets(baskets, params)
    return list(cast("SetRelease", release).keywords)  # the only format of baskets
