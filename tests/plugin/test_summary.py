"""The first line of a summary says what is k-anonymous: everything, or only the sets."""

import io

import pytest
from rich.console import Console

from setanon_dagster.cli.summary import print_summary

PROMISES = {
    "queries": "is published, 3-anonymous.",
    "sets": "is published, 3-anonymous.",
    "edited": "is published; its sets are 3-anonymous.",
}


CERTIFICATE = {
    "k": 3, "parameters": {"format": "sets"},
    "cost": {"additions": 0, "deletions": 0, "withdrawals": 0, "respellings": 0, "threads": 9,
             "keywords": 9, "retained": 1.0, "factor": 1.0, "lower_bound": 0},
    "verdict": {"records": 9, "groups": 2, "smallest_group": 3},
}  # fmt: skip


def summary(tmp_path, counts=None, **changes):
    folder = tmp_path / "releases" / "demo" / "demo-1"
    folder.mkdir(parents=True)
    output = io.StringIO()
    print_summary(Console(file=output), folder, CERTIFICATE | changes, counts or {})
    return output.getvalue()


@pytest.mark.parametrize("form", PROMISES)
def test_summary_says_whether_lists_or_only_sets_are_anonymous(tmp_path, form):
    assert f"demo-1 {PROMISES[form]}" in summary(tmp_path, parameters={"format": form})


@pytest.mark.parametrize(
    ("unit", "users", "groups"),
    [
        ("user", "  users        8\n", "2, the smallest of 3 users"),
        ("record", "  users        unknown: each basket", "2, the smallest of 3 baskets"),
    ],
)
def test_summary_of_baskets_counts_users_only_if_there_are_any(tmp_path, unit, users, groups):
    counts = {"raw_baskets": {}, "clusters": {"setanon/users": 8}}
    printed = summary(tmp_path, counts, unit=unit)
    assert users in printed
    assert groups in printed
    assert "  baskets      9, 9 of them published" in printed
    assert "of 9 items" in printed
