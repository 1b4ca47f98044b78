import json
import stat
from collections import Counter
from math import inf
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.reports import COST, SMALL, certified

from setanon_core.errors import SetanonError
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.build import report_of, write_report
from setanon_dagster.report.model import GroupSize, RoundCost, sweep_points
from setanon_dagster.report.sample import MAX_QUERIES, THREADS_PER_KIND, compare

TYPED = {
    0: ("ann", "pine straw ashby"), 1: ("bob", "pine straw ashby"), 2: ("cem", "pine straw mulch"),
    3: ("ann", "garden hose"), 4: ("bob", "garden"), 5: ("dan", "hose garden"),
    6: ("gil", "xylotrope quimsby"), 7: ("hal", "pine garden hose straw quay"),
    8: ("ann", "pine straw ashby"),
}  # fmt: skip
CENTERS = {0: "pine straw", 1: "garden hose"}
GROUPS = {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 8: 0}
"""Two groups: ann is twice in the first, bob lacks a hose; six and seven are withdrawn."""

ROUNDS = [("star", 3, 9, 4), ("rescue", 1, 9, 2), ("total", 1, 11, 2)]


def thread_id(thread):
    return f"{thread:032x}"


def cost_rows():
    return [
        {"k": k, "method": method, "round": name, "additions": a, "deletions": d, "withdrawals": w}
        for k, method in ((3, "best"), (3, "paper"), (4, "best"))
        for name, a, d, w in ROUNDS
    ]


@pytest.fixture
def stages(tmp_path):
    """The files of a small release, of queries."""
    tables = {
        "clusters": [
            {"thread": thread, "user": user, "words": text.split(), "lengths": [len(text.split())],
             "items": sorted(set(text.split()))}
            for thread, (user, text) in TYPED.items()
        ],
        "ledger": [
            {"thread_id": thread_id(thread), "thread": thread, "user": TYPED[thread][0]}
            for thread in GROUPS
        ],
        "anonymized_threads": [
            {"thread_id": thread_id(thread), "group": group, "position": 0, "query": CENTERS[group]}
            for thread, group in GROUPS.items()
        ],
        "cost_report": cost_rows(),
    }  # fmt: skip
    for stage, rows in tables.items():
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / f"{stage}.parquet")
    return {stage: tmp_path / f"{stage}.parquet" for stage in tables}


def certificate(**changes):
    cost = {**COST, "additions": 1, "deletions": 11, "threads": 9, "keywords": 24}
    return certified(cost=cost, **changes).certificate


def counted(certificate, stages, **options):
    with open_stages(stages) as connection:
        return report_of("trial", certificate, connection, **options)


def test_a_user_counts_once_in_a_group(stages):
    found = counted(certificate(), stages)
    assert found.sizes == (GroupSize(users=3, groups=2, threads=7),)


def test_every_deletion_has_one_cause(stages):
    # Too few own mulch, ashby (three threads, two users), xylotrope, quimsby and quay.
    losses = counted(certificate(), stages).losses
    assert (losses.rare_published, losses.rare_withdrawn, losses.other_withdrawn) == (4, 3, 4)
    assert (losses.in_groups, losses.added) == (0, 1)
    assert losses.deleted == 11
    assert (losses.threads_all_rare, losses.threads_too_costly) == (1, 1)


def test_nothing_is_rare_if_owners_do_not_matter(stages):
    losses = counted(certificate(min_owners=0), stages).losses
    assert (losses.rare_published, losses.rare_withdrawn, losses.other_withdrawn) == (0, 0, 7)
    assert (losses.in_groups, losses.threads_too_costly) == (4, 2)


def test_rounds_are_those_of_this_k_and_method(stages):
    found = counted(certificate(), stages)
    assert found.rounds == (RoundCost("star", 3, 9, 4), RoundCost("rescue", 1, 9, 2))


def test_words_are_counted_and_not_kept(stages):
    assert counted(certificate(), stages).threads == ()


def test_threads_of_each_kind_are_shown(stages):
    shown = counted(certificate(), stages, show_threads=True).threads
    told = [
        (thread.withdrawn, thread.count("kept"), thread.count("deleted"), thread.count("added"))
        for thread in shown
    ]
    assert Counter(told) == {
        (False, 1, 1, 1): 1, (False, 1, 0, 1): 1, (False, 2, 1, 0): THREADS_PER_KIND,
        (False, 2, 0, 0): 1, (True, 0, 2, 0): 1, (True, 0, 5, 0): 1,
    }  # fmt: skip


