"""Example 2, Figure 3: S_flip is obtained from S_* via Algorithm 1."""

import numpy as np

from setanon_core.columns.sets import Sets
from setanon_core.grouping.flip import flip

R_D = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1]])
GROUP_OF = np.array([0, 1, 1, 0, 0, 1])
STAR = -1


def test_starring_the_columns_that_differ_within_the_groups_gives_s_star():
    s_star = R_D.copy()
    for group in (0, 1):
        (rows,) = np.where(group == GROUP_OF)
        s_star[np.ix_(rows, np.ptp(R_D[rows], axis=0) > 0)] = STAR

    assert s_star.tolist() == [
        [1, STAR, 0],
        [STAR, 0, 1],
        [STAR, 0, 1],
        [1, STAR, 0],
        [1, STAR, 0],
        [STAR, 0, 1],
    ]


def test_algorithm_1_turns_it_into_s_flip():
    rows, items = np.nonzero(R_D)
    offsets = np.searchsorted(rows, np.arange(len(R_D) + 1))

    labels, centers = flip(Sets(items, offsets), GROUP_OF)

    s_flip = np.zeros_like(R_D)
    for record, label in enumerate(labels):
        s_flip[record, centers.take(np.array([label])).items] = 1
    assert s_flip.tolist() == [[1, 0, 0], [1, 0, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1]]
