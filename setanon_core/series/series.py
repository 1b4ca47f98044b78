"""`Series`: anonymize records part by part (day by day), as they arrive.

Paper:      section 6 asks how to anonymize "on the fly as new records get added".
Guarantee:  that of `publish_part`, for all parts together.
Complexity: that of `publish_part` for each part.
Deviation:  that of `publish_part`.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from setanon_core.columns.read_records import read_records
from setanon_core.columns.records import Records
from setanon_core.errors import MalformedInputError
from setanon_core.model.batch import Batch
from setanon_core.params import (
    Combinations,
    GrouperName,
    Method,
    Operations,
    SeriesParams,
    UserNames,
)
from setanon_core.series.name_hashes import checked_names, own_user_hashes, user_hashes
from setanon_core.series.owners import Owners
from setanon_core.series.publish import publish_part
from setanon_core.series.state import State, read_state, write_state
from setanon_core.series.waiting import Waiting


class Series:
    """Batches of one series, each made of the records of one part and of those that waited.

    `hold` is the number of parts that a record may wait; 0 publishes each part for itself. Items
    and users are text or integers. `secret` is the key of their hashes; without it, a random one
    is made: `series.params.secret`. The other parameters are those of `anonymize`.

    >>> series = Series(k=2, hold=7)
    >>> series.add([{"tea", "milk"}, {"rum"}], users=["ann", "bob"])
    Batch(part 0, 0 records in 0 sets, 0 withdrawn, 2 held)
    >>> batch = series.add([{"tea", "milk"}], users=["cem"])
    >>> [sorted(record) for record in batch.records]
    [['milk', 'tea'], ['milk', 'tea']]
    >>> batch.numbers.tolist()
    [0, 2]
    >>> state = series.to_bytes()
    >>> Series.from_bytes(state, secret=series.params.secret).flush()
    Batch(part 2, 0 records in 0 sets, 1 withdrawn, 0 held)
    """

    def __init__(  # noqa: PLR0913 - the parameters, keyword-only
        self,
        k: int,
        *,
        hold: int,
        method: Method = "best",
        grouper: GrouperName | None = None,
        operations: Operations = "both",
        combinations: Combinations | None = None,
        min_owners: int | None = None,
        seed: int = 0,
        user_names: UserNames = "folded",
        secret: bytes | None = None,
    ) -> None:
        """Begin a series without records."""
        secret_option: dict[str, Any] = {} if secret is None else {"secret": secret}
        params = SeriesParams(
            k,
            method,
            grouper,
            operations,
            combinations,
            min_owners,
            seed,
            user_names,
            hold=hold,
            **secret_option,
        )
        owners = Owners.none(params.required_owners)
        self._state = State(params, Waiting.none(), owners, 0, 0, 0, 0)

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return (
            f"Series({self.parts} parts, {self.arrived} records, {self.published} published, "
            f"{self.withdrawn} withdrawn, {self.held} held)"
        )

    @property
    def params(self) -> SeriesParams:
        """The parameters, with the secret: private."""
        return self._state.params

    @property
    def parts(self) -> int:
        """Parts added so far, each with one batch."""
        return self._state.parts

    @property
    def arrived(self) -> int:
        """Records added so far: those published, withdrawn and held."""
        return self._state.arrived

    @property
    def published(self) -> int:
        """Records published so far."""
        return self._state.published

    @property
    def withdrawn(self) -> int:
        """Records withdrawn for good so far."""
        return self._state.withdrawn

    @property
    def held(self) -> int:
        """Records that wait."""
        return len(self._state.waiting)

    def add(
        self,
        records: Iterable[Collection[Hashable]],
        users: Sequence[Hashable] | None = None,
    ) -> Batch:
        """Add the records of one part, which may be none; return what is published now.

        `records` is an iterable or a column of collections, or a one-hot table or matrix without
        a column of users. `users` has the user of each record; without it, every record has its
        own user. If this raises an error, the series is as before.
        """
        return self._publish(self._read(records, users), self.params.hold)

    def flush(self) -> Batch:
        """Publish or withdraw all records that wait, as a part of its own."""
        return self._publish(Waiting.none(), 0)

    def to_bytes(self) -> bytes:
        """The state, to be stored with `batch` and restored before the next part; private."""
        return write_state(self._state)

    @classmethod
    def from_bytes(cls, state: bytes, *, secret: bytes) -> "Series":
        """The series whose state this is, with its parameters; it goes on identically."""
        series = cls.__new__(cls)
        series._state = read_state(state, secret)  # noqa: SLF001 - of this class
        return series

    def _read(self, records: Any, users: Any) -> Waiting:  # noqa: ANN401 - any form
        """The records of a part as columns, numbered after those of earlier parts."""
        if isinstance(records, Records):
            raise MalformedInputError(
                "records must be collections of items; got Records, which do not have the names "
                "of their users. Pass collections, and users=... beside them."
            )
        # Checks the users, too: their number, their order, and that none is missing.
        read = read_records(records, users=users, user_names="exact", allow_empty=True).records
        state, n, secret = self._state, len(read), self.params.secret
        if users is None:
            hashes = own_user_hashes(state.arrived, n, secret)
        else:
            names = users.to_pylist() if hasattr(users, "to_pylist") else users
            hashes = user_hashes(names, self.params.user_names, secret)
        numbers = np.arange(state.arrived, state.arrived + n)
        vocabulary = checked_names(read.vocabulary, "item")
        parts = np.full(n, state.parts)
        # Columns of a one-hot matrix that no record has are left out.
        return Waiting(read.sets, vocabulary, hashes, parts, numbers).take(np.arange(n))

    def _publish(self, new: Waiting, hold: int) -> Batch:
        self._state, batch = publish_part(self._state, new, hold)
        return batch