def test_sets_are_shown_as_sets(stages):
    sets = [
        {"thread_id": thread_id(thread), "group": group, "keywords": CENTERS[group].split()}
        for thread, group in GROUPS.items()
    ]
    parquet.write_table(pa.Table.from_pylist(sets), stages["anonymized_threads"])
    shown = counted(certificate(format="sets"), stages, show_threads=True).threads
    assert [len(thread.queries) for thread in shown] == [1] * len(shown)
    assert ["garden", "hose"] in [[word.text for word in each.queries[0]] for each in shown]


def test_a_long_thread_is_not_shown(stages):
    many = ["pine"] * (MAX_QUERIES + 1)
    rows = parquet.read_table(stages["clusters"]).to_pylist()
    long = [{**row, "words": many, "lengths": [1] * len(many)} for row in rows]
    parquet.write_table(pa.Table.from_pylist(long), stages["clusters"])
    assert counted(certificate(), stages, show_threads=True).threads == ()


QUERIES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=4)


@given(QUERIES, QUERIES)
def test_a_comparison_has_the_words_of_both_sides_in_their_order(before, after):
    words = [word for query in compare(before, after) for word in query]
    for queries, change in ((before, "added"), (after, "deleted")):
        assert [word.text for word in words if word.change != change] == [
            word for query in queries for word in query
        ]


@given(QUERIES, st.sets(st.sampled_from("abcd")))
def test_what_stays_is_kept_whatever_is_repeated(before, kept):
    after = [[word for word in query if word in kept] for query in before]
    found = compare(before, [query for query in after if query])
    assert [[word.text for word in query] for query in found] == before
    assert all((word.change == "kept") == (word.text in kept) for query in found for word in query)


def test_a_file_that_lacks_a_column_is_refused_without_its_contents(stages):
    parquet.write_table(pa.table({"thread": ["quimsby"]}), stages["clusters"])
    with pytest.raises(SetanonError, match="must have the columns of their stage") as raised:
        counted(certificate(), stages)
    assert "quimsby" not in str(raised.value)


def test_what_spills_lies_in_a_private_folder(stages, tmp_path):
    spill = tmp_path / "spill"
    with open_stages(stages, spill=spill, memory="100MB", cores=1) as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert spill in Path(folder).parents
        assert stat.S_IMODE(spill.stat().st_mode) == 0o700
    assert list(spill.iterdir()) == []


def test_the_page_is_for_its_owner_alone(tmp_path):
    folder = tmp_path / "private" / "trial"
    first = write_report(SMALL, folder)
    written = first.read_bytes()
    assert write_report(SMALL, folder) == first == folder / "report.html"
    assert first.read_bytes() == written
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    page = write_report(SMALL, tmp_path)
    written = page.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError))
    with pytest.raises(OSError):  # noqa: PT011 - of the disk, in whatever words
        write_report(certified(k=4), tmp_path)
    assert page.read_bytes() == written
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_sweep_without_a_bound_has_no_ceiling():
    rows = [
        {"k": 2, "method": "best", "round": name, "retained": 0.5, "additions": 0, "deletions": 5,
         "withdrawals": 1, "lower_bound": bound, "keywords": 10, "factor": factor}
        for name, bound, factor in (("star", 4, 2.0), ("total", 4, 1.25), ("total", 0, inf))
    ]  # fmt: skip
    assert [point.upper_bound for point in sweep_points(rows)] == [0.6, None]


def test_a_real_release_agrees_with_its_certificate(good):
    from support.trial import path_of

    config, _ = good
    latest = (Path(config.out) / "releases" / "latest").resolve()
    told = json.loads((latest / "certificate.json").read_text())
    stages = ("anonymized_threads", "ledger", "clusters", "cost_report")
    found = counted(told, {stage: path_of(config, stage) for stage in stages})
    assert found.anonymous
    assert found.sizes[0].users == told["verdict"]["smallest_group"]
    assert sum(size.groups for size in found.sizes) == told["verdict"]["groups"]
    assert sum(size.threads for size in found.sizes) == told["verdict"]["records"]
    assert found.losses.deleted == told["cost"]["deletions"]
    lost = found.losses.threads_all_rare + found.losses.threads_too_costly
    assert lost == told["cost"]["withdrawals"]
    assert found.rounds[-1].total == told["cost"]["additions"] + told["cost"]["deletions"]
