"""The utility of a source: read as the other commands read it, and told without a word of it."""

from datetime import datetime

import numpy as np
import pytest
from support.terminal import ROWS, silent, write_log

from setanon_core.model.inputs import Baskets, Log
from setanon_core.utility.compare import measure_baskets, measure_log
from setanon_dagster.cli.utility import HEADER, format_scores, source_utility
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.source import Source


def asked(source, **knobs):
    return ReleaseConfig(name="some", source=source, k=2, out="nowhere", **knobs)


def same(one, other):
    for mine, yours in zip(one, other, strict=True):
        assert (mine.name, mine.meaning, mine.cases) == (yours.name, yours.meaning, yours.cases)
        pairs = [
            (mine.original, yours.original),
            (mine.release, yours.release),
            (mine.paper, yours.paper),
        ]
        assert np.array_equal(*np.transpose(pairs), equal_nan=True)


def test_a_log_has_the_measures_of_the_core(tmp_path):
    config = asked(Source(str(write_log(tmp_path))))
    users, times, queries = zip(*ROWS, strict=True)
    log = Log(users, [datetime.fromisoformat(time) for time in times], queries)

    same(source_utility(config), measure_log(log, config.params()))


@pytest.mark.parametrize("with_user", [False, True])
def test_baskets_have_the_measures_of_the_core(tmp_path, with_user):
    lines = ["glimmerwick,thornbury,quxxolot"] * 3 + ["glimmerwick,thornbury", "thornbury,kestrel"]
    path = tmp_path / "baskets.csv"
    path.write_text("\n".join(lines) + "\n")
    source = Source(str(path), kind="baskets", layout="lines", with_user=with_user)
    baskets = Baskets.from_lines(lines, ",", with_user=with_user)
    config = asked(source)

    same(source_utility(config), measure_baskets(baskets, config.params()))


def test_what_is_printed_is_numbers_under_their_header(tmp_path):
    lines = list(format_scores(source_utility(asked(Source(str(write_log(tmp_path)))))))

    assert {len(line) for line in lines} == {len(HEADER)}
    assert silent("\n".join(lines))
    assert any(" 1.000 " in line for line in lines)
    # Nobody in so small a log asks a next query: there is no share of nothing.
    assert lines[0].split() == ["next", "query:", "hits", "at", "1", "-", "-", "-", "0"]
