"""Results contain published items only; user numbers may have gaps."""

import pickle

import numpy as np

from setanon_core import Records, anonymize

CANARY = "surname-of-one"
RECORDS = [{"tea", "milk"}, {"tea", "milk"}, {"tea", CANARY}, {"coffee"}]


def test_a_result_contains_published_items_only():
    result = anonymize(RECORDS, k=2)

    assert set(result.vocabulary) == set().union(*filter(None, result.records))
    assert CANARY not in repr(result)
    assert CANARY.encode() not in pickle.dumps(result)


def test_a_warning_is_given_if_no_item_has_enough_owners():
    result = anonymize(RECORDS, k=2, min_owners=5)

    assert result.records == (None,) * len(RECORDS)
    assert any("min_owners = 5" in warning for warning in result.warnings)


def test_gaps_between_user_numbers_make_no_difference():
    columns = Records.from_sets(RECORDS)
    sparse = Records(columns.items, columns.offsets, np.array([10**9, 0, 10**9, 7]))

    labels = anonymize(sparse, k=2).labels.tolist()

    assert labels == anonymize(RECORDS, k=2, users=["c", "a", "c", "b"]).labels.tolist()
