"""Figures of a release stored as JSON in its private folder, and those of the release before it."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from setanon_dagster.gate.waiting import is_waiting
from setanon_dagster.report.release_facts import (
    ReleaseFacts,
    mean_chance_of_lists,
    mean_chance_of_people,
)
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import UNPUBLISHED
from setanon_dagster.verifier.release_folder import CERTIFICATE

FIGURES: Final = "report.json"
"""File name of the figures, in the private folder of the release."""

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EarlierRelease:
    """Name and figures of an earlier release of the same series."""

    name: str
    figures: Figures


def decision_figures(certificate: Mapping[str, Any], facts: ReleaseFacts | None) -> Figures:
    """The figures that are compared from release to release."""
    cost, verdict = certificate["cost"], certificate["verdict"]
    figures = {
        "k": certificate["k"],
        "published_threads": verdict["records"],
        "withdrawn": cost["withdrawals"] / max(cost["threads"], 1),
        "retained": cost["retained"],
    }
    if facts is None:
        return figures
    return figures | {
        "people": facts.people,
        "rows": facts.rows,
        "published_people": facts.published_people / max(facts.people, 1),
        "chance_of_lists": mean_chance_of_lists(facts.sharing),
        "chance_of_people": mean_chance_of_people(facts.sharing),
    }


def write_figures(figures: Figures, folder: Path) -> None:
    """Write the figures atomically into the private folder of their release."""
    with atomic_write(private_folder(folder) / FIGURES) as file:
        file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8", newline="\n")


def find_earlier(release: Path, name: str) -> EarlierRelease | None:
    """The release before this one in its series; None if this is the first.

    `release` is the private folder of a release, `name` that of its series. Parts are compared in
    their order, whatever the order of their publication; otherwise the last written comes last.
    """
    series = re.compile(rf"{re.escape(name)}(?:-(?P<part>.+))?-[0-9a-f]{{12}}")
    own = series.fullmatch(release.name)
    part = own["part"] if own else None
    found = []
    for folder in release.parent.iterdir():
        match = series.fullmatch(folder.name)
        written = folder / CERTIFICATE
        if match is None or folder.name == release.name or (match["part"] or "") > (part or ""):
            continue
        with suppress(OSError, ValueError, KeyError, TypeError):
            # A release that waits for approval, or was rejected, is not published.
            if not is_waiting(folder) and not (folder / UNPUBLISHED).exists():
                order = (match["part"] or "", written.stat().st_mtime_ns, folder.name)
                found.append((order, EarlierRelease(folder.name, _read_figures(folder))))
    return max(found, key=lambda each: each[0])[1] if found else None


def _read_figures(folder: Path) -> Figures:
    """The stored figures; those of the certificate if a release of an earlier version has none."""
    certificate = json.loads((folder / CERTIFICATE).read_text("utf-8"))
    figures = dict(decision_figures(certificate, None))
    with suppress(OSError, ValueError):
        stored = json.loads((folder / FIGURES).read_text("utf-8"))
        figures |= {key: value for key, value in stored.items() if isinstance(value, int | float)}
    return figures
