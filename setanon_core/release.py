"""What is asked of a release, what it holds, and the last look at it before it leaves.

A release has thread ids and keywords or queries: no user, no time, no order of the input. What
ties it to users is the ledger, which is private.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b, shake_256
from itertools import groupby
from operator import itemgetter
from secrets import token_bytes
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from setanon_core.edits import Queries
from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_core.keywords import Identity, Tokenizer, keywords
from setanon_core.model import Certificate, Round, Verdict
from setanon_core.params import Params, check_choice, integer
from setanon_core.sets import Ints, changes
from setanon_core.similarity import EditDistance, Measure
from setanon_core.users import repeats
from setanon_core.verify import verify

Digests = npt.NDArray[np.uint8]
"""Thread ids as 16 bytes each, one row a thread."""

Spelling = Literal["common", "as_typed"]
Format = Literal["queries", "sets"]

IDENTITIES: Final[tuple[str, ...]] = get_args(Identity)
SPELLINGS: Final[tuple[str, ...]] = get_args(Spelling)
FORMATS: Final[tuple[str, ...]] = get_args(Format)

UNKEYED: Final = frozenset({"format", "measure", "secret", "spelling", "tokenizer"})
"""Parameters that do not change who is grouped with whom, or that have no text."""

MOST_HASHES: Final = 4
"""The largest p of section 5.2; beyond it hardly two threads share a key."""


@dataclass(frozen=True, slots=True)
class ReleaseParams(Params):
    """The knobs of `Params`, and those of the stages before and after the grouping."""

    p: int = 2
    """Min-Hashes of a cluster's key, with `method="paper"`; from 1 to 4."""

    identity: Identity = "exact"
    """Which keywords are one item: only the same, or those with the same Min-Hashes."""

    spelling: Spelling = "common"
    """How the keywords of an item are spelled: one way in each group, or each as it was typed."""

    format: Format = "queries"
    """What is published of a thread: its edited queries, or the set of its keywords."""

    measure: Measure = field(default_factory=EditDistance)
    """Which queries of a session belong to one thread."""

    tokenizer: Tokenizer = keywords
    """What cuts a query into keywords; it must leave its own keywords, joined by blanks, alone."""

    secret: bytes = field(default_factory=lambda: token_bytes(32), repr=False)
    """Key of the thread ids; fresh and random if none is given. Up to 64 bytes."""

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        Params.__post_init__(self)
        object.__setattr__(self, "p", integer("p", self.p))
        if not 1 <= self.p <= MOST_HASHES:
            raise InvalidParameterError(f"p must be from 1 to {MOST_HASHES}; got {self.p}.")
        check_choice("identity", self.identity, IDENTITIES)
        check_choice("spelling", self.spelling, SPELLINGS)
        check_choice("format", self.format, FORMATS)
        secret: object = self.secret
        if not (isinstance(secret, bytes) and 0 < len(secret) <= blake2b.MAX_KEY_SIZE):
            raise InvalidParameterError(f"secret must be 1 to {blake2b.MAX_KEY_SIZE} bytes.")


@dataclass(frozen=True, slots=True)
class QueryRelease:
    """Edited queries by thread id and position, in the order of the ids."""

    thread_ids: tuple[str, ...]
    positions: tuple[int, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetRelease:
    """The keywords of each thread, sorted, in the order of the ids."""

    thread_ids: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]


Release = QueryRelease | SetRelease


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """Private: the user of every published thread, and which of the user's threads it is."""

    thread_ids: tuple[str, ...]
    threads: tuple[int, ...]
    """The numbers of the threads before they had ids."""

    users: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """What it cost, in keywords of threads, and the certificate for all of them."""

    k: int
    threads: int
    keywords: int
    """Items of all threads: what could have been retained."""

    respellings: int
    certificate: Certificate
    rounds: tuple[Round, ...] = ()
    """What it cost after each round of the grouping."""

    @property
    def retained(self) -> float:
        """Share of the keywords that the cost has left."""
        return 1 - self.certificate.cost.total / max(self.keywords, 1)


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


def thread_ids(n: int, key: bytes) -> Digests:
    """So many ids, 16 bytes each: those of one hash of the key, which may be as long as we like."""
    return np.frombuffer(shake_256(key).digest(16 * n), np.uint8).reshape(-1, 16)


def order_of(ids: Digests) -> Ints:
    """The order of the ids, which is that of their hexadecimal digits."""
    # Two numbers of 64 bits, the first byte being the highest, sort as the bytes do.
    first, second = ids.view(">u8").T.astype(np.uint64)
    order = np.argsort(first)
    # The first numbers of random ids are as good as distinct.
    return order if changes(first[order]).all() else np.lexsort((second, first))


def refuse_lookalikes(texts: Sequence[str]) -> None:
    """Refuse users, or records, who would be one if they were written down."""
    if len(set(texts)) < len(texts):
        raise MalformedInputError(
            "users and records must differ when written as text; some do not, such as a number "
            "and the same number as text. Make them all text."
        )


def written(
    edited: Queries,
    vocabulary: Sequence[str],
    ids: Mapping[int, str],
    format: Format,  # noqa: A002 - the knob's name everywhere
) -> Release:
    """Threads by their ids, which tell nothing: their queries, or the sets of their keywords."""
    position = repeats(edited.threads).tolist()
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


def judge(release: Release, ledger: Ledger, params: ReleaseParams) -> Verdict:
    """Ask the verifier about the very texts of the release, cut into keywords once more."""
    held: dict[str, Collection[str]]
    if isinstance(release, SetRelease):
        held = dict(zip(release.thread_ids, release.keywords, strict=True))
    else:
        found: dict[str, set[str]] = {name: set() for name in ledger.thread_ids}
        for name, query in zip(release.thread_ids, release.queries, strict=True):
            # Texts in which nothing is found are not thereby alike.
            found[name].update(params.tokenizer(query) or [query])
        held = dict(found)
    users = dict(zip(ledger.thread_ids, ledger.users, strict=True))
    return verify(list(held.values()), params.k, [users[name] for name in held])


def refuse_exposure(verdict: Verdict, params: ReleaseParams) -> None:
    """Fail closed.

    What is spelled as typed may be looked at, and is for whoever publishes it to judge.
    """
    if params.spelling == "common" and not verdict.ok:
        raise NotAnonymousError(
            f"every published thread must share its keywords with k = {params.k} users; "
            f"{verdict.violations} do not. Nothing was returned. A tokenizer must find its own "
            "keywords again when they are joined by blanks."
        )
