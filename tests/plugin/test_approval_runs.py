"""Runs of a release that waits for approval: they succeed, and say that it waits."""

from dataclasses import replace

from support.release_runs import latest_release, materialize, public_files, releases_folder

from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.decisions import Decision


def test_run_that_waits_succeeds_and_says_so(release_copy):
    before = public_files(release_copy), latest_release(release_copy)
    config = replace(release_copy, name="trial", approval="required", min_owners=0)
    result = materialize(config)
    assert result.success, result.failures
    metadata = result.metadata["release"]
    private = config.private / metadata["setanon/release"]
    assert metadata["setanon/state"] == (
        f"{private.name} is verified and waits for approval: setanon approve {private} --by NAME"
    )
    assert "setanon/folder" not in metadata
    assert (private / "report.html").is_file()
    assert (public_files(config), latest_release(config)) == before
    assert decide(private, Decision(by="Ada")).folder == releases_folder(config) / private.name
    assert latest_release(config) == private.name
