"""The certificates of a release: parameters, costs, verdict and digest. They contain no data.

The exact certificate is private. The public one has rounded counts of the source: see
`verifier/rounded_counts`. The date of publication is in the certificates and in the data sheet, not
in the threads: equal threads have equal bytes and names on all days.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any, Final

import duckdb

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.params import FORMATS, PublishedParams
from setanon_core.ranges import check_choice
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.report.wording import round_factor
from setanon_dagster.sources.loading import REASONS
from setanon_dagster.stages.cost_report import ATTRIBUTE_COUNTS, TOTAL
from setanon_dagster.storage.attribute_columns import stage_column
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.release_folder import SHEET, THREADS
from setanon_dagster.verifier.rounded_counts import public_certificate
from setanon_dagster.verifier.verdict import FileVerdict

Plain = str | int | float | None

SCHEMA: Final = 3
"""Version of docs/certificate.schema.json; raised when a field changes its meaning."""

EPOCH: Final = "SOURCE_DATE_EPOCH"

OTHER: Final = "other"
"""Reason of the rejected lines that have none of `REASONS`."""

PARAMETERS: Final = frozenset(each.name for each in fields(PublishedParams)) | {
    "similarity",
    "timezone",
}
"""Names of the parameters that a certificate may have."""

COSTS: Final = (
    "threads", "keywords", "additions", "deletions", "withdrawals", "respellings",
    "lower_bound", "factor", "retained",
)  # fmt: skip
"""Columns of the cost report that are certified."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Contents of the files that follow from an exact certificate."""

    exact: str
    public: str
    sheet: str


def published_parameters(  # noqa: PLR0913 - what is verified
    parameters: Mapping[str, Plain],
    k: int,
    min_owners: int,
    form: str,
    *,
    user_names: str = "folded",
    attributes: Sequence[str] = (),
) -> dict[str, Plain]:
    """The published parameters: those passed in and those that were verified; never a secret."""
    check_choice("format", form, FORMATS)
    if any("secret" in key.lower() for key in parameters):
        raise InvalidParameterError(
            "parameters must not contain the secret: they are published. Remove it."
        )
    if not all(isinstance(value, str | int | float | None) for value in parameters.values()):
        raise InvalidParameterError("parameters must be strings, numbers or None.")
    unknown = len(parameters.keys() - PARAMETERS)
    if unknown:
        raise InvalidParameterError(
            f"parameters must be those of PublishedParams, and similarity; {unknown} others are "
            "passed. Remove them: they would be published."
        )
    verified: dict[str, Plain] = {"k": k, "min_owners": min_owners, "format": form}
    verified |= {"attributes": ", ".join(attributes)} if attributes else {}
    # None means the default, as for min_owners.
    compared = {"attributes": ""} | verified | {"user_names": user_names}
    differing = [key for key, value in compared.items() if parameters.get(key) not in {None, value}]
    if differing:
        raise InvalidParameterError(
            "parameters must have the values that the release is verified for; "
            f"{', '.join(differing)} differ."
        )
    return dict(sorted({**parameters, **verified}.items()))


def certified_costs(
    cost: Path | Mapping[str, Plain], parameters: Mapping[str, Plain]
) -> dict[str, Any]:
    """The costs of the total row for the certified k and method.

    `cost` is the cost report, or a mapping with the columns of its total row.
    """
    text = str(parameters.get("attributes") or "")
    attributes = text.split(", ") if text else []
    names = [
        *COSTS,
        *(f"{stage_column(each)}_{count}" for each in attributes for count in ATTRIBUTE_COUNTS),
    ]
    if isinstance(cost, Mapping):
        rows = [tuple(cost[name] for name in names)] if set(names) <= set(cost) else []
    else:
        with connect() as connection:
            report = read_parquet(cost, connection, "cost_report")
            with redact_engine_errors("cost_report must have the columns of a cost report"):
                selected = report.select(
                    *map(duckdb.ColumnExpression, ("k", "method", "round", *names))
                )
                rows = [row[3:] for row in selected.fetchall() if _is_total(row, parameters)]
    if len(rows) != 1:
        raise MalformedInputError(
            f"cost must have one total row for this k and method, with {', '.join(COSTS)}; it has "
            f"{len(rows)}."
        )
    costs: dict[str, Any] = dict(zip(names, rows[0], strict=True))
    # JSON has no infinity: without a lower bound, the factor is null.
    if isinstance(costs["factor"], int | float):
        costs["factor"] = round_factor(costs["factor"]) if isfinite(costs["factor"]) else None
    return {name: costs[name] for name in COSTS} | _attribute_costs(costs, attributes)


