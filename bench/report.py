"""What was measured, written down after each part: Markdown to paste, and JSON to compute with."""

import json
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import table

Row = dict[str, object]

PACKAGES = (
    *("setanon", "numpy", "scipy", "rapidfuzz", "datasketch"),
    *("duckdb", "pyarrow", "pandas", "dagster", "great-expectations"),
)
GIGABYTE = 1 << 30


class Report:
    """Sections by name; one that is told again takes the place of what it said before."""

    def __init__(self, out: Path, settings: Row) -> None:
        """Write to this folder."""
        self.out = out
        self.settings = settings
        self.sections: dict[str, list[Row]] = {}
        out.mkdir(parents=True, exist_ok=True)

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """Keep a section, and write all of them: the next part may not come back."""
        self.sections[name] = list(rows)
        told = {"settings": self.settings, "sections": self.sections}
        (self.out / "benchmarks.md").write_text(self.text(), encoding="utf-8")
        (self.out / "benchmarks.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")

    def section(self, name: str) -> str:
        """One section as Markdown."""
        return f"## {name}\n\n{table(self.sections[name])}\n"

    def text(self) -> str:
        """All sections."""
        return "\n".join(map(self.section, self.sections))

    def paste(self, document: Path) -> None:
        """Put each table into the document: over the old one of that name, or at the end."""
        text = document.read_text(encoding="utf-8")
        for name in self.sections:
            old = re.compile(rf"^## {re.escape(name)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
            new = self.section(name)
            if old.search(text):
                text = old.sub(lambda _, new=new: f"{new}\n", text)
            else:
                text = f"{text.rstrip()}\n\n{new}\n"
        document.write_text(text.rstrip() + "\n", encoding="utf-8")


def machine() -> list[Row]:
    """Where this runs, and with what."""
    return [
        {
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "memory GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIGABYTE),
            "system": platform.system(),
            "python": platform.python_version(),
            **{name: _version(name) for name in PACKAGES},
        }
    ]


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "from its folder"
