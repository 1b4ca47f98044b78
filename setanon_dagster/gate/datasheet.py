"""The data sheet that goes with a release: what it is, how it was made, what is not promised."""

from collections.abc import Mapping
from typing import Any, Final

_SHEET: Final = """\
# Data sheet of {name}

## What this is

{kind} of {records} threads, made k-anonymous with k = {k}. A thread is what one user asked on one
topic, or one basket. The {records} threads have {groups} different sets of keywords.

| file | what it has |
|---|---|
| `threads.parquet` | {columns} |
| `certificate.json` | parameters, cost, verdict, and the SHA-256 digest of `threads.parquet` |

Thread ids are keyed hashes under a secret; rows are ordered by them, which tells nothing.

## What k = {k} means

- {promise}
- {owners}
- No user, time, click or order of the source is in the files.

A verifier that shares no code with the anonymizer has read this very file.

## How it was made

After Motwani and Nabar, *Anonymizing Unstructured Data* (arXiv:0810.5582): threads with similar
sets were grouped, at least {k} {unit}s to a group, and each group was given one set by adding and
deleting keywords.

| parameter | value |
|---|---|
{parameters}

## What was removed

All of the source but the keywords: users, times, clicks, and the order of its lines. Of the
keywords, those that too few {unit}s share; a thread was withdrawn where nothing of it could stay.

| | |
|---|---:|
| threads of the source | {threads} |
| threads withdrawn | {withdrawals} |
| keywords of the source | {keywords} |
| keywords deleted, those of withdrawn threads included | {deletions} |
| keywords added | {additions} |
| keywords respelled as others spell them | {respellings} |
| share of the keywords retained, added ones taken off | {retained} |
| no release with this k deletes and adds fewer than | {lower_bound} |
| deleted and added keywords over that bound | {factor} |

## How to verify

```sh
sha256sum threads.parquet   # {digest}
setanon verify threads.parquet --k {k}
```

The first shows that this is the file of the certificate. The second checks, from the file alone,
that at least {k} threads have each set; that they are of {k} {unit}s was checked with the private
ledger, before the file got its name.

## What is not promised

- k-anonymity is not differential privacy. It hides to whom of at least {k} users a set belongs,
  not that somebody has it; what all of them have in common can be learnt.
- {traces}
- Threads of one user may be stitched together by a clever reader.
- Two releases about the same users, of other times or with other parameters, may tell more than
  each of them; their thread ids have nothing in common.
- Added keywords were not typed by the user of the thread: do not study single threads as such.

## How to cite

Cite the release, and the paper whose method made it:

> {full}. Threads made k-anonymous with k = {k} by setanon {version}. SHA-256:
> {digest}.
>
> Rajeev Motwani and Shubha U. Nabar. Anonymizing Unstructured Data. arXiv:0810.5582, 2008.
"""

_COLUMNS: Final = {
    "sets": "`thread_id`, `keywords` (sorted)",
    "queries": "`thread_id`, `position` (from 0), `query` (keywords, one blank between)",
}
_KINDS: Final = {"sets": "The keyword sets", "queries": "The edited queries"}
_PROMISES: Final = {
    "user": "The set of keywords of every thread is published, letter for letter, for threads of "
    "at least {k}\n  different users. Several threads of one user count once. The rarest set has "
    "{smallest} users.",
    "record": "The source names no users, so that **every record counts as a user of its own**: "
    "each set is\n  published, letter for letter, for at least {k} records, which may be of one "
    "person. The rarest set\n  has {smallest} records.",
}
_TRACES: Final = {
    "sets": "The number of threads with a set is published as it is.",
    "queries": "The number, order and repetition of a thread's queries stay as they were typed.",
}


def datasheet(name: str, certificate: Mapping[str, Any]) -> str:
    """Write the sheet from the certificate, so that they cannot differ."""
    form, owners = certificate["format"], certificate["min_owners"]
    cost, verdict = certificate["cost"], certificate["verdict"]
    unit, digest = certificate["unit"], certificate["sha256"]["threads.parquet"]
    return _SHEET.format(
        name=name,
        kind=_KINDS[form],
        columns=_COLUMNS[form],
        traces=_TRACES[form],
        k=certificate["k"],
        records=verdict["records"],
        groups=verdict["groups"],
        promise=_PROMISES[unit].format(k=certificate["k"], smallest=verdict["smallest_group"]),
        owners=f"Every keyword is that of at least {owners} {unit}s of the source."
        if owners
        else f"Keywords of few {unit}s may be in it: `min_owners` was 0.",
        parameters="\n".join(f"| {k} | {_cell(v)} |" for k, v in certificate["parameters"].items()),
        digest=digest,
        full=f"{name}-{digest[:12]}",
        unit=unit,
        version=certificate["versions"]["setanon"],
        **{label: _cell(value) for label, value in cost.items()},
    )


def _cell(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
