"""A release with any single change is refused; the unchanged one is accepted."""

from dataclasses import replace

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
    signed = replace(good_release(form), signer=1)
    assert not refused(*write_release(tmp_path / "r", signed, verdict), signed=True)


def missed_changes(folder, count, seed=0):
    releases = tampered_releases(folder, count, seed)
    return [(form, change) for form, change, was_refused in releases if not was_refused]


def test_changed_files_are_refused(tmp_path):
    assert missed_changes(tmp_path, 18) == []


@pytest.mark.slow
def test_each_kind_of_change_is_refused(tmp_path):
    assert missed_changes(tmp_path, sum(map(len, CHANGES.values())), seed=1) == []
