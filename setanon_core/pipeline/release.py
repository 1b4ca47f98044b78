"""What is asked of a release, what it holds, and the last look at it before it leaves.

A release has thread ids and keywords or queries: no user, no time, no order of the input. What
ties it to users is the ledger, which is private.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b, shake_256
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, earlier_occurrences, run_starts
from setanon_core.errors import MalformedInputError, NotAnonymousError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.publication import Ledger, QueryRelease, Release, SetRelease, ThreadIds
from setanon_core.model.queries import Queries
from setanon_core.model.verdict import Verdict
from setanon_core.params import Format, ReleaseParams
from setanon_core.verify import verify

UNKEYED: Final = frozenset({"format", "measure", "secret", "spelling", "tokenizer"})
"""Parameters that do not change who is grouped with whom, or that have no text."""


def release_key(params: ReleaseParams, fingerprint: bytes) -> bytes:
    """The key of one release's ids: another for any other data, or other parameters.

    Under the secret itself a thread would have the same id in every release, and tie together what
    each of them keeps apart. Formats and spellings of the same groups may be tied together.
    """
    told = [
        (field.name, getattr(params, field.name))
        for field in fields(params)
        if field.name not in UNKEYED
    ]
    return blake2b(repr(told).encode() + fingerprint, key=params.secret, digest_size=32).digest()


def thread_ids(n: int, key: bytes) -> ThreadIds:
    """So many ids, 16 bytes each: those of one hash of the key, which may be as long as we like."""
    return np.frombuffer(shake_256(key).digest(16 * n), np.uint8).reshape(-1, 16)


def id_order(ids: ThreadIds) -> Ints:
    """The order of the ids, which is that of their hexadecimal digits."""
    # Two numbers of 64 bits, the first byte being the highest, sort as the bytes do.
    first, second = ids.view(">u8").T.astype(np.uint64)
    order = np.argsort(first)
    # The first numbers of random ids are as good as distinct.
    return order if run_starts(first[order]).all() else np.lexsort((second, first))


def require_distinct_texts(texts: Sequence[str]) -> None:
    """Refuse users, or records, who would be one if they were written down."""
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "users and records must differ when written as text; some do not, such as a number "
            "and the same number as text. Make them all text."
        )


def format_release(
    edited: Queries,
    vocabulary: Sequence[str],
    ids: Mapping[int, str],
    format: Format,  # noqa: A002 - the knob's name everywhere
) -> Release:
    """Threads by their ids, which tell nothing: their queries, or the sets of their keywords."""
    position = earlier_occurrences(edited.threads).tolist()
    rows = sorted(
        (ids[thread], place, [vocabulary[word] for word in query])
        for place, (thread, query) in zip(position, edited.lists(), strict=True)
    )
    if format == "sets":
        sets = {
            name: tuple(sorted({word for _, _, query in own for word in query}))
            for name, own in groupby(rows, key=itemgetter(0))
        }
        return SetRelease(tuple(sets), tuple(sets.values()))
    return QueryRelease(
        tuple(name for name, _, _ in rows),
        tuple(place for _, place, _ in rows),
        tuple(" ".join(query) for _, _, query in rows),
    )


def verify_release(release: Release, ledger: Ledger, params: ReleaseParams) -> Verdict:
    """Ask the verifier about the very texts of the release, cut into keywords once more."""
    tokenizer = params.tokenizer or tokenize
    held: dict[str, Collection[str]]
    if isinstance(release, SetRelease):
        held = dict(zip(release.thread_ids, release.keywords, strict=True))
    else:
        found: dict[str, set[str]] = {name: set() for name in ledger.thread_ids}
        for name, query in zip(release.thread_ids, release.queries, strict=True):
            # Texts in which nothing is found are not thereby alike.
            found[name].update(tokenizer(query) or [query])
        held = dict(found)
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    return verify(list(held.values()), params.k, [users[name] for name in held])


def require_anonymous(verdict: Verdict, params: ReleaseParams) -> None:
    """Fail closed.

    What is spelled as typed may be looked at, and is for whoever publishes it to judge.
    """
    if params.spelling == "common" and not verdict.ok:
        raise NotAnonymousError(
            f"every published thread must share its keywords with k = {params.k} users; "
            f"{verdict.violations} do not. Nothing was returned. A tokenizer must find its own "
            "keywords again when they are joined by blanks."
        )
