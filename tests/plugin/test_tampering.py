"""A release with any single change is refused; the unchanged one is accepted."""

import pytest
from support.tampering import (
    CHANGES,
    good_release,
    refused,
    tampered_releases,
    verdict_of_good,
    write_release,
)


@pytest.mark.parametrize("form", list(CHANGES))
def test_unchanged_release_is_accepted(tmp_path, form):
    verdict = verdict_of_good(tmp_path / "good", form)
    assert verdict.ok
    assert not refused(*write_release(tmp_path / "r", good_release(form), verdict))


def test_each_kind_of_change_is_refused(tmp_path):
    kinds = sum(map(len, CHANGES.values()))
    missed = [
        (form, change)
        for form, change, was_refused in tampered_releases(tmp_path, kinds)
        if not was_refused
    ]
    assert missed == []
