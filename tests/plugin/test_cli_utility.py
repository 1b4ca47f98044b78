"""The command `utility`: measures of a source equal the core's, and no data is printed."""

from datetime import datetime

import numpy as np
import pytest
from support.terminal import ROWS, call, has_no_data, write_log

from setanon_core.model.inputs import Baskets, Log
from setanon_core.utility.compare import measure_baskets, measure_log
from setanon_dagster.cli.utility import HEADER, format_main, format_measures, source_utility
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.source import Source


def config_of(source):
    return ReleaseConfig(name="log", source=source, k=2, out="unused")


def assert_same_measures(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        assert (one.name, one.meaning, one.cases) == (other.name, other.meaning, other.cases)
        values = [(each.original, each.release, each.paper) for each in (one, other)]
        assert np.array_equal(*values, equal_nan=True)


def test_log_has_the_measures_of_the_core(tmp_path):
    config = config_of(Source(str(write_log(tmp_path))))
    users, times, queries = zip(*ROWS, strict=True)
    log = Log(users, [datetime.fromisoformat(time) for time in times], queries)

    assert_same_measures(source_utility(config), measure_log(log, config.params()))


@pytest.mark.parametrize("with_user", [False, True])
def test_baskets_have_the_measures_of_the_core(tmp_path, with_user):
    lines = ["glimmerwick,thornbury,quxxolot"] * 3 + ["glimmerwick,thornbury", "thornbury,kestrel"]
    path = tmp_path / "baskets.csv"
    path.write_text("\n".join(lines) + "\n")
    source = Source(str(path), kind="baskets", layout="lines", with_user=with_user)
    baskets = Baskets.from_lines(lines, ",", with_user=with_user)
    config = config_of(source)

    assert_same_measures(source_utility(config), measure_baskets(baskets, config.params()))


def test_lines_are_aligned_with_the_header_and_contain_no_data(tmp_path):
    config = config_of(Source(str(write_log(tmp_path))))
    lines = list(format_measures(source_utility(config)))

    assert {len(line) for line in lines} == {len(HEADER)}
    assert has_no_data("\n".join(lines))
    assert any(" 100.0% " in line for line in lines)
    # No user of this log has a next query: a share of 0 cases is undefined.
    assert lines[0].split() == ["next", "query:", "hits", "at", "1", "-", "-", "-", "0"]


def test_main_measures_are_five_lines_with_the_values_of_all_lines(tmp_path):
    measures = source_utility(config_of(Source(str(write_log(tmp_path)))))
    lines = list(format_main(measures))
    assert len(measures) == 27
    assert len(lines) == 6
    assert {len(line) for line in lines[:-1]} == {len(HEADER)}
    assert lines[-1].strip() == "5 of 27 measures; --all prints all of them."
    values = [line[-42:] for line in format_measures(measures)]
    assert all(line[-42:] in values for line in lines[:-1])


def test_command_prints_all_measures_on_request(tmp_path):
    path = write_log(tmp_path)
    main, every = (call("utility", path, "--k", "2", *more) for more in ((), ("--all",)))
    assert (main.exit_code, every.exit_code) == (0, 0)
    assert len(main.stdout.strip().splitlines()) == 8
    assert len(every.stdout.strip().splitlines()) == 28
    assert "--all" not in every.stdout
