"""The data sheet of a release: contents, method, verification, and what is not promised."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any, Final

from setanon_dagster.report.wording import factor_text
from setanon_dagster.verifier.exposure import exposure_warning
from setanon_dagster.verifier.rounded_counts import LEAST_STEP

_SHEET: Final = """\
# Data sheet of {name}

## What this is

{kind} of {records} threads, made k-anonymous with k = {k}. {thread}
The {records} threads have {different}.
{date}{warning}
| file | contents |
|---|---|
| `threads.parquet` | {columns} |
| `certificate.json` | parameters, cost, verdict, and {digests} |

Thread ids are hashes under a secret key. Rows are sorted by them, so their order has no meaning.

## What k = {k} means

- {promise}
- {owners}
{typed}- {absent}

A verifier that shares no code with the anonymizer has checked this file.

## How it was made

After Motwani and Nabar, *Anonymizing Unstructured Data* (arXiv:0810.5582): threads with similar
sets were grouped, at least {k} {unit}s per group, and the sets of a group were made equal by adding
and deleting keywords.{replaced}

| parameter | value |
|---|---|
{parameters}

## What was removed

{removed}
Keywords that too few {unit}s share were deleted. Threads without remaining keywords were withdrawn.

| | |
|---|---:|
| threads of the source | at most {threads} |
| threads withdrawn | fewer than {withdrawals} |
| keywords of the source | at most {keywords} |
| keywords deleted, including those of withdrawn threads | fewer than {deletions} |
| keywords added | fewer than {additions} |
| keywords published in the spelling of other {unit}s | fewer than {respellings} |
{edits}{rejected}| share of keywords retained, minus the added ones | {retained} |
| lower bound: every release with this k deletes and adds at least | {lower_bound} |
| deleted and added keywords divided by the lower bound | {factor} |

Counts of the source are rounded to two significant digits and to hundreds at least. Exact counts of
two releases could reveal what one person contributes.

## How to verify

```sh
sha256sum threads.parquet   # {digest}
setanon verify .            # in the folder of these files
```

The first command shows that this is the certified file. The second checks all files, and from
`threads.parquet` alone that at least {k} threads have each {shared}. That they belong to at least
{k} {unit}s was verified with the private ledger before publication. If there is a file
`certificate.json.sig`, the publisher has signed the certificate, which has the digests of the other
files: add `--key PUBLIC.pem`, the public key of the publisher, to check this.

## What is not promised

- k-anonymity is not differential privacy. It hides which of at least {k} users a set belongs to,
  not that the set exists. What all of these users have in common can be learned.
- {traces}
- {links}
- Two releases about the same users, of other times or with other parameters, may together reveal
  more than each of them. Their thread ids are unrelated.
{combined}- Added keywords were not typed by the user of the thread: do not interpret single
  threads.

## How to cite

Cite the release and the paper of its method:

