"""Associations of keywords: pairs that users have in different threads more often than expected.

Paper:      none.
Guarantee:  none; heuristic.
Complexity: O(sum of squared numbers of keywords per user), then O(log) per pair of keywords.
Deviation:  none.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setanon_core.columns.arrays import Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Associations:
    """Pairs of keywords that users have in different threads more often than expected."""

    pairs: Ints
    """First keyword * width + second keyword, ascending."""

    strengths: Floats
    """Log ratio of the users with both to those expected."""

    width: int

    @classmethod
    def of(cls, members: sparse.csr_matrix, keywords: sparse.csr_matrix) -> "Associations":
        """Associations of known users; `members` has a row per user and a column per thread."""
        known = np.flatnonzero(np.diff(members.tocsc().indptr))
        threads = keywords[known].sign()
        users = (members[:, known] @ threads).tocsr().sign()
        # Users with both keywords, minus threads with both: at least the users who have them apart.
        apart = (users.T @ users - threads.T @ threads).tocoo()
        owners = np.asarray(users.sum(axis=0)).ravel()
        expected = owners[apart.row] * owners[apart.col] / max(users.shape[0], 1)
        ratio = np.log((np.maximum(apart.data, 0) + 0.5) / (expected + 0.5))
        positive = (ratio > 0) & (apart.row != apart.col)
        width = keywords.shape[1]
        pairs = apart.row[positive].astype(np.int64) * width + apart.col[positive]
        order = np.argsort(pairs)
        return cls(pairs[order], ratio[positive][order], width)

    def of_pairs(self, one: Ints, other: Ints) -> Floats:
        """The strength of each pair of keywords; 0 if they are not associated."""
        wanted = one * self.width + other
        position = np.searchsorted(self.pairs, wanted)
        position[position == len(self.pairs)] = 0
        if not len(self.pairs):
            return np.zeros(len(wanted))
        return np.where(self.pairs[position] == wanted, self.strengths[position], 0.0)
