"""Keyed 64-bit hashes of users, items, and pairs of both: equal in all parts of a series.

Guarantee:  equal names have equal hashes. Two users with one hash (probability 2^-64 per pair)
            count as one, which can only lower a count; two items with one hash share their owners.
Complexity: one hash per distinct name or pair.
"""

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Keys
from setanon_core.columns.user_names import fold_name
from setanon_core.errors import MalformedInputError
from setanon_core.params import UserNames

HASH_BYTES: Final = 8

Names = tuple[str | int, ...]
"""Users or items."""


def checked_names(names: Iterable[Hashable], what: str) -> Names:
    """The names as plain text and integers, which are equal in every process and can be stored."""
    return tuple(_checked(name, what) for name in names)


def user_hashes(users: Iterable[Hashable], user_names: UserNames, secret: bytes) -> Keys:
    """The hash of the user of each record; all spellings of one user have one hash."""
    names = checked_names(users, "user")
    number: dict[str | int, int] = {}
    rows = [number.setdefault(name, len(number)) for name in names]
    folded = (fold_name(name, user_names) if isinstance(name, str) else name for name in number)
    hashes = _hash_all(map(_encoded, folded), secret, b"user")
    return hashes[np.array(rows, np.int64)]


def own_user_hashes(first: int, n: int, secret: bytes) -> Keys:
    """The hashes of the users of n records from number `first`: each record has its own user."""
    return _hash_all((b"r%d" % number for number in range(first, first + n)), secret, b"user")


def item_hashes(items: Iterable[str | int], secret: bytes) -> Keys:
    """The hash of each item."""
    return _hash_all(map(_encoded, items), secret, b"item")


def pair_hashes(items: Keys, users: Keys, secret: bytes) -> Keys:
    """The hash of each pair of an item and a user, which reveals neither without the secret."""
    pairs = np.stack((items, users), axis=1).astype("<u8").tobytes()
    width = 2 * HASH_BYTES
    parts = (pairs[low : low + width] for low in range(0, len(pairs), width))
    return _hash_all(parts, secret, b"pair")


def _hash_all(names: Iterable[bytes], secret: bytes, kind: bytes) -> Keys:
    keyed = blake2b(key=secret, digest_size=HASH_BYTES, person=kind)
    digests = []
    for name in names:
        each = keyed.copy()  # the key is hashed once
        each.update(name)
        digests.append(each.digest())
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _encoded(name: str | int) -> bytes:
    return b"i%d" % name if isinstance(name, int) else b"s" + name.encode("utf-8", "surrogatepass")


def _checked(name: Hashable, what: str) -> str | int:
    if isinstance(name, str):
        return str(name)
    # True equals 1, but is hardly a name.
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return int(name)
    raise MalformedInputError(
        f"every {what} of a series must be text or an integer; got a value of type "
        f"{type(name).__name__}. Convert it to text."
    )
