"""Options of the commands: one for each parameter, with our errors for values out of range."""

import pytest
from support.terminal import call, write_log

from setanon_core.declarations import parameters_of
from setanon_core.errors import InvalidParameterError
from setanon_dagster.cli.main import main
from setanon_dagster.cli.options import NOT_OPTIONS, config_of, parse_ks
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.source import Source


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", 1], "k must be at least 2; got 1."),
        (["--k", 3, "--method", "worst"], "method must be one of best, paper; got 'worst'."),
        (["--k", 3, "--p", 5], "p must be from 1 to 4; got 5."),
        (["--k", 3, "--similarity", 2], "similarity must be a number from 0 to 1; got 2.0."),
        (["--k", 3, "--min-owners", -1], "--min-owners must be at least 0; got -1."),
        (["--k", 3, "--name", "../up"], "name must be lower case letters"),
        (["--k", 3, "--layout", "lines"], "a log must have one row per query"),
        (["--k", 3, "--delimiter", "ab"], "delimiter must be one ASCII character"),
        (["--k", 3, "--time-column", ""], "--time-column must be a column name, or a position"),
        (["--k", "three"], "is not a valid integer"),
        ([], "Missing option '--k'"),
    ],
)
def test_bad_option_exits_2_before_any_reading(tmp_path, arguments, message):
    result = call("release", write_log(tmp_path), *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_source_and_bad_secret_exit_2(tmp_path, monkeypatch):
    result = call("release", tmp_path / "none.tsv", "--k", 3, "--out", tmp_path)
    assert result.exit_code == 2
    assert "must be a file, or a pattern that files match" in result.stderr
    monkeypatch.setenv("SETANON_SECRET", "s" * 65)
    result = call("release", write_log(tmp_path), "--k", 3, "--out", tmp_path)
    assert (result.exit_code, "sss" in result.output) == (2, False)


def test_every_parameter_is_an_option_with_its_default_and_description():
    options = {option.name: option for option in main.commands["release"].params}
    parameters = {**parameters_of(ReleaseConfig), **parameters_of(Source)}
    assert options.keys() - {"source", "out"} == parameters.keys() - NOT_OPTIONS
    for name in parameters.keys() - NOT_OPTIONS - {"k", "name"}:
        default = parameters[name].default
        # The text of a list is split by the option; without it, the list is empty.
        assert options[name].default == (None if default == () else default), name
        assert len(options[name].help) > 10, name
        assert "None" not in options[name].help, name


def test_option_k_has_one_description_in_all_commands():
    commands = ("release", "verify", "demo", "utility")
    options = [option for name in commands for option in main.commands[name].params]
    assert len({option.help for option in options if option.name == "k"}) == 1
    assert sum(option.name == "k" for option in options) == len(commands)


def test_name_of_a_release_defaults_to_the_kind_of_its_source(tmp_path):
    path = str(write_log(tmp_path))
    assert config_of((path,), "out", {"k": 3, "name": None}).name == "log"
    assert config_of((path,), "out", {"k": 3, "kind": "baskets", "name": None}).name == "baskets"


def test_numbers_and_ranges_of_k_are_parsed():
    assert parse_ks(None, None, "10, 2..4,3") == (2, 3, 4, 10)


@pytest.mark.parametrize("value", ["2..", "5..2", "", "2,,3", "-3", "2..9999999"])
def test_bad_range_of_k_is_refused(value):
    with pytest.raises(InvalidParameterError, match=r"such as 3, 2\.\.20 or 2,5,10"):
        parse_ks(None, None, value)


def test_bad_range_of_k_exits_2():
    result = call("sweep", "log.tsv", "--k", "2..")
    assert result.exit_code == 2
    assert "such as 3, 2..20 or 2,5,10" in result.stderr
