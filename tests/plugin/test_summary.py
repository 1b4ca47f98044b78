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


@pytest.mark.parametrize("form", PROMISES)
def test_summary_says_whether_lists_or_only_sets_are_anonymous(tmp_path, form):
    folder = tmp_path / "releases" / "demo" / "demo-1"
    folder.mkdir(parents=True)
    output = io.StringIO()
    certificate = {
        "k": 3, "parameters": {"format": form},
        "cost": {"additions": 0, "deletions": 0, "withdrawals": 0, "respellings": 0, "threads": 9,
                 "keywords": 9, "retained": 1.0, "factor": 1.0, "lower_bound": 0},
        "verdict": {"records": 9, "groups": 2, "smallest_group": 3},
    }  # fmt: skip
    print_summary(Console(file=output), folder, certificate, {})
    assert f"demo-1 {PROMISES[form]}" in output.getvalue()
