"""Public certificates have rounded counts of the source, and nothing that depends on exact ones."""

from hypothesis import given
from hypothesis import strategies as st

from setanon_dagster.verifier.rounded_counts import (
    derived_costs,
    is_rounded,
    round_down,
    round_up,
    rounded_costs,
)

COUNTS = st.integers(0, 10**9)
FIVE = ("additions", "deletions", "withdrawals", "respellings", "lower_bound")


@given(COUNTS)
def test_rounded_count_is_above_by_one_step_at_most(count):
    step = max(100, 10 ** (len(str(count)) - 2))
    assert count < round_up(count) <= count + step
    assert count - step < round_down(count) <= count
    assert is_rounded(round_up(count))
    assert is_rounded(round_down(count))
    assert len(str(round_up(count)).rstrip("0")) <= 2


@given(COUNTS, COUNTS)
def test_rounding_keeps_the_order(first, second):
    low, high = sorted((first, second))
    assert round_up(low) <= round_up(high)
    assert round_down(low) <= round_down(high)


@given(st.fixed_dictionaries(dict.fromkeys(FIVE, COUNTS)), COUNTS, COUNTS)
def test_public_costs_bound_the_exact_ones(costs, records, keywords):
    costs["additions"] = min(costs["additions"], keywords)
    source = keywords + costs["deletions"] - costs["additions"]
    cost = costs["additions"] + costs["deletions"]
    public = rounded_costs(costs, records, keywords)
    assert public["threads"] > records + costs["withdrawals"]
    assert public["keywords"] >= source
    if public["retained"] is not None:
        assert public["retained"] <= 1 - cost / source + 1e-4
    if public["factor"] is not None:
        assert public["factor"] >= cost / costs["lower_bound"] - 1e-4
    assert public == derived_costs(public, records, keywords)


@given(st.fixed_dictionaries(dict.fromkeys(FIVE, st.integers(0, 5_000))), st.integers(0, 99))
def test_counts_in_one_step_give_the_same_public_costs(costs, moved):
    other = {name: n // 100 * 100 + moved for name, n in costs.items()}
    assert rounded_costs(costs, 70, 500) == rounded_costs(other, 70, 500)
