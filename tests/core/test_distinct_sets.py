"""Distinct sets against Python sets: their records, weights and users."""

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import records

from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets


@given(records(max_records=12, max_items=3), st.integers(1, 4), st.data())
def test_records_weights_and_users_of_each_distinct_set(data: Records, k: int, draw: st.DataObject):
    distinct, masks = DistinctSets(data), data.bitmasks()
    set_masks = distinct.sets.bitmasks()
    assert sorted(set_masks) == sorted(set(masks))
    for s, mask in enumerate(set_masks):
        members = [i for i, other in enumerate(masks) if other == mask]
        assert distinct.records_of(distinct.ranks[members[:1]]).tolist() == members
        assert distinct.weights[s] == len(members)
        assert distinct.owners[s] == len(set(data.users[members].tolist()))
    numbers = (
        st.lists(st.sampled_from(range(len(set_masks))), unique=True) if masks else st.just([])
    )
    chosen = draw.draw(numbers)
    chosen_masks = {set_masks[s] for s in chosen}
    users = {int(data.users[i]) for i, mask in enumerate(masks) if mask in chosen_masks}
    assert distinct.has_k_users(chosen, k) is (len(users) >= k)
