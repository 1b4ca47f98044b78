import contextlib
import io
import re
from pathlib import Path

import pytest
from test_case_study import SESSION, case_study

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPER = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


def test_the_readme_prints_what_it_says():
    code, printed = re.search(
        r"```python\n(from setanon_core.*?)```\n\nprints\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})  # noqa: S102 - our own README

    assert output.getvalue() == printed


def test_the_user_of_the_readme_is_the_one_of_the_case_study():
    rows = re.findall(
        r"^\| (?!she typed|-)(.*?) \| (.*?) \|$", README.split("\n## ")[0], re.MULTILINE
    )
    typed = [before.replace("~~", "") for before, _ in rows]
    read = [after.replace("**", "") for _, after in rows]
    hers = {query for thread in case_study()[0] for query in thread}

    assert len(rows) == 6
    assert set(typed) <= set(SESSION)
    assert set(read[:-1]) <= hers
    assert [re.sub(r"~~\S+~~ ?", "", before).strip() for before, _ in rows[:-1]] == [
        re.sub(r"\*\*\S+\*\* ?", "", after) for _, after in rows[:-1]
    ]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.py)`", PAPER))))
def test_every_file_that_the_guide_to_the_paper_names_exists(name):
    places = (".", "setanon_core", "setanon_core/grouping", "tests/paper", "tests/core")

    assert any((ROOT / place / name).exists() for place in places)


def test_every_deviation_of_a_module_has_its_file_in_the_guide_to_the_paper():
    told = set(re.findall(r"`([\w/]+)\.py`", PAPER))
    silent = [
        path.stem
        for path in sorted((ROOT / "setanon_core").rglob("*.py"))
        if re.search(r"^Deviation:  (?!none)", path.read_text(encoding="utf-8"), re.MULTILINE)
        and not {path.stem, f"grouping/{path.stem}"} & told
    ]

    assert silent == []
