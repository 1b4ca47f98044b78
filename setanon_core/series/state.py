r"""The state of a series as bytes, version 1.

    b"setanon series 1\n"
    32 bytes     BLAKE2b digest of the line above and all that follows, keyed with the secret
    8 bytes      length of the header
    header       JSON: params, counts, the vocabulary of the waiting records, lengths of the columns
    columns      8-byte integers, little-endian, in the order of `_COLUMNS`

The state is private: it has the items of waiting records, and keyed hashes of users.

Guarantee:  equal states give equal bytes. Bytes that were shortened, extended or changed, or that
            were made with another secret, are refused. An older state of the same series is not
            recognized: restored, it publishes again what was published since.
Complexity: linear in the state.
"""

import hmac
import json
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.sets import Sets
from setanon_core.errors import MalformedInputError
from setanon_core.params import SeriesParams
from setanon_core.series.owners import Owners
from setanon_core.series.waiting import Waiting

NAME: Final = b"setanon series "
FIRST_LINE: Final = NAME + b"1\n"
DIGEST_BYTES: Final = 32
NUMBER_BYTES: Final = 8


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """All that the next part depends on."""

    params: SeriesParams
    waiting: Waiting
    owners: Owners
    parts: int
    """Parts added so far."""

    arrived: int
    """Records that arrived so far; the number of the next record."""

    published: int
    withdrawn: int

    def __repr__(self) -> str:
        """Counts only."""
        return f"State({self.parts} parts, {self.waiting!r}, {self.owners!r})"


def write_state(state: State) -> bytes:
    """The state as bytes."""
    waiting, owners = state.waiting, state.owners
    columns = {
        "sizes": waiting.sets.sizes,
        "items": waiting.sets.items,
        "users": waiting.users,
        "arrived": waiting.arrived,
        "numbers": waiting.numbers,
        "known_items": owners.known,
        "rare_items": owners.items,
        "rare_pairs": owners.pairs,
    }
    header = {
        "params": {
            field.name: getattr(state.params, field.name)
            for field in fields(state.params)
            if field.name != "secret"
        },
        "parts": state.parts,
        "arrived": state.arrived,
        "published": state.published,
        "withdrawn": state.withdrawn,
        "vocabulary": waiting.vocabulary,
        "columns": {name: len(column) for name, column in columns.items()},
    }
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    body = b"".join(
        [
            len(text).to_bytes(NUMBER_BYTES, "little"),
            text,
            *(column.astype(_TYPES[name]).tobytes() for name, column in columns.items()),
        ]
    )
    return FIRST_LINE + _digest(body, state.params.secret) + body


def read_state(state: bytes, secret: bytes) -> State:
    """The state that these bytes describe; refuse all other bytes."""
    if not isinstance(state, bytes | bytearray | memoryview):
        raise MalformedInputError(
            f"the state of a series must be bytes; got a value of type {type(state).__name__}. "
            "Pass what to_bytes returned."
        )
    state = bytes(state)
    if not state.startswith(FIRST_LINE):
        raise MalformedInputError(_other_first_line(state))
    start = len(FIRST_LINE)
    digest, body = state[start : start + DIGEST_BYTES], state[start + DIGEST_BYTES :]
    if not hmac.compare_digest(digest, _digest(body, secret)):
        raise MalformedInputError(
            "the state of a series must be complete, unchanged, and made with the same secret; its "
            "digest does not match. Pass the bytes of the last part, and the secret of the series."
        )
    return _decoded(body, secret)


_TYPES: Final = {
    "sizes": "<i8",
    "items": "<i8",
    "users": "<u8",
    "arrived": "<i8",
    "numbers": "<i8",
    "known_items": "<u8",
    "rare_items": "<u8",
    "rare_pairs": "<u8",
}


def _decoded(body: bytes, secret: bytes) -> State:
    """Decode bytes whose digest is right: they were written by `write_state`."""
    first = NUMBER_BYTES + int.from_bytes(body[:NUMBER_BYTES], "little")
    header: dict[str, Any] = json.loads(body[NUMBER_BYTES:first])
    columns = {}
    for name, dtype in _TYPES.items():
        column = np.frombuffer(body, dtype, header["columns"][name], first)
        columns[name] = column.astype(np.dtype(dtype).newbyteorder("="))
        first += column.nbytes
    params = SeriesParams(**header["params"], secret=secret)
    waiting = Waiting(
        Sets(columns["items"], offsets_of(columns["sizes"])),
        tuple(header["vocabulary"]),
        columns["users"],
        columns["arrived"],
        columns["numbers"],
    )
    owners = Owners(
        params.required_owners,
        columns["known_items"],
        columns["rare_items"],
        columns["rare_pairs"],
    )
    counts = (header[name] for name in ("parts", "arrived", "published", "withdrawn"))
    return State(params, waiting, owners, *counts)


def _digest(body: bytes, secret: bytes) -> bytes:
    digest = blake2b(FIRST_LINE, key=secret, digest_size=DIGEST_BYTES, person=b"state")
    digest.update(body)
    return digest.digest()


def _other_first_line(state: bytes) -> str:
    if state.startswith(NAME) and state[len(NAME) : len(NAME) + 1].isdigit():
        return (
            "the state of a series must have version 1; these bytes have another. Use the version "
            "of setanon that wrote them."
        )
    return (
        f"the state of a series must begin with {FIRST_LINE.decode().strip()!r}; these bytes do "
        "not. Pass what to_bytes returned."
    )
