"""The page of a report: contents, safety, accessibility and size."""

import re
import time
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from math import inf, nan

import pytest
from support.reports import COST, LOSSES, SMALL, THREADS, VERDICT, Page, certified, point

from setanon_core.grouping.methods import RECIPES
from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.report.decision import Decision
from setanon_dagster.report.model import GroupSize, RoundCost, ShownThread, Word
from setanon_dagster.report.page import page
from setanon_dagster.report.tables import factor, size_bins
from setanon_dagster.report.wording import ROUNDS
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure

pytest.importorskip("jinja2")

HOSTILE = "<script>alert(1)</script><img src=x onerror='a(\"b\")'>&amp;]]>--></style>{{ 7*7 }}$x^2$"
SECTIONS = [
    "verdict", "terms", "promises", "risk", "threads", "verifier", "cost", "loss", "groups",
    "retained", "optimal", "utility", "settings",
]  # fmt: skip


@pytest.fixture
def _no_figures(monkeypatch):
    """As without matplotlib; also faster for tests that need no figures."""
    monkeypatch.setattr("setanon_dagster.report.drawing.can_draw", lambda: False)


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
        risk=(AttackResult(HOSTILE, HOSTILE, HOSTILE, (RiskFigure(HOSTILE, 1, 2),)),),
        threads=(ShownThread(tuple((Word(HOSTILE, change),) for change in CHANGES)),),
    )


CHANGES = ("kept", "deleted", "added")


def test_equal_reports_give_equal_bytes_with_any_matplotlib_settings():
    mpl = pytest.importorskip("matplotlib")
    first = page(SMALL)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "other"}):
        assert page(SMALL) == first
    assert page(replace(SMALL, losses=LOSSES)) == first


def test_sections_are_in_order_and_the_verdict_is_first():
    parsed = Page(page(replace(SMALL, threads=THREADS)))
    assert [each["id"] for each in parsed.attributes("section")] == SECTIONS
    text = parsed.text()
    for wanted in ("k requested", "Smallest group", "3 users", "Violations", "0" * 64):
        assert wanted in text


def test_page_loads_no_other_file():
    text = page(replace(SMALL, threads=THREADS))
    parsed = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {
        t for t, _ in parsed.elements
    }
    links = [value for _, a in parsed.elements for name, value in a.items() if "href" in name]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    policies = [a["content"] for a in parsed.attributes("meta") if "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_markup_in_values_is_escaped():
    harmless = {tag for tag, _ in Page(page(replace(SMALL, threads=THREADS))).elements}
    text = page(hostile_report())
    parsed = Page(text)
    assert {tag for tag, _ in parsed.elements} <= harmless | {"ul", "li"}
    assert not [name for _, a in parsed.elements for name in a if name.startswith("on")]
    assert "<script" not in text
    assert "49" not in "".join(parsed.texts["bdi"])
    assert HOSTILE[:40] in "".join(parsed.texts["bdi"])


@pytest.mark.usefixtures("_no_figures")
def test_unprintable_characters_are_replaced():
    word = "\u202eevil\x00\x1b\ud800\u200d"
    shown = page(replace(SMALL, threads=(ShownThread(((Word(word, "kept"),),)),)))
    assert "<bdi>\ufffdevil\ufffd\ufffd\ufffd\u200d</bdi>" in shown
    shown.encode("utf-8")


@pytest.mark.usefixtures("_no_figures")
def test_very_long_word_is_truncated():
    text = page(replace(SMALL, threads=(ShownThread(((Word("a" * 10_000, "kept"),),)),)))
    assert "a" * 80 + "…" in text
    assert "a" * 81 not in text


def test_structure_is_accessible_to_screen_readers_and_keyboards():
    text = page(replace(SMALL, threads=THREADS))
    parsed = Page(text)
    ids = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))
    labels = {a["aria-labelledby"] for _, a in parsed.elements if "aria-labelledby" in a}
    links = {a["href"].removeprefix("#") for a in parsed.attributes("a")}
    assert len(labels) >= len(SECTIONS)
    assert labels | links <= set(ids)
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(parsed.attributes("table")) == len(parsed.attributes("caption")) >= 8
    assert all(a.get("scope") in {"col", "row"} for a in parsed.attributes("th"))
    assert all(
        a.get("tabindex") == "0" for a in parsed.attributes("div") if a.get("role") == "region"
    )
    assert parsed.attributes("html") == [{"lang": "en"}]
    assert [tag for tag, _ in parsed.elements if tag in {"header", "main", "nav", "footer"}] == [
        "header", "main", "nav", "footer",
    ]  # fmt: skip
    assert parsed.attributes("a")[0] == {"class": "skip", "href": "#main"}


