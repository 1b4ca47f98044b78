"""Combinations of similarity measures: at least one of several, or none.

A measure implements `params.SimilarityMeasure`: it prepares the distinct texts once, and returns a
function that compares pairs of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.params import PairComparison, SimilarityMeasure


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Two queries are similar if at least one of these measures finds them similar."""

    measures: tuple[SimilarityMeasure, ...]

    def prepare(self, texts: Sequence[str]) -> PairComparison:
        """Prepare the texts for every measure."""
        predicates = [measure.prepare(texts) for measure in self.measures]

        def similar(a: Ints, b: Ints) -> Bools:
            result = np.zeros(len(a), np.bool_)
            for predicate in predicates:
                # Pairs that an earlier measure found similar are not compared again.
                undecided = np.flatnonzero(~result)
                result[undecided] = predicate(a[undecided], b[undecided])
            return result

        return similar


NEVER_SIMILAR: Final = AnyOf(())
"""No two texts are similar: every query is its own thread, together with its exact repeats."""
