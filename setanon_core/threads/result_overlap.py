"""`ResultOverlap`: two queries are similar if a search engine returns similar results.

Paper:      section 5.1, "Overlapping result sets": the results of a search engine, top 50.
Guarantee:  the search engine is called at most once per distinct text, and not for blank ones.
Complexity: one call per distinct text; O(top) for a pair with a common result.
Deviation:  the paper used a web search engine. Any function from a text to a list of results, best
            first, can be used; `search_engines` has two.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.declarations import check_parameters
from setanon_core.errors import InvalidParameterError
from setanon_core.params import PairComparison
from setanon_core.ranges import AtLeast, Share
from setanon_core.threads.intersections import encode_sets, intersection_weights

SearchEngine = Callable[[str], Sequence[Hashable]]
"""Any function that returns the results of a query, best first."""


@dataclass(frozen=True, slots=True)
class ResultOverlap:
    """Similar if enough of the top results of both queries are equal.

    >>> results = {"humane society": ["a", "b"], "animal shelter": ["b", "c", "d"]}
    >>> similar = ResultOverlap(lambda query: results.get(query, [])).prepare(list(results))
    >>> similar(np.array([0]), np.array([1])).tolist()
    [True]
    """

    results: SearchEngine
    """The search engine."""

    share: Share = 0.5
    """Minimum number of common results, as a share of the smaller result set; not 0."""

    top: Annotated[int, AtLeast(1)] = 50
    """Number of results of each query that are compared."""

    def __post_init__(self) -> None:
        """Refuse thresholds out of range."""
        check_parameters(self)
        if self.share == 0:
            raise InvalidParameterError(
                "share must be above 0; got 0. With 0, all queries would be similar."
            )

    def prepare(self, texts: Sequence[str]) -> PairComparison:
        """Call the search engine once per text, except for blank texts: these have no results."""
        results = (self.results(text)[: self.top] if text.strip() else () for text in texts)
        sets, _ = encode_sets(results)
        common = intersection_weights(sets, np.ones(sets.width, np.int64))

        def similar(a: Ints, b: Ints) -> Bools:
            shared = common(a, b)
            smaller = np.minimum(sets.sizes[a], sets.sizes[b])
            answer: Bools = (shared > 0) & (shared >= self.share * smaller)
            return answer

        return similar
