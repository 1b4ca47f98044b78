"""Data Docs without remote content: private pages must not run scripts or send requests.

Pages of Great Expectations load scripts, styles and a logo from six public servers. Their tables
are readable without them. The index page, which a script builds, is replaced by a static one.
"""

import re
from html import escape
from pathlib import Path
from typing import Final

HEAD: Final = """<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
 :root { color-scheme: light dark; }
 body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; }
 table { border-collapse: collapse; } td, th { padding: .3rem .8rem; text-align: left; }
 tr + tr { border-top: 1px solid #8888; } nav ol { display: flex; gap: 1rem; list-style: none; }
</style>
"""

SCRIPT: Final = re.compile(r"<script\b.*?</script\s*>", re.IGNORECASE | re.DOTALL)
REMOTE: Final = re.compile(
    r"""<(?:link|img|iframe)\b[^>]*?(?:href|src)\s*=\s*["']?(?:https?:)?//[^>]*>""", re.IGNORECASE
)
TITLES: Final = {"validations": "Results", "expectations": "Expectations"}


def make_offline(folder: Path) -> None:
    """Remove remote content from all pages in the folder, and write their index."""
    pages = sorted(path for path in folder.rglob("*.html") if path != folder / "index.html")
    for path in pages:
        text = REMOTE.sub("", SCRIPT.sub("", path.read_text("utf-8")))
        path.write_text(text.replace("<head>", f"<head>\n{HEAD}", 1), encoding="utf-8")
    (folder / "index.html").write_text(_index(folder, pages), encoding="utf-8")


def _index(folder: Path, pages: list[Path]) -> str:
    sections = [_section(folder, title, [path for path in pages if kind in path.parts])
                for kind, title in TITLES.items()]  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>Checks of a release</title>\n{HEAD}</head>\n<body><main>\n"
        f"<h1>Checks of a release</h1>\n{''.join(sections)}</main></body></html>\n"
    )


def _section(folder: Path, title: str, pages: list[Path]) -> str:
    links = (
        f'<li><a href="{escape(path.relative_to(folder).as_posix())}">'
        f"{escape(_check_name(folder, path).replace('_', ' '))}</a></li>\n"
        for path in pages
    )
    return f"<h2>{title}</h2>\n<ul>\n{''.join(links)}</ul>\n"


def _check_name(folder: Path, path: Path) -> str:
    """Name of the check: the stem of an expectation page, or the folder of a result page."""
    kind, name = path.relative_to(folder).parts[:2]
    return name if kind == "validations" else path.stem
