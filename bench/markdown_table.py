"""Tables of measurements as Markdown."""

from collections.abc import Iterable

Row = dict[str, object]
"""One row of a table: column names and values."""


def table(rows: Iterable[Row]) -> str:
    """Rows as a Markdown table: columns in order of first appearance, without empty ones."""
    rows = list(rows)
    if not rows:
        return "None."
    names = dict.fromkeys(name for row in rows for name in row)
    shown = [name for name in names if any(row.get(name, "") != "" for row in rows)]
    lines = ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in shown) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    grouped = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if grouped else str(value).replace("|", "\\|")