def _attribute_costs(costs: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, Any]:
    """The costs of each attribute under one name, if there are attributes."""
    if not attributes:
        return {}
    of_attributes = {}
    for each in attributes:
        counts = {name: costs[f"{stage_column(each)}_{name}"] for name in ATTRIBUTE_COUNTS}
        edits = counts["additions"] + counts["deletions"]
        of_attributes[each] = {**counts, "retained": 1 - edits / max(counts["total"], 1)}
    return {"attributes": of_attributes}


def attribute_cost_failures(costs: Mapping[str, Any], verdict: FileVerdict) -> list[str]:
    """A message with the number of attributes whose costs do not give the published values."""
    published = dict(verdict.attributes)
    wrong = sum(
        each["total"] + each["additions"] - each["deletions"] != published.get(name)
        or min(each["additions"], each["deletions"], each["total"] - each["deletions"]) < 0
        for name, each in costs.get("attributes", {}).items()
    )
    sentence = f"the costs of attributes must give their published values; {wrong} do not"
    return [sentence] if wrong else []


def _is_total(row: tuple[Plain, ...], parameters: Mapping[str, Plain]) -> bool:
    k, method, name = row[:3]
    return name == TOTAL and k == parameters["k"] and method == parameters.get("method", method)


def counted_unit(clusters: Path) -> str:
    """The unit that is counted up to k: "user", or "record" if the source has no users."""
    with connect() as connection:
        table = read_parquet(clusters, connection, "clusters")
        if "name" not in table.columns:  # threads of a log always have users
            return "user"
        with redact_engine_errors("clusters must have the columns of clusters"):
            (no_users,) = table.aggregate('coalesce(bool_and(name = "user"), false)').fetchall()[0]
    return "record" if no_users else "user"


def rejected_lines(rejected_rows: Path | None) -> dict[str, Any] | None:
    """Exact numbers of rejected lines by reason; None if the stage was not passed."""
    if rejected_rows is None:
        return None
    with connect() as connection:
        table = read_parquet(rejected_rows, connection, "rejected_rows")
        with redact_engine_errors("rejected_rows must have the columns line and reason"):
            counts = dict(table.aggregate("reason, count(*)").fetchall())
    lines = sum(counts.values())
    reasons = {reason: counts.pop(reason, 0) for reason in REASONS}
    # Reasons of other readers are not named: they could contain data.
    return {"lines": lines, "reasons": reasons | {OTHER: sum(counts.values())}}


def publication_date(now: datetime | None = None) -> str:
    """The day in UTC, or that of `SOURCE_DATE_EPOCH`, the variable of reproducible builds.

    `now` has a time zone; None: the present.
    """
    epoch = os.environ.get(EPOCH, "")
    if not epoch:
        return (now or datetime.now(UTC)).astimezone(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise InvalidParameterError(
            f"{EPOCH} must be seconds since 1970, such as 1773100800; it is not. Unset it."
        ) from None


def build_certificate(  # noqa: PLR0913 - one argument per part
    digest: str,
    parameters: Mapping[str, Plain],
    costs: Mapping[str, Plain],
    verdict: FileVerdict,
    unit: str = "user",
    *,
    published: str | None = None,
    approval: str = "none",
    rejected: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the exact certificate, without the digest of the data sheet.

    Equal releases of one day have equal certificates. `published` is that of today if it is None.
    """
    return {
        "schema": SCHEMA,
        "unit": unit,
        "k": parameters["k"],
        "min_owners": parameters["min_owners"],
        "format": parameters["format"],
        "published": published or publication_date(),
        "approval": approval,
        "sha256": {THREADS: digest},
        "parameters": dict(parameters),
        "rejected": rejected,
        "cost": dict(costs),
        "verdict": verdict.counts,
        "versions": {"setanon": setanon_version(), "duckdb": version("duckdb")},
    }


def certificate_files(title: str, exact: Mapping[str, Any]) -> CertificateFiles:
    """The files of an exact certificate; `title` is the name of the release in the data sheet."""
    threads = {THREADS: exact["sha256"][THREADS]}
    sheet = datasheet(title, public_certificate({**exact, "sha256": threads}))
    digests = threads | {SHEET: sha256(sheet.encode()).hexdigest()}
    complete = {**exact, "sha256": digests}
    return CertificateFiles(
        certificate_text(complete), certificate_text(public_certificate(complete)), sheet
    )


def setanon_version() -> str:
    """The installed version of setanon."""
    try:
        return version("setanon")
    except PackageNotFoundError:
        return "unknown"


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """The contents of a certificate file."""
    return json.dumps(certificate, indent=2, allow_nan=False) + "\n"
