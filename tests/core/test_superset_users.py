"""Users who have one record that contains a set, against a comparison with every record."""

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import records

from setanon_core.columns import supersets
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.superset_users import SupersetUsers

WANTED = st.lists(st.frozensets(st.integers(0, 6), max_size=4), max_size=6)


def users_containing(data, wanted):
    sets = [{i for i in range(data.width) if mask >> i & 1} for mask in data.bitmasks()]
    owners = data.users.tolist()
    return [len({u for u, s in zip(owners, sets, strict=True) if w <= s}) for w in wanted]


def as_sets(wanted):
    vocabulary = list(range(7))
    columns = Records.from_columns(
        [item for each in wanted for item in sorted(each)],
        [0, *(sum(map(len, wanted[: n + 1])) for n in range(len(wanted)))],
        vocabulary=vocabulary,
    )
    return Sets(columns.items, columns.offsets)


@given(records(max_records=9), WANTED)
def test_counts_are_those_of_comparing_every_set_with_every_record(data, wanted):
    counts = SupersetUsers(data).count_users(as_sets(wanted))
    assert counts.tolist() == users_containing(data, wanted)


def test_sets_counted_in_several_parts_have_the_same_counts(monkeypatch):
    data = Records.from_sets([{0, 1}, {0, 2}, {0, 1, 2}, {1}, {0, 1}], [1, 2, 3, 4, 1])
    wanted = [{0}, {0, 1}, {1, 2}, {0, 1, 2}, {3}, set()]
    together = SupersetUsers(data).count_users(as_sets(wanted)).tolist()
    monkeypatch.setattr(supersets, "BATCH_PAIRS", 1)
    assert SupersetUsers(data).count_users(as_sets(wanted)).tolist() == together
    assert together == [3, 2, 1, 1, 0, 4]
