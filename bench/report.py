"""Write the measurements after each part: Markdown tables, and JSON."""

import json
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from markdown_table import Row, table

PACKAGES = (
    *("setanon", "numpy", "scipy", "rapidfuzz", "datasketch"),
    *("duckdb", "pyarrow", "pandas", "dagster", "great-expectations"),
)
GIGABYTE = 1 << 30


class Report:
    """Tables by section name; a section that is added again replaces the older one."""

    def __init__(self, out: Path, settings: Row) -> None:
        """Create the output folder."""
        self.out = out
        self.settings = settings
        self.sections: dict[str, list[Row]] = {}
        out.mkdir(parents=True, exist_ok=True)

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """Add a section, and write all of them, as a later part may crash."""
        self.sections[name] = list(rows)
        measured = {"settings": self.settings, "sections": self.sections}
        (self.out / "benchmarks.md").write_text(self.text(), encoding="utf-8")
        (self.out / "benchmarks.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")

    def section(self, name: str) -> str:
        """One section as Markdown."""
        return f"## {name}\n\n{table(self.sections[name])}\n"

    def text(self) -> str:
        """All sections as Markdown."""
        return "\n".join(map(self.section, self.sections))

    def paste(self, document: Path) -> None:
        """Replace the sections of these names in a document; append the others."""
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
    """The machine and the versions of the packages."""
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
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
