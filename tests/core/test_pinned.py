"""Pinned digests: the same input and parameters give the same sets in every version."""

from hashlib import sha256

import numpy as np
import pytest

from setanon_core import Records, anonymize


def random_records(n=600):
    rng = np.random.default_rng(20081031)
    topic = (60 * rng.random(n) ** 2).astype(int)
    sets = [
        {f"topic{t}", *(f"word{t}.{w}" for w in range(4) if rng.random() < 0.4), f"rare{r}"}
        for t, r in zip(topic, rng.integers(0, 2 * n, n), strict=True)
    ]
    return Records.from_sets(sets, rng.integers(0, n // 2, n).tolist())


def digest(result):
    lines = ("-" if record is None else " ".join(sorted(record)) for record in result.records)
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("params", "pinned"),
    [
        ({}, "1f325144a27bcbb0"),
        ({"min_owners": 0}, "09a3678f82431f1c"),
        ({"method": "paper"}, "c06c96a9338974b3"),
        ({"method": "paper", "grouper": "facility_location"}, "65813dba66b916ed"),
        ({"operations": "deletions"}, "191143db54cc52e6"),
    ],
)
def test_published_sets_are_identical_to_the_pinned_digests(params, pinned):
    assert digest(anonymize(random_records(), 3, **params)) == pinned
