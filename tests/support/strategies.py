"""Hypothesis strategies for small instances."""

from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.params import OPERATIONS, Params


@st.composite
def records(draw: st.DrawFn, max_records: int = 7, max_items: int = 5) -> Records:
    """Few records over few items: duplicates, empty sets and repeated users are common."""
    sets = draw(
        st.lists(
            st.frozensets(st.integers(0, max_items - 1), max_size=max_items),
            max_size=max_records,
        )
    )
    if draw(st.booleans()):
        return Records.from_sets(sets)
    users = draw(st.lists(st.integers(0, 4), min_size=len(sets), max_size=len(sets)))
    return Records.from_sets(sets, users)


def params(max_k: int = 4) -> st.SearchStrategy[Params]:
    """k from 2, and each of the three problems."""
    return st.builds(Params, k=st.integers(2, max_k), operations=st.sampled_from(OPERATIONS))
