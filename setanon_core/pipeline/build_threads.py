"""Threads with their keywords and records, from tokenized queries (section 5.3)."""

from collections.abc import Hashable, Mapping, Sequence

from setanon_core.attributes.encode import AttributeColumn, encode_attributes
from setanon_core.columns.arrays import Ints
from setanon_core.errors import MalformedInputError
from setanon_core.keywords.encode_threads import encode_threads
from setanon_core.keywords.identity import items_of
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import Identity


def build_threads(  # noqa: PLR0913 - the columns of a tokenized log
    typed: Queries,
    vocabulary: Sequence[str],
    owner: Ints,
    users: Sequence[Hashable],
    *,
    names: Sequence[str] | None = None,
    identity: Identity = "exact",
    attributes: Mapping[str, AttributeColumn] | None = None,
) -> Threads:
    """Number the items, count the owners of keywords, and build one record per thread.

    `typed` are keyword numbers, sorted by thread; every keyword of the vocabulary is used. `owner`
    has the position in `users` of each thread's user. Without `names`, a thread is identified by
    its user and its position among that user's threads.
    """
    require_distinct_texts(list(map(str, users)))
    require_distinct_texts(names or ())
    keywords, records = encode_threads(typed, vocabulary, items_of(vocabulary, identity), owner)
    # Records number the users by first appearance.
    in_order = [users[user] for user in dict.fromkeys(owner.tolist())]
    values = encode_attributes(attributes, records.users) if attributes else None
    return Threads(typed, keywords, records, in_order, names, values)


def require_distinct_texts(texts: Sequence[str]) -> None:
    """Refuse users, or records, that have the same text form."""
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "users and records must differ when written as text; some do not, such as a number "
            "and the same number as text. Convert all of them to text."
        )
