"""What a release contains, the private ledger beside it, and what it cost."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from setanon_core.model.groups import Certificate, Round

ThreadIds = npt.NDArray[np.uint8]
"""Thread ids as 16 bytes each, one row a thread."""


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
