"""Labels of the figures of a report: values of k that fit side by side."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from setanon_dagster.report.figures import DIGIT, spaced_ticks

KS = st.sets(st.integers(2, 2_000), min_size=1, max_size=60)


@given(KS, st.data())
def test_labels_fit_and_the_k_of_the_release_is_one_of_them(ks, data):
    k, width = data.draw(st.sampled_from(sorted(ks))), data.draw(st.floats(100, 500))
    ticks = spaced_ticks(sorted(ks), k, width)
    scale = width / max(max(ks) - min(ks), 1)

    assert k in ticks
    assert set(ticks) <= ks
    assert ticks == sorted(set(ticks))
    for low, high in pairwise(ticks):
        halves = DIGIT * (len(str(low)) + len(str(high))) / 2
        assert (high - low) * scale > halves


def test_all_values_of_a_full_report_are_shown_on_a_wide_screen():
    assert spaced_ticks([2, 3, 5, 10, 20], 3, 450) == [2, 3, 5, 10, 20]


def test_k_that_was_not_tried_has_no_label():
    assert spaced_ticks([2, 3], 7, 450) == [2, 3]