> {full}. Threads made k-anonymous with k = {k} by setanon {version}. SHA-256:
> {digest}.
>
> Rajeev Motwani and Shubha U. Nabar. Anonymizing Unstructured Data. arXiv:0810.5582, 2008.
"""

_QUERY_COLUMNS: Final = (
    "`thread_id`, `position` (from 0), `query` (keywords, separated by one blank)"
)
_COLUMNS: Final = {
    "sets": "`thread_id`, `keywords` (sorted)",
    "queries": _QUERY_COLUMNS,
    "edited": _QUERY_COLUMNS,
}
_KINDS: Final = {
    "sets": "The keyword sets",
    "queries": "The queries",
    "edited": "The edited queries",
}
_SHARED: Final = {"sets": "set", "queries": "list of queries", "edited": "set"}
"""What at least k users share."""

_WHOLE: Final = {
    "sets": "Every set of keywords is published, letter for letter, for",
    "queries": "Every list of queries (text, order, number and repetition) is published for",
    "edited": "Every set of keywords is published, letter for letter, for",
}
_PROMISES: Final = {
    "user": "{whole} threads of at least\n  {k} different users. Several threads of one user count "
    "once.",
    "record": "The source has no users, so **every record counts as a user**.\n  {whole} at least "
    "{k}\n  records, which may belong to one person.",
}
_REPLACED: Final = (
    "\nThen each list of queries that fewer than {k} {unit}s of a group had was replaced by "
    "another list\nof the group with the same keywords: a thread may have the queries of other "
    "{unit}s."
)
"""How the format "queries" differs from the paper."""

_TRACES: Final = {
    "sets": "The number of threads with a set is published unchanged.",
    "queries": "The number of threads with a list of queries is published unchanged.",
    "edited": "The number, order and repetition of a thread's queries are published unchanged.",
}

_THREADS: Final = {
    "thread": "A thread is the queries of one user on\none topic, or one basket.",
    "session": "A thread is all queries of one user in\nthis release (`unit: session`).",
    "query": "A thread is one query of one user\n(`unit: query`).",
}
_LINKS: Final = {
    "thread": "An attacker may be able to link several threads of one user.",
    "session": "Each user has one thread, so there are no threads to link, except those of users "
    "with more than\n  100,000 queries.",
    "query": "An attacker may be able to link several queries of one user.",
}

_ABSENT: Final = "The files contain no user, time or click of the source, and not its order."
_ABSENT_BESIDE: Final = (
    "The files contain keywords and {names} of the source, and nothing else: no user, no exact\n"
    "  time, and not its order."
)
_REMOVED: Final = (
    "Everything in the source except the keywords: users, times, clicks, and the order of its "
    "lines."
)
_REMOVED_EXCEPT: Final = (
    "Everything in the source except the keywords and the attributes {names}: users, exact times,\n"
    "other columns, and the order of its lines. Values on which a group does not agree were\n"
    "deleted."
)
_SHARED_VALUES: Final = (
    "\n  The same users share the values of {names}: all that is published of a thread.\n"
    "- The values of a thread are those of most users of its group: some were added."
)
"""Sentences about attributes, which are published beside the keywords."""

_TYPED: Final = (
    "- At least {k} {unit}s of the source have each set whole, each of them in one thread.\n"
)
_COMBINED: Final = (
    "- A set may combine keywords that fewer than {k} {unit}s typed in one thread "
    "(`combinations: any`).\n"
)


def datasheet(name: str, certificate: Mapping[str, Any]) -> str:
    """Build the data sheet from the public certificate only, so that both agree."""
    form, owners = certificate["format"], certificate["min_owners"]
    cost, verdict = certificate["cost"], certificate["verdict"]
    k, unit, parameters = certificate["k"], certificate["unit"], certificate["parameters"]
    digest = certificate["sha256"]["threads.parquet"]
    typed = parameters.get("combinations") == "typed"
    limits = {"retained": "at least "}
    values = verdict.get("attributes", {})
    names = ", ".join(values)
    return _SHEET.format(
        name=name,
        kind=_KINDS[form],
        columns=_COLUMNS[form] + "".join(f", `{name}` (sorted values)" for name in values),
        absent=_ABSENT_BESIDE.format(names=names) if values else _ABSENT,
        removed=_REMOVED_EXCEPT.format(names=names) if values else _REMOVED,
        edits=_attribute_rows(cost.get("attributes", {})),
        traces=_TRACES[form],
        thread=_THREADS[parameters.get("unit", "thread")],
        links=_LINKS[parameters.get("unit", "thread")],
        typed=_TYPED.format(k=k, unit=unit) if typed else "",
        combined="" if typed else _COMBINED.format(k=k, unit=unit),
        k=k,
        records=verdict["records"],
        different=_different(verdict),
        warning=_warning(certificate),
        shared=_SHARED[form],
        replaced=_REPLACED.format(k=k, unit=unit) if form == "queries" else "",
        promise=_PROMISES[unit].format(k=k, whole=_WHOLE[form])
        + (_SHARED_VALUES.format(names=names) if values else ""),
        owners=f"At least {owners} {unit}s of the source have each keyword."
        if owners
        else f"Keywords of few {unit}s may be included: `min_owners` was 0.",
        parameters="\n".join(f"| {k} | {_cell(v)} |" for k, v in parameters.items()),
        digest=digest,
        digests="SHA-256 digests of the other files"
        if "published" in certificate
        else "the SHA-256 digest of `threads.parquet`",
        date=_date(certificate),
        rejected=_rejected(certificate.get("rejected")),
        full=f"{name}-{digest[:12]}",
        unit=unit,
        version=certificate["versions"]["setanon"],
        factor="none" if cost["factor"] is None else f"at most {factor_text(cost['factor'])}",
        **{
            label: _cell(value) if value is None else limits.get(label, "") + _cell(value)
            for label, value in cost.items()
            if label not in {"factor", "attributes"}
        },
    )


def _attribute_rows(costs: Mapping[str, Mapping[str, Any]]) -> str:
    """Rows of the table: the values of attributes, and their edits."""
    return "".join(
        f"| values of {name} in the source | at most {each['total']} |\n"
        f"| values of {name} deleted, including those of withdrawn threads "
        f"| fewer than {each['deletions']} |\n"
        f"| values of {name} added | fewer than {each['additions']} |\n"
        for name, each in costs.items()
    )


def _different(verdict: Mapping[str, int]) -> str:
    sets = f"{verdict['groups']} different sets of keywords"
    if not verdict["lists"]:
        return sets
    return f"{sets}\nand {verdict['lists']} different lists of queries"


def _date(certificate: Mapping[str, Any]) -> str:
    """When it was published, and whether a person had to approve it; not in earlier schemas."""
    if "published" not in certificate:
        return ""
    approved = " after a person approved it" if certificate["approval"] == "required" else ""
    return f"Published on {certificate['published']}{approved}.\n"


def _rejected(rejected: Mapping[str, Any] | None) -> str:
    """Rows of the table: rejected lines, and the reasons of more than a few."""
    if rejected is None:
        return ""
    rows = {"lines of the source that could not be used": rejected["lines"]} | {
        f"lines that could not be used: {reason}": lines
        for reason, lines in rejected["reasons"].items()
        if lines > LEAST_STEP
    }
    return "".join(f"| {name} | fewer than {lines} |\n" for name, lines in rows.items())


def _warning(certificate: Mapping[str, Any]) -> str:
    """The warning of the format "edited", as a quoted paragraph."""
    if certificate["format"] != "edited":
        return ""
    text = exposure_warning(
        certificate["verdict"], certificate["k"], certificate["unit"], "at most "
    )
    return (
        "\n" + fill(f"**Warning.** {text}", 98, initial_indent="> ", subsequent_indent="> ") + "\n"
    )


def _cell(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