def test_each_figure_has_a_caption_and_a_table():
    pytest.importorskip("matplotlib")
    parsed = Page(page(SMALL))
    images = [a for a in parsed.attributes("div") if a.get("role") == "img"]
    assert [a["aria-labelledby"] for a in images] == [
        "losses-caption",
        "sizes-caption",
        "sweep-caption",
    ]
    assert [a["class"] for a in parsed.attributes("svg")] == ["wide", "narrow"] * 3
    assert len(parsed.attributes("figcaption")) == 3
    assert all(a["aria-hidden"] == "true" for a in parsed.attributes("svg"))
    assert (
        "At k = 2: best 80.0%, paper 60.0%; no solution retains more than 90.0%." in parsed.text()
    )
    assert "20 groups; 12 of them, 60.0%, have exactly k = 3 users" in parsed.text()


def test_figures_use_only_color_variables_of_the_page():
    pytest.importorskip("matplotlib")
    text = page(SMALL)
    figures = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert "var(--first)" in figures
    assert not re.findall(r"#[0-9a-f]{6}\b", re.sub(r'(id="|url\(#|href="#)[^")]*', "", figures))


@pytest.mark.usefixtures("_no_figures")
def test_tables_are_open_without_matplotlib():
    parsed = Page(page(SMALL))
    assert not parsed.attributes("svg")
    assert [a for a in parsed.attributes("details") if "open" in a] == [{"open": None}] * 3


def colors(text):
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", text))


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_color_schemes(scheme):
    css = (files("setanon_dagster.report") / "templates" / "report.css").read_text()
    light, dark = css.split("prefers-color-scheme: dark")
    palette = colors(light if scheme == "light" else dark)
    assert set(palette) == {
        "paper", "panel", "ink", "soft", "line", "first", "second", "good", "bad",
    }  # fmt: skip
    for ink in ("ink", "soft", "first", "second", "good", "bad"):
        for ground in ("paper", "panel"):
            assert contrast(palette[ink], palette[ground]) >= 4.5, (ink, ground)


@pytest.mark.usefixtures("_no_figures")
def test_words_are_on_the_page_only_with_shown_threads():
    assert SMALL.threads == ()
    plain = Page(page(SMALL))
    assert not plain.attributes("del")
    assert not plain.attributes("ins")
    text = page(replace(SMALL, threads=THREADS))
    assert re.search(r"<del>.*deleted: .*<bdi>ashby</bdi></del>", text)
    assert re.search(r"<ins>.*added: .*<bdi>mulch</bdi></ins>", text)
    assert "Thread 2: withdrawn" in text
    assert "never share" in text
    assert "never share" not in page(SMALL)
    assert "ashby" not in repr(replace(SMALL, threads=THREADS))


@pytest.mark.usefixtures("_no_figures")
@pytest.mark.parametrize(
    "verdict",
    [{"violations": 4}, {"rare_keywords": 1}, {"of_a_later_version": 1}, {"smallest_group": 2}],
)
def test_any_violation_refuses_the_release(verdict):
    text = page(certified(verdict={**VERDICT, **verdict}))
    assert "must not be published" in text
    assert "Verified" not in text
    assert "Verified" in page(SMALL)


@pytest.mark.usefixtures("_no_figures")
@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        ({"factor": 1.0, "lower_bound": 100}, "The cost equals the lower bound"),
        ({"factor": None, "lower_bound": 0}, "No lower bound was found"),
        ({"factor": 1.25}, "is never farther from it"),
    ],
)
def test_distance_from_the_optimum_depends_on_the_lower_bound(cost, sentence):
    assert sentence in page(certified(cost={**COST, **cost})).replace("\n", " ")


@pytest.mark.usefixtures("_no_figures")
def test_undefined_utility_is_shown_as_a_dash():
    measure = UtilityMeasure("Top words", "Share of words.", 0.75, nan, inf, 0)
    row = re.search("Top words</th>(.*?)</tr>", page(replace(SMALL, utility=(measure,))))
    assert re.findall(">([^<]+)</td>", row[1]) == ["75.0%", "-", "-"]


def test_each_improvement_step_has_a_description():
    steps = {step.improver.__name__ for step in RECIPES["best"].steps}
    assert steps <= ROUNDS.keys()


