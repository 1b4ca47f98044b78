import re
import time
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from math import inf

import pytest
from support.reports import COST, LOSSES, SMALL, THREADS, VERDICT, Page, certified, point

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.report.model import GroupSize, RoundCost, ShownThread, Word
from setanon_dagster.report.page import page
from setanon_dagster.report.tables import factor, size_bins

pytest.importorskip("jinja2")

HOSTILE = "<script>alert(1)</script><img src=x onerror='a(\"b\")'>&amp;]]>--></style>{{ 7*7 }}$x^2$"
SECTIONS = [
    "verdict", "cost", "retained", "groups", "optimal", "loss", "utility", "threads", "settings",
    "promises",
]  # fmt: skip


@pytest.fixture
def _undrawn(monkeypatch):
    """Nothing to draw with; and soon done, where the figures do not matter."""
    monkeypatch.setattr("setanon_dagster.report.figures.can_draw", lambda: False)


def hostile_report():
    return replace(
        certified(
            parameters={"method": HOSTILE, HOSTILE: HOSTILE},
            versions={"setanon": HOSTILE, HOSTILE: HOSTILE},
            sha256={HOSTILE: HOSTILE},
            verdict={**VERDICT, HOSTILE: 4},
        ),
        name=HOSTILE,
        rounds=(RoundCost(HOSTILE, 1, 2, 3),),
        sweep=(point(2, HOSTILE, 0.5), point(3, HOSTILE, 0.4)),
        utility=(UtilityMeasure(HOSTILE, HOSTILE, 1.0, 0.5, inf, 1),),
        threads=(ShownThread(tuple((Word(HOSTILE, kind),) for kind in KINDS)),),
    )


KINDS = ("kept", "deleted", "added")


def test_the_same_report_gives_the_same_bytes():
    mpl = pytest.importorskip("matplotlib")
    first = page(SMALL)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "other"}):
        assert page(SMALL) == first
    assert page(replace(SMALL, losses=LOSSES)) == first


def test_the_sections_come_in_their_order_and_the_verdict_first():
    read = Page(page(replace(SMALL, threads=THREADS)))
    assert [each["id"] for each in read.of("section")] == SECTIONS
    said = read.said()
    for wanted in ("k requested", "Smallest group", "3 users", "Violations", "0" * 64):
        assert wanted in said


def test_nothing_from_elsewhere_is_loaded():
    text = page(replace(SMALL, threads=THREADS))
    read = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {t for t, _ in read.elements}
    links = [value for _, a in read.elements for name, value in a.items() if "href" in name]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    policies = [a["content"] for a in read.of("meta") if "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_hostile_words_stay_words():
    harmless = {tag for tag, _ in Page(page(replace(SMALL, threads=THREADS))).elements}
    text = page(hostile_report())
    read = Page(text)
    assert {tag for tag, _ in read.elements} <= harmless | {"ul", "li"}
    assert not [name for _, a in read.elements for name in a if name.startswith("on")]
    assert "<script" not in text
    assert "49" not in "".join(read.texts["bdi"])
    assert HOSTILE[:40] in "".join(read.texts["bdi"])


@pytest.mark.usefixtures("_undrawn")
def test_what_cannot_be_seen_is_marked():
    word = "\u202eevil\x00\x1b\ud800\u200d"
    shown = page(replace(SMALL, threads=(ShownThread(((Word(word, "kept"),),)),)))
    assert "<bdi>\ufffdevil\ufffd\ufffd\ufffd\u200d</bdi>" in shown
    shown.encode("utf-8")


@pytest.mark.usefixtures("_undrawn")
def test_a_very_long_word_is_cut():
    text = page(replace(SMALL, threads=(ShownThread(((Word("a" * 10_000, "kept"),),)),)))
    assert "a" * 80 + "…" in text
    assert "a" * 81 not in text


def test_who_listens_or_types_finds_everything():
    text = page(replace(SMALL, threads=THREADS))
    read = Page(text)
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    labels = {a["aria-labelledby"] for _, a in read.elements if "aria-labelledby" in a}
    links = {a["href"].removeprefix("#") for a in read.of("a")}
    assert len(labels) >= len(SECTIONS)
    assert labels | links <= set(ids)
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(read.of("table")) == len(read.of("caption")) >= 8
    assert all(a.get("scope") in {"col", "row"} for a in read.of("th"))
    assert all(a.get("tabindex") == "0" for a in read.of("div") if a.get("role") == "region")
    assert read.of("html") == [{"lang": "en"}]
    assert [tag for tag, _ in read.elements if tag in {"header", "main", "nav", "footer"}] == [
        "header", "main", "nav", "footer",
    ]  # fmt: skip
    assert read.of("a")[0] == {"class": "skip", "href": "#main"}


def test_a_figure_has_words_and_a_table_for_those_who_cannot_see_it():
    pytest.importorskip("matplotlib")
    read = Page(page(SMALL))
    images = [a for a in read.of("div") if a.get("role") == "img"]
    assert [a["aria-labelledby"] for a in images] == [
        "sweep-caption",
        "sizes-caption",
        "losses-caption",
    ]
    assert len(read.of("svg")) == len(read.of("figcaption")) == 3
    assert all(a["aria-hidden"] == "true" for a in read.of("svg"))
    assert "At k = 2: best 80.0%, paper 60.0%; no solution retains more than 90.0%." in read.said()
    assert "20 groups; 12 of them, 60.0%, have exactly k = 3 users" in read.said()


def test_figures_have_the_colours_of_the_page_and_no_others():
    pytest.importorskip("matplotlib")
    text = page(SMALL)
    figures = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert "var(--first)" in figures
    assert not re.findall(r"#[0-9a-f]{6}\b", re.sub(r'(id="|url\(#|href="#)[^")]*', "", figures))


@pytest.mark.usefixtures("_undrawn")
def test_without_matplotlib_the_tables_are_open():
    read = Page(page(SMALL))
    assert not read.of("svg")
    assert [a for a in read.of("details") if "open" in a] == [{"open": None}] * 3


def colours(text):
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", text))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(scheme):
    css = (files("setanon_dagster.report") / "templates" / "report.css").read_text()
    light, dark = css.split("prefers-color-scheme: dark")
    found = colours(light if scheme == "light" else dark)
    assert set(found) == {
        "paper", "panel", "ink", "soft", "line", "first", "second", "good", "bad",
    }  # fmt: skip
    for ink in ("ink", "soft", "first", "second", "good", "bad"):
        for ground in ("paper", "panel"):
            assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)


