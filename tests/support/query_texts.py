"""Random threads of queries, and `QueryTexts` of them."""

import numpy as np
from hypothesis import strategies as st

from setanon_core.utility.query_texts import QueryTexts

WORDS = st.sampled_from(["ash", "bog", "cat", "dew"])
QUERY = st.lists(WORDS, min_size=1, max_size=4).map(tuple)
THREADS = st.lists(st.lists(QUERY, min_size=1, max_size=4), max_size=8)


def texts_of(threads):
    """Threads as lists of queries, which are tuples of keywords."""
    numbers = [number for number, queries in enumerate(threads) for _ in queries]
    return QueryTexts(np.asarray(numbers, np.int64), [q for queries in threads for q in queries])
