"""The command `sweep`: the cost for each k equals the core's."""

import csv
import re
import sys
from datetime import datetime
from pathlib import Path

import pytest
from support.terminal import ROWS, call, text, write_log

from setanon_core.model.inputs import Baskets
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_dagster.report.wording import round_factor

KS = (2, 3, 6)

ROOT = Path(__file__).parents[2]


def assert_same_cost(row, cost):
    total = cost.certificate.cost
    expected = (cost.k, total.additions, total.deletions, total.withdrawals, cost.respellings)
    names = ("k", "additions", "deletions", "withdrawals", "respellings")
    assert tuple(int(row[name]) for name in names) == expected
    assert float(row["retained"]) == pytest.approx(cost.retained)
    assert float(row["factor"]) == round_factor(cost.certificate.factor)


@pytest.mark.slow
def test_page_which_k_shows_what_is_printed():
    page = (ROOT / "docs" / "how-to" / "choose-k.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    result = call("sweep", ROOT / "examples" / "searches.tsv", "--k", "2..5,10,20")
    assert result.stdout.startswith(shown)
    retained = {int(line.split()[0]): line.split()[2] for line in result.stdout.splitlines()[1:]}
    assert f"| 1,000 | {' | '.join(retained[k] for k in (3, 5, 10, 20))} |" in page


@pytest.mark.parametrize("method", ["best", "paper"])
def test_sweep_of_a_log_has_the_costs_of_the_core(tmp_path, method):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    options = ["--k", "2..3,6", "--method", method, "--p", 1, "--out", out]
    result = call("sweep", write_log(tmp_path), *options)
    assert result.exit_code == 0, result.output
    log = [(user, datetime.fromisoformat(time), query) for user, time, query in ROWS]
    params = ReleaseParams(k=2, method=method, p=1)
    costs = list(sweep_threads(threads_of_log(log, params), params, KS))
    with (out / "sweep.csv").open(newline="") as file:
        for row, cost in zip(csv.DictReader(file), costs, strict=True):
            assert_same_cost(row, cost)
    printed = [line.split() for line in result.stdout.splitlines()[1 : 1 + len(KS)]]
    assert [line[:3] for line in printed] == [
        [str(cost.k), method, f"{cost.retained:.1%}"] for cost in costs
    ]
    assert (out / "sweep.png").stat().st_size > 1000
    assert sorted(path.name for path in out.iterdir()) == ["sweep.csv", "sweep.png"]


def test_sweep_of_baskets_compares_with_the_paper(tmp_path):
    path = tmp_path / "baskets.csv"
    pairs = [(str(n), word) for n in range(4) for word in ("glimmerwick", "thornbury")[: 1 + n % 2]]
    path.write_text(text([("record", "item"), *pairs], ","))
    figure = tmp_path / "cost.svg"
    result = call("sweep", path, "--kind", "baskets", "--k", 2, "--compare", "--plot", figure)
    assert result.exit_code == 0, result.output
    records, items = zip(*pairs, strict=True)
    threads = threads_of_baskets(Baskets(records, items, records))
    for line, method in zip(result.stdout.splitlines()[1:3], ("best", "paper"), strict=True):
        (cost,) = sweep_threads(threads, ReleaseParams(k=2, method=method), [2])
        total = cost.certificate.cost
        assert line.split()[1:5] == [
            method, f"{cost.retained:.1%}", str(total.additions), str(total.deletions),
        ]  # fmt: skip
    assert figure.read_text().startswith("<?xml")


def test_missing_matplotlib_prints_the_table_and_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = call("sweep", write_log(tmp_path), "--k", "2", "--plot", tmp_path / "cost.png")
    assert result.exit_code == 1
    assert "95.2%" in result.stdout
    assert "pip install 'setanon[plot]'" in result.stderr