@pytest.mark.usefixtures("_undrawn")
def test_words_are_on_the_page_only_if_somebody_asked():
    assert SMALL.threads == ()
    silent = Page(page(SMALL))
    assert not silent.of("del")
    assert not silent.of("ins")
    text = page(replace(SMALL, threads=THREADS))
    assert re.search(r"<del>.*deleted: .*<bdi>ashby</bdi></del>", text)
    assert re.search(r"<ins>.*added: .*<bdi>mulch</bdi></ins>", text)
    assert "Thread 2: withdrawn" in text
    assert "never share" in text
    assert "never share" not in page(SMALL)
    assert "ashby" not in repr(replace(SMALL, threads=THREADS))


@pytest.mark.usefixtures("_undrawn")
@pytest.mark.parametrize(
    "verdict",
    [{"violations": 4}, {"rare_keywords": 1}, {"of_a_later_version": 1}, {"smallest_group": 2}],
)
def test_whatever_is_wrong_is_said_first(verdict):
    text = page(certified(verdict={**VERDICT, **verdict}))
    assert "must not be published" in text
    assert "Verified" not in text
    assert "Verified" in page(SMALL)


@pytest.mark.usefixtures("_undrawn")
@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ({"factor": 1.0, "lower_bound": 100}, "The cost equals the lower bound"),
        ({"factor": None, "lower_bound": 0}, "No lower bound was found"),
        ({"factor": 1.25}, "is never farther from it"),
    ],
)
def test_the_distance_from_the_optimum_is_told_as_far_as_it_is_known(cost, said):
    assert said in page(certified(cost={**COST, **cost})).replace("\n", " ")


def test_a_factor_is_rounded_up():
    assert factor(1.00001) == "1.001"
    assert factor(1.0984) == "1.099"
    assert factor(1.1) == "1.100"
    assert factor(1.0) == "1"
    assert factor(None) == "unknown"


@pytest.mark.usefixtures("_undrawn")
def test_records_without_users_are_called_records():
    text = page(certified(unit="record"))
    assert "each record counts as one user" in text
    assert "records per group" in text


def test_a_release_that_nobody_counted_has_a_page():
    bare = replace(SMALL, rounds=(), sizes=(), losses=None, sweep=(), utility=())
    read = Page(page(bare))
    assert [each["id"] for each in read.of("section")] == [
        each for each in SECTIONS if each not in {"utility", "threads"}
    ]


def test_every_group_is_in_one_bin():
    for k in range(2, 40):
        for sizes in ([k], [k, k + 1, 5 * k], range(1, 300), []):
            found = size_bins([GroupSize(users, 2, 3 * users) for users in sizes], k)
            assert sum(each.groups for each in found) == 2 * len(sizes)
            assert sum(each.threads for each in found) == 3 * sum(sizes)
            assert len({each.label for each in found}) == len(found)
    assert [each.label for each in size_bins([GroupSize(30, 1, 1)], 3)] == [
        "3", "4 to 5", "6 to 11", "12 to 23", "24 to 47",
    ]  # fmt: skip


def test_a_large_release_has_a_small_page_soon():
    sizes = tuple(GroupSize(users, 10**6 // users + 1, 10**6) for users in range(3, 6_000))
    sweep = tuple(point(k, method, 1 / k) for k in range(2, 51) for method in ("best", "paper"))
    start = time.process_time()
    text = page(replace(SMALL, sizes=sizes, sweep=sweep, threads=THREADS))
    assert time.process_time() - start < 5
    assert len(text.encode()) < 500_000


def test_the_template_is_a_file_of_the_package():
    folder = files("setanon_dagster.report") / "templates"
    assert {each.name for each in folder.iterdir()} == {
        "parts.html.j2", "report.css", "report.html.j2",
    }  # fmt: skip
