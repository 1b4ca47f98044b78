"""Data classes: derived values, reprs and pickling."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN, Anonymized, Certificate, Cost, Grouping
from setanon_core.model.verdict import Verdict
from setanon_core.params import Params

CENTERS = Sets(np.array([0, 2, 1]), np.array([0, 2, 3]))


def anonymized(labels, centers=CENTERS):
    certificate = Certificate(Cost(1, 2), lower_bound=2, proven_optimal=False)
    return Anonymized(
        np.asarray(labels, np.int64), centers, ("a", "b", "c"), certificate, Params(2)
    )


def test_the_total_cost_is_additions_plus_deletions_without_withdrawals():
    assert Cost(additions=2, deletions=3, withdrawals=1).total == 5


@pytest.mark.parametrize(
    ("additions", "lower_bound", "factor"),
    [(6, 4, 1.5), (4, 4, 1.0), (0, 0, 1.0), (3, 0, math.inf)],
)
def test_the_factor_is_cost_over_lower_bound(additions, lower_bound, factor):
    assert Certificate(Cost(additions, 0), lower_bound, proven_optimal=False).factor == factor


@pytest.mark.parametrize(("violations", "ok"), [(0, True), (1, False)])
def test_a_verdict_is_ok_only_without_violations(violations, ok):
    assert Verdict(2, 4, 2, 1, violations, 1).ok is ok


def test_records_are_their_centers_and_withdrawn_records_are_none():
    result = anonymized([1, 0, WITHDRAWN, 0])
    assert result.records == (frozenset("b"), frozenset("ac"), None, frozenset("ac"))


@given(st.lists(st.sampled_from([WITHDRAWN, 0, 1]), max_size=8))
def test_groups_are_the_members_of_each_center_sorted_by_first_member(labels):
    expected = {}
    for position, label in enumerate(labels):
        if label != WITHDRAWN:
            expected.setdefault(label, []).append(position)
    assert anonymized(labels).groups == tuple(map(tuple, expected.values()))


def test_a_result_has_the_values_of_its_certificate():
    result = anonymized([0])
    assert result.cost == Cost(1, 2)
    assert (result.lower_bound, result.factor, result.proven_optimal) == (2, 1.5, False)


def test_results_can_be_pickled():
    result = anonymized([0, 1])
    copy = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert copy.records == result.records
    grouping = pickle.loads(pickle.dumps(Grouping(np.array([0, WITHDRAWN]), notes=("cut off",))))  # noqa: S301
    assert grouping.labels.tolist() == [0, WITHDRAWN]
    assert (grouping.proven_optimal, grouping.notes) == (False, ("cut off",))


def test_reprs_have_counts_only():
    assert repr(anonymized([1, 0, WITHDRAWN, 0])) == (
        "Anonymized(4 records, 2 groups, 0 withdrawn, cost 3)"
    )
    assert repr(Grouping(np.array([0, WITHDRAWN]))) == "Grouping(2 records, 1 withdrawn)"
