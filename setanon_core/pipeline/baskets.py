"""Baskets in, a release with its ledger and its cost out: market data, clicks, any sets.

Paper:      section 1 names market baskets; they are the records of section 3 as they come.
Guarantee:  that of `pipeline`.
Complexity: O(N log N) for N item occurrences, before the grouping.
Deviation:  none. Without users every basket is a user of its own, as in the paper.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.users import distinct_users, encode_users
from setanon_core.errors import MalformedInputError
from setanon_core.model.inputs import Baskets
from setanon_core.model.publication import Ledger, Release, ReleaseCost
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.release_threads import build_release, group_threads, threads_from


def anonymize_baskets(
    baskets: Baskets, params: ReleaseParams
) -> tuple[Release, Ledger, ReleaseCost]:
    """Group baskets and publish their sets; verify, or refuse.

    Items are what they are: `format`, `identity`, `spelling`, `measure` and `tokenizer`, which
    are about queries, change nothing.

    >>> baskets = Baskets.from_lines(["tea milk", "milk tea", "tea milk rum"])
    >>> release, _, cost = anonymize_baskets(baskets, ReleaseParams(k=3))
    >>> set(release.keywords), cost.certificate.cost.deletions
    ({('milk', 'tea')}, 1)
    """
    asked = replace(params, format="sets")
    threads = threads_of_baskets(baskets)
    return build_release(threads, group_threads(threads, asked), asked)


def threads_of_baskets(baskets: Baskets) -> Threads:
    """Every basket as a thread of one query, whose words are its items."""
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
    if baskets.users is not None:
        user = encode_users(baskets.users, len(record))
        owner[record] = user
        torn = len(np.unique(record[owner[record] != user]))
        if torn:
            raise MalformedInputError(
                f"every record must have one user; {torn} have several. "
                "Give the baskets of different users different records."
            )
        users = distinct_users(baskets.users)
    typed = Queries(word[order], offsets, np.arange(len(names)))
    return threads_from(typed, _as_texts(items), owner, users, names=list(map(str, names)))


def _as_texts(items: Sequence[Hashable]) -> tuple[str, ...]:
    """Items as they are published, if that tells them apart."""
    texts = tuple(map(str, items))
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "items must differ when written as text; some do not, such as a number and the same "
            "number as text. Make them all text."
        )
    return texts
