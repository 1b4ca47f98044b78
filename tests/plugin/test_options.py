"""The options: every knob, and our own sentence where one is turned too far."""

import pytest
from support.terminal import call, write_log

from setanon_dagster.cli.main import main
from setanon_dagster.cli.options import NOT_OPTIONS
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.source import Source


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--k", 1], "k must be at least 2; got 1."),
        (["--k", 3, "--method", "worst"], "method must be one of best, paper; got 'worst'."),
        (["--k", 3, "--p", 5], "p must be from 1 to 4; got 5."),
        (["--k", 3, "--similarity", 2], "to 1"),
        (["--k", 3, "--min-owners", -1], "min_owners must be at least 0; got -1."),
        (["--k", 3, "--name", "../up"], "name must be lower case letters"),
        (["--k", 3, "--layout", "lines"], "a log must have a row for each query"),
        (["--k", 3, "--delimiter", "ab"], "delimiter must be one ASCII character"),
        (["--k", 3, "--time-column", ""], "time_column must be a name, or a position"),
        (["--k", "three"], "is not a valid integer"),
        ([], "Missing option '--k'"),
    ],
)
def test_a_bad_knob_exits_2_before_anything_is_read(tmp_path, arguments, said):
    result = call("release", write_log(tmp_path), *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_source_and_a_bad_secret_exit_2(tmp_path, monkeypatch):
    result = call("release", tmp_path / "none.tsv", "--k", 3, "--out", tmp_path)
    assert result.exit_code == 2
    assert "must be a file, or a pattern that files match" in result.stderr
    monkeypatch.setenv("SETANON_SECRET", "s" * 65)
    result = call("release", write_log(tmp_path), "--k", 3, "--out", tmp_path)
    assert (result.exit_code, "sss" in result.output) == (2, False)


def test_every_knob_is_an_option_with_its_default_and_a_sentence():
    options = {each.name: each for each in main.commands["release"].params}
    fields = {**ReleaseConfig.__dataclass_fields__, **Source.__dataclass_fields__}
    assert options.keys() - {"source", "out"} == fields.keys() - NOT_OPTIONS
    for name in fields.keys() - NOT_OPTIONS - {"k", "name"}:
        assert options[name].default == fields[name].default, name
        assert len(options[name].help) > 10, name
        assert "None" not in options[name].help, name


def test_a_bad_range_of_k_is_refused():
    for value in ("2..", "5..2", "", "2,,3", "-3", "2..9999999"):
        result = call("sweep", "log.tsv", "--k", value)
        assert result.exit_code == 2, value
        assert "such as 3, 2..20 or 2,5,10" in result.stderr
