"""`Records`: the data set as integer columns, without a Python object per record.

Notation of the paper: D is the data set, S_i a record, U the universe of items, e_j an item,
n the number of records, m the number of items, G a group, k the number of users that must share
a set.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import (
    Ints,
    count_distinct,
    integer_column,
    offsets_of,
    rows_of,
    sorted_unique,
)
from setanon_core.columns.arrow import encode_arrow_column, read_arrow_lists
from setanon_core.columns.encode import checked_vocabulary, encode_values, sorted_vocabulary
from setanon_core.columns.sets import Sets, check_number_range, freeze_column
from setanon_core.columns.users import encode_users
from setanon_core.errors import MalformedInputError


@dataclass(frozen=True, eq=False)
class Records(Sets):
    """The data set D: sets, the user number of each, and the vocabulary that names the items.

    The names of the users are not stored here.
    """

    users: Ints
    vocabulary: tuple[Hashable, ...] = ()

    def __repr__(self) -> str:
        """Counts only: tracebacks and logs must not contain items or users."""
        return f"Records({len(self)} records, {self.n_users} users, {self.width} items)"

    def __post_init__(self) -> None:
        """Check the columns against each other; make them read-only."""
        super().__post_init__()
        freeze_column(self, "users")
        check_number_range("users", self.users)
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
        """Number of distinct users."""
        return count_distinct(self.users)

    def subset(self, positions: Ints) -> "Records":
        """The records at `positions`, in that order, with their users as int64."""
        users = self.users[positions].astype(np.int64, copy=False)
        return Records.from_checked_sets(self.take(positions), users, self.vocabulary)

    def without_vocabulary(self) -> "Records":
        """These records without the vocabulary, which may be large: to send to other processes."""
        return Records.from_checked_sets(self, self.users)

    @property
    def sets(self) -> Sets:
        """The sets without the users."""
        return Sets.unchecked(items=self.items, offsets=self.offsets)

    @classmethod
    def from_checked_sets(
        cls, sets: Sets, users: Ints, vocabulary: tuple[Hashable, ...] = ()
    ) -> "Records":
        """Add user numbers to `Sets`, without checks or copies; `users` becomes read-only."""
        return Records.unchecked(
            items=sets.items, offsets=sets.offsets, users=users, vocabulary=vocabulary
        )

    @classmethod
    def from_sets(
        cls, sets: Iterable[Collection[Hashable]], users: Sequence[Hashable] | None = None
    ) -> Self:
        """Encode any iterable of collections; the vocabulary is sorted.

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
                members = [codes.setdefault(item, len(codes)) for item in record]
            except TypeError:
                raise MalformedInputError(
                    f"record {position} must contain hashable items only. "
                    "Use strings, numbers or tuples as items."
                ) from None
            numbers.extend(members)
            sizes.append(len(members))
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
        """Build from any columns: sort and deduplicate each record, number users and items.

        With a vocabulary, `items` are positions in it; without one, `items` are the values.

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
        # One number per occurrence sorts 10 times faster than two columns.
        cells = sorted_unique(rows_of(bounds, len(codes)) * len(names) + codes)
        rows = cells // max(len(names), 1)
        n = len(bounds) - 1
        sizes = np.bincount(rows, minlength=n)
        return cls(cells - rows * len(names), offsets_of(sizes), encode_users(users, n), names)

    @classmethod
    def from_arrow(cls, lists: Any, users: Any = None) -> Self:  # noqa: ANN401 - duck-typed Arrow
        """Build from a list column of Arrow (array or chunked), without an object per record.

        The users may be an Arrow column too. Arrow itself is not imported.
        """
        bounds, values = read_arrow_lists(lists)
        items, vocabulary = encode_arrow_column(values, "item")
        return cls.from_columns(items, bounds, users, vocabulary)
