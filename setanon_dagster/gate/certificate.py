"""The certificate that goes with a release: parameters, cost, verdict and digest, in numbers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Final

import duckdb

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.verifier.release_file import LAYOUTS
from setanon_dagster.verifier.verdict import FileVerdict

Plain = str | int | float | None

CERTIFICATE: Final = "certificate.json"

THREADS: Final = "threads.parquet"
"""The file whose digest is certified."""

SCHEMA: Final = 1
"""Of the certificate; raised when a field changes its meaning. See docs/certificate.schema.json."""

COSTS: Final = (
    "threads", "keywords", "additions", "deletions", "withdrawals", "respellings",
    "lower_bound", "factor", "retained",
)  # fmt: skip
"""What the certificate says of the cost."""


def published_parameters(
    parameters: Mapping[str, Plain], k: int, min_owners: int, form: str
) -> dict[str, Plain]:
    """The parameters as they are told to the public: what was verified, and no secret."""
    if form not in LAYOUTS:
        raise InvalidParameterError(f"format must be one of {', '.join(LAYOUTS)}.")
    if any("secret" in key.lower() for key in parameters):
        raise InvalidParameterError("parameters must not have the secret: they are published.")
    if not all(isinstance(value, str | int | float | None) for value in parameters.values()):
        raise InvalidParameterError("parameters must be texts, numbers or None.")
    verified: dict[str, Plain] = {"k": k, "min_owners": min_owners, "format": form}
    # None leaves the choice open, as it does for min_owners.
    odd = [key for key, value in verified.items() if parameters.get(key) not in {None, value}]
    if odd:
        raise InvalidParameterError(
            f"parameters must say what the release is verified for; {', '.join(odd)} differ."
        )
    return dict(sorted({**parameters, **verified}.items()))


def certified_costs(
    cost: Path | Mapping[str, Plain], told: Mapping[str, Plain]
) -> dict[str, Plain]:
    """The numbers of the total, for this k and method."""
    if isinstance(cost, Mapping):
        rows = [tuple(cost[name] for name in COSTS)] if set(COSTS) <= set(cost) else []
    else:
        with connect() as connection:
            report = read_parquet(cost, connection, "cost_report")
            with redact_engine_errors("cost_report must have the columns of its kind"):
                found = report.select(
                    *map(duckdb.ColumnExpression, ("k", "method", "round", *COSTS))
                )
                rows = [row[3:] for row in found.fetchall() if _is_total(row, told)]
    if len(rows) != 1:
        raise MalformedInputError(
            f"cost must have {', '.join(COSTS)} of one total for this k and method; it has "
            f"{len(rows)}."
        )
    # JSON knows no infinity: where no lower bound was found, there is no factor.
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in zip(COSTS, rows[0], strict=True)
    }


def _is_total(row: tuple[Plain, ...], told: Mapping[str, Plain]) -> bool:
    k, method, name = row[:3]
    return name == "total" and k == told["k"] and method == told.get("method", method)


def unit_of(clusters: Path) -> str:
    """What was counted k times: users, or records where the source named no users."""
    with connect() as connection:
        typed = read_parquet(clusters, connection, "clusters")
        if "name" not in typed.columns:  # threads of a log: they are not their own users
            return "user"
        with redact_engine_errors("clusters must have the columns of its kind"):
            (alone,) = typed.aggregate('coalesce(bool_and(name = "user"), false)').fetchall()[0]
    return "record" if alone else "user"


def build_certificate(
    digest: str,
    told: Mapping[str, Plain],
    costs: Mapping[str, Plain],
    verdict: FileVerdict,
    unit: str = "user",
) -> dict[str, object]:
    """What is said of a release in numbers; the same release has the same certificate."""
    try:
        own = version("setanon")
    except PackageNotFoundError:
        own = "unknown"
    return {
        "schema": SCHEMA,
        "unit": unit,
        "k": told["k"],
        "min_owners": told["min_owners"],
        "format": told["format"],
        "sha256": {THREADS: digest},
        "parameters": dict(told),
        "cost": dict(costs),
        "verdict": {each.name: getattr(verdict, each.name) for each in fields(FileVerdict)},
        "versions": {"setanon": own, "duckdb": version("duckdb")},
    }


@dataclass(frozen=True, slots=True)
class CertifiedRelease:
    """What a published certificate says that its release is verified for."""

    k: int
    min_owners: int
    digest: str


def read_certificate(release: Path) -> CertifiedRelease:
    """Read the certificate in the folder of a release."""
    try:
        told = json.loads((release / CERTIFICATE).read_bytes())
        found = CertifiedRelease(told["k"], told["min_owners"], told["sha256"][THREADS])
    except (OSError, ValueError, KeyError, TypeError):
        found = None
    if found is None or not (_whole(found.k) and _whole(found.min_owners)):
        raise MalformedInputError(
            f"release {release.name} must have a certificate with k, min_owners and the digest of "
            "its threads; it has none. Take it back, and publish it again."
        )
    return found


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
