"""Data Docs: static pages of the results of Great Expectations, indexes and one page per check.

Great Expectations' own pages load scripts, styles and a logo from six public servers, and are hard
to read without them. Private pages must not run scripts or send requests.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from setanon_core.errors import SetanonError
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import lock_exclusively, temporary_folder

INDEX: Final = "index.html"
FAILED: Final = "~failed"
"""Appended to the folder of the last failed run; no name of a partition contains it."""

ALL: Final = "all"
"""Folder of a release without partitions."""

TIME: Final = "%Y-%m-%d %H:%M UTC"

PAGE: Final = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>$title</title>
<style>
 :root { color-scheme: light dark; --passed: light-dark(#176b2c, #7fd696);
  --failed: light-dark(#b3261e, #ff9c93); --soft: light-dark(#57606a, #a3adb8); --line: #8886; }
 body { background: Canvas; font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 56rem; padding: 0 1rem; }
 h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
 table { border-collapse: collapse; margin: 1.5rem 0; width: 100%; }
 td, th { border-bottom: 1px solid var(--line); padding: .5rem 1rem .5rem 0; text-align: left;
  vertical-align: top; }
 .counts td:last-child { font-variant-numeric: tabular-nums; text-align: right; }
 .counts { width: auto; }
 .passed, .failed { font-weight: 600; white-space: nowrap; } .passed { color: var(--passed); }
 .failed { color: var(--failed); } .note { color: var(--soft); }
 @media (max-width: 40rem) {
  .checks, .checks tbody { display: block; } .checks thead { display: none; }
  .checks tr { display: block; padding: .75rem 0;
   border-bottom: 1px solid var(--line); }
  .checks td { border: 0; display: block; padding: 0; }
  .failed { overflow-wrap: anywhere; white-space: normal; } }
 @media print { :root { color-scheme: light; } body { font-size: 10pt; margin: 0; max-width: none; }
  tr { break-inside: avoid; } td, th { padding: .2rem 1rem .2rem 0; } }
</style></head>
<body><main>
$body</main></body></html>
""")


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Whether a check passed, with its counts; or the error that kept it from running."""

    passed: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    """Our own error message, or the class of another exception, whose message may contain data."""

    page: Path | None = None
    """Index of the Data Docs of the run."""

    @classmethod
    def of_error(cls, error: Exception) -> "CheckOutcome":
        """A check that could not run has failed."""
        message = str(error) if isinstance(error, SetanonError) else type(error).__name__
        return cls(passed=False, error=message)

    @property
    def result(self) -> str:
        """The outcome in words."""
        if self.error is not None:
            return f"could not be checked ({self.error})"
        return "passed" if self.passed else "failed"


@dataclass(frozen=True, slots=True)
class DataDocs:
    """Where the Data Docs of a release, or of one partition, are written."""

    folder: Path
    """Pages of the last run that passed."""

    name: str
    """Name of the release and its partition, as shown on the pages."""

    @property
    def failed(self) -> Path:
        """Pages of the last run that failed: they never replace those of a run that passed."""
        return self.folder.with_name(self.folder.name + FAILED)

    def index(self, outcomes: Mapping[str, CheckOutcome]) -> Path:
        """The index of the pages of a run with these outcomes."""
        passed = all(outcome.passed for outcome in outcomes.values())
        return (self.folder if passed else self.failed) / INDEX


def write_data_docs(
    docs: DataDocs, outcomes: Mapping[str, CheckOutcome], descriptions: Mapping[str, str]
) -> None:
    """Write an index and one page per check; replace those of the last run with this result.

    The index of the release, in the folder above, has one line per partition and result.
    """
    target = docs.index(outcomes).parent
    when = f"{datetime.now(UTC):{TIME}}"
    others = {docs.folder: "the last run that passed", docs.failed: "the last run that failed"}
    del others[target]
    with temporary_folder(private_folder(target.parent)) as folder:
        pages = folder / target.name
        pages.mkdir(mode=0o700)
        index = "".join(_index(docs.name, when, outcomes, descriptions, others))
        _write(pages / INDEX, f"Checks of {docs.name}", index)
        for check, outcome in outcomes.items():
            body = "".join(_check(docs.name, when, check, outcome, descriptions[check]))
            _write(pages / f"{check}.html", f"{_spaced(check)}: {docs.name}", body)
        # Partitions may be checked at the same time: the last index must list all of them.
        with lock_exclusively(target.parent):
            shutil.rmtree(target, ignore_errors=True)
            pages.rename(target)
            with atomic_write(target.parent / INDEX) as file:
                _write(file, f"Checks of {target.parent.name}", "".join(_runs(target.parent)))


def _write(path: Path, title: str, body: str) -> None:
    path.write_text(PAGE.substitute(title=escape(title), body=body), encoding="utf-8")


def _runs(release: Path) -> Iterator[str]:
    """The index of a release: partition, result and date of each run, the last partition first."""
    runs = [(page.parent.name, page.stat().st_mtime) for page in release.glob(f"*/{INDEX}")]
    yield f"<h1>Checks of {escape(release.name)}</h1>\n"
    yield '<table class="checks"><thead><tr><th>Part of the data</th><th>Last run</th><th>Date</th>'
    yield "</tr></thead><tbody>\n"
    for folder, at in sorted(runs, key=lambda run: (run[0].removesuffix(FAILED), run[1]))[::-1]:
        part = folder.removesuffix(FAILED)
        name = "complete source" if part == ALL else part
        result = "failed" if folder.endswith(FAILED) else "passed"
        yield f'<tr><td><a href="{escape(folder)}/{INDEX}">{escape(name)}</a></td>'
        yield f'<td><span class="{result}">{result}</span></td>'
        yield f"<td>{datetime.fromtimestamp(at, UTC):{TIME}}</td></tr>\n"
    yield "</tbody></table>\n"
    yield '<p class="note">The last run that passed, and the last run that failed, of each part. '
    yield "These pages are private.</p>\n"


def _index(
    name: str,
    when: str,
    outcomes: Mapping[str, CheckOutcome],
    descriptions: Mapping[str, str],
    others: Mapping[Path, str],
) -> Iterator[str]:
    failed = sum(not outcome.passed for outcome in outcomes.values())
    verdict = f"{failed} of {len(outcomes)} checks failed" if failed else "All checks passed"
    yield f'<p><a href="../{INDEX}">All checks of this release</a></p>\n'
    yield f"<h1>Checks of {escape(name)}</h1>\n"
    yield f'<p><span class="{"failed" if failed else "passed"}">{verdict}</span>, {when}</p>\n'
    yield '<table class="checks"><thead><tr><th>Check</th><th>Result</th><th>What is promised</th>'
    yield "</tr></thead><tbody>\n"
    for check, outcome in sorted(outcomes.items(), key=lambda each: each[1].passed):
        link = f'<a href="{escape(check)}.html">{escape(_spaced(check))}</a>'
        yield f"<tr><td>{link}</td><td>{_result(outcome)}</td>"
        yield f"<td>{escape(descriptions[check])}</td></tr>\n"
    yield "</tbody></table>\n"
    for folder, run in others.items():
        if (folder / INDEX).is_file():
            yield f'<p><a href="../{escape(folder.name)}/{INDEX}">Data Docs of {run}</a></p>\n'
    yield '<p class="note">Validated by Great Expectations. If a check fails, the run stops before '
    yield "publication; otherwise the release is verified again, on disk, before it is published. "
    yield "These pages are private.</p>\n"


def _check(
    name: str, when: str, check: str, outcome: CheckOutcome, description: str
) -> Iterator[str]:
    yield f'<p><a href="{INDEX}">Checks of {escape(name)}</a></p>\n'
    yield f"<h1>{escape(_spaced(check))}</h1>\n<p>{_result(outcome)}, {when}</p>\n"
    yield f"<p>{escape(description)}</p>\n"
    if outcome.counts:
        yield '<table class="counts"><tbody>\n'
        for count, value in outcome.counts.items():
            yield f"<tr><td>{escape(_spaced(count))}</td><td>{value:,}</td></tr>\n"
        yield "</tbody></table>\n"


def _result(outcome: CheckOutcome) -> str:
    return f'<span class="{"passed" if outcome.passed else "failed"}">{outcome.result}</span>'


def _spaced(name: str) -> str:
    return name.replace("_", " ")
