"""The data set as columns, so that millions of records pass without a Python object each.

Legend, after the paper: D is the data set, S_i a record, U the universe of items, e_j an item,
n records, m items, G a group, k the number of users that must share a set.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from setanon_core.columns.encode import (
    arrow_lists,
    checked_vocabulary,
    encode_arrow,
    encode_users,
    encode_values,
    sorted_vocabulary,
)
from setanon_core.columns.sets import (
    Ints,
    Sets,
    check_range,
    freeze,
    integer_column,
    offsets_of,
    rows_of,
    sorted_unique,
)
from setanon_core.errors import MalformedInputError

__all__ = ["Ints", "Records", "Sets"]


@dataclass(frozen=True, eq=False)
class Records(Sets):
    """The data set D: sets, the user of each, and the vocabulary that names the items.

    `users` are numbers; whoever names them keeps the names.
    """

    users: Ints
    vocabulary: tuple[Hashable, ...] = ()

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show an item or a user."""
        return f"Records({len(self)} records, {self.n_users} users, {self.width} items)"

    def __post_init__(self) -> None:
        """Check the columns against each other, then freeze them."""
        super().__post_init__()
        freeze(self, "users")
        check_range("users", self.users)
        if len(self.users) != len(self):
            raise MalformedInputError(
                f"users must name one user for each record; got {len(self.users)} users "
                f"for {len(self)} records."
            )
        if self.vocabulary and self.width > len(self.vocabulary):
            raise MalformedInputError(
                f"items must be positions in the vocabulary of {len(self.vocabulary)}; "
                f"the largest is {self.width - 1}."
            )

    @cached_property
    def n_users(self) -> int:
        """How many distinct users there are."""
        return len(sorted_unique(self.users))

    def subset(self, positions: Ints) -> "Records":
        """The records at `positions`, in that order, with their users."""
        return Records.of_sets(self.take(positions), self.users[positions], self.vocabulary)

    def without_vocabulary(self) -> "Records":
        """The same without the vocabulary, which may be large: to be sent elsewhere."""
        return Records.of_sets(self, self.users)

    @property
    def sets(self) -> Sets:
        """The sets alone, without users."""
        return Sets.unchecked(items=self.items, offsets=self.offsets)

    @classmethod
    def of_sets(cls, sets: Sets, users: Ints, vocabulary: tuple[Hashable, ...] = ()) -> "Records":
        """Sets that were checked, with checked numbers of users that nobody will write to."""
        return Records.unchecked(
            items=sets.items, offsets=sets.offsets, users=users, vocabulary=vocabulary
        )

    @classmethod
    def from_sets(
        cls, sets: Iterable[Collection[Hashable]], users: Sequence[Hashable] | None = None
    ) -> Self:
        """Encode any iterable of collections; the vocabulary is sorted where items can be.

        >>> Records.from_sets([{"milk", "bread"}, ["milk", "milk"]]).vocabulary
        ('bread', 'milk')
        """
        codes: dict[Hashable, int] = {}
        numbers: list[int] = []
        sizes: list[int] = []
        for position, record in enumerate(sets):
            if isinstance(record, str | bytes) or not isinstance(record, Iterable):
                raise MalformedInputError(
                    f"record {position} must be a collection of items; got a value of type "
                    f"{type(record).__name__}. Wrap it in a set or a list."
                )
            try:
                own = [codes.setdefault(item, len(codes)) for item in record]
            except TypeError:
                raise MalformedInputError(
                    f"record {position} must hold hashable items only. "
                    "Use strings, numbers or tuples as items."
                ) from None
            numbers.extend(own)
            sizes.append(len(own))
        vocabulary, rank = sorted_vocabulary(codes)
        items = rank[np.asarray(numbers, np.int64)]
        return cls.from_columns(items, offsets_of(np.asarray(sizes, np.int64)), users, vocabulary)

    @classmethod
    def from_columns(
        cls,
        items: npt.ArrayLike,
        offsets: npt.ArrayLike,
        users: Sequence[Hashable] | npt.NDArray[Any] | None = None,
        vocabulary: Sequence[Hashable] | None = None,
    ) -> Self:
        """Take columns as they come: sort and deduplicate each record, number users and items.

        Without a vocabulary, `items` are the values themselves and are numbered in their order.

        >>> records = Records.from_columns(["b", "a", "b"], [0, 2, 3])
        >>> records.items.tolist(), records.vocabulary
        ([0, 1, 1], ('a', 'b'))
        """
        if vocabulary is None:
            codes, names = encode_values(items)
        else:
            codes, names = integer_column("items", items), checked_vocabulary(vocabulary)
            if len(codes) and not 0 <= codes.min() <= codes.max() < len(names):
                raise MalformedInputError(
                    f"items must be positions in the vocabulary of {len(names)}: from 0 to "
                    f"{len(names) - 1}. Leave the vocabulary out to pass the values themselves."
                )
        bounds = integer_column("offsets", offsets)
        # One number per occurrence sorts 10 times faster than two columns, and np.unique, which
        # hashes, is slower still.
        cells = np.sort(rows_of(bounds, len(codes)) * len(names) + codes)
        cells = cells[np.diff(cells, prepend=-1) > 0]
        rows = cells // max(len(names), 1)
        n = len(bounds) - 1
        sizes = np.bincount(rows, minlength=n)
        return cls(cells - rows * len(names), offsets_of(sizes), encode_users(users, n), names)

    @classmethod
    def from_arrow(cls, lists: Any, users: Any = None) -> Self:  # noqa: ANN401 - duck-typed Arrow
        """Take a list column of Arrow (array or chunked) without an object per record.

        The users may be an Arrow column too. Arrow itself is not imported.
        """
        bounds, values = arrow_lists(lists)
        items, vocabulary = encode_arrow(values, "item")
        return cls.from_columns(items, bounds, users, vocabulary)
