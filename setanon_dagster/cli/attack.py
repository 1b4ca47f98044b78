"""The command `attack`: figures and a sentence per attack as text and CSV; nothing is published."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

from setanon_dagster.cli.dry_run import raw_table
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.risk.attack_result import AttackResult
from setanon_dagster.risk.earlier_release import read_release
from setanon_dagster.risk.run_attacks import attack_table

NAME_WIDTH: Final = 58
CELL_WIDTH: Final = 9
WIDTH: Final = NAME_WIDTH + 3 * (CELL_WIDTH + 1)

COLUMNS: Final = ("raw log", "release", "paper")
HEADER: Final = " ".join(
    [f"{'attack':<{NAME_WIDTH}}", *(f"{name:>{CELL_WIDTH}}" for name in COLUMNS)]
)


def attack_source(
    config: ReleaseConfig, *, full: bool = False, earlier: Path | None = None
) -> Iterator[AttackResult]:
    """Attack a release of the source in memory; `earlier` is the folder of an earlier release."""
    # Read first: a wrong folder must fail before the slow steps.
    before = None if earlier is None else read_release(earlier)
    raw, kind = raw_table(config), config.source.kind
    yield from attack_table(raw, kind, config.params(), full=full, earlier=before)


def format_result(result: AttackResult) -> Iterator[str]:
    """The name of the attack, one line per figure, and the sentence about the release."""
    yield f"\n{result.name}"
    for figure in result.figures:
        cells = " ".join(f"{cell:>{CELL_WIDTH}}" for cell in figure.cells)
        yield f"  {figure.name:<{NAME_WIDTH - 2}} {cells}"
    yield from wrap(result.sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")


def write_csv(results: Iterable[AttackResult], path: Path) -> None:
    """Write one row per figure as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["attack", "figure", "unit", "raw_log", "release", "paper"])
        for result in results:
            for each in result.figures:
                writer.writerow(
                    [result.name, each.name, each.unit, each.raw, each.release, each.paper]
                )