def test_factor_is_rounded_up():
    assert factor(1.00001) == "1.001"
    assert factor(1.0984) == "1.099"
    assert factor(1.1) == "1.100"
    assert factor(1.0) == "1.000"
    assert factor(None) == "unknown"


@pytest.mark.usefixtures("_no_figures")
def test_unit_of_records_without_users_is_record():
    text = page(certified(unit="record"))
    assert "each record counts as one user" in text
    assert "records per group" in text


def test_report_without_counts_has_a_page():
    bare = replace(SMALL, rounds=(), sizes=(), losses=None, sweep=(), utility=())
    parsed = Page(page(bare))
    assert [each["id"] for each in parsed.attributes("section")] == [
        each for each in SECTIONS if each not in {"utility", "threads"}
    ]


def test_each_group_is_in_one_bin():
    for k in range(2, 40):
        for sizes in ([k], [k, k + 1, 5 * k], range(1, 300), []):
            binned = size_bins([GroupSize(users, 2, 3 * users) for users in sizes], k)
            assert sum(each.groups for each in binned) == 2 * len(sizes)
            assert sum(each.threads for each in binned) == 3 * sum(sizes)
            assert len({each.label for each in binned}) == len(binned)
    assert [each.label for each in size_bins([GroupSize(30, 1, 1)], 3)] == [
        "3", "4 to 5", "6 to 11", "12 to 23", "24 to 47",
    ]  # fmt: skip


def test_page_of_a_large_release_is_small_and_fast():
    sizes = tuple(GroupSize(users, 10**6 // users + 1, 10**6) for users in range(3, 6_000))
    sweep = tuple(point(k, method, 1 / k) for k in range(2, 51) for method in ("best", "paper"))
    start = time.process_time()
    text = page(replace(SMALL, sizes=sizes, sweep=sweep, threads=THREADS))
    assert time.process_time() - start < 5
    assert len(text.encode()) < 500_000


def test_templates_are_files_of_the_package():
    folder = files("setanon_dagster.report") / "templates"
    assert {each.name for each in folder.iterdir()} == {
        "parts.html.j2", "report.css", "report.html.j2",
    }  # fmt: skip


@pytest.mark.usefixtures("_no_figures")
def test_risk_has_the_column_of_the_paper_only_in_a_full_report():
    column = ">paper&#39;s method</th>"
    plain = page(SMALL)
    assert "75.0%" in plain
    assert "0.500" in plain
    assert "No published thread has a list" in plain
    assert plain.count(column) == 2
    (attack,) = SMALL.risk
    compared = replace(attack, figures=(RiskFigure("list of one user", 0.75, 0.0, 0.291),))
    full = page(replace(SMALL, risk=(compared,)))
    assert "29.1%" in full
    assert full.count(column) == 3


@pytest.mark.usefixtures("_no_figures")
def test_attack_that_does_not_apply_has_a_sentence_and_no_table():
    tested = RiskFigure("AUC", 0.6, 0.5, unit="score")
    for figure, tables in ((tested, 1), (replace(tested, raw=nan, release=nan), 0)):
        text = page(replace(SMALL, risk=(AttackResult("Stitching", "How.", "Found.", (figure,)),)))
        assert text.count("<caption>Stitching: figures") == tables
        assert "Found." in text


@pytest.mark.usefixtures("_no_figures")
def test_format_edited_is_verified_for_sets_only():
    verdict = {**VERDICT, "exposed_threads": 60, "single_user_threads": 30}
    text = page(certified(format="edited", verdict=verdict))
    assert "Verified for sets only" in text
    assert '<p class="verdict warned">' in text
    assert "66.7% of the threads" in text


@pytest.mark.usefixtures("_no_figures")
@pytest.mark.parametrize(
    ("approval", "sentence"),
    [("required", "waits for a decision"), ("none", "No approval was required")],
)
def test_report_says_whether_approval_was_required(approval, sentence):
    report = certified(approval=approval)
    assert sentence in page(report)
    decided = Decision(approved=True, by="Ann", at="2026-04-01T09:00:00+00:00")
    assert sentence not in page(replace(report, decision=decided))


@pytest.mark.usefixtures("_no_figures")
def test_risk_of_a_large_source_names_the_commands_that_attack_it():
    text = " ".join(page(replace(SMALL, risk=())).split())
    assert "No attack was run: the source is too large for a plain report." in text
    assert "setanon attack" in text
