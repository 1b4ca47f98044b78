"""The claims of a certificate, compared with the published threads and the exact certificate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from setanon_dagster.verifier.certificate_schema import schema_faults
from setanon_dagster.verifier.rounded_counts import (
    ROUNDED_COUNTS,
    ROUNDED_EDITS,
    derived_attribute_costs,
    derived_costs,
    is_rounded,
    public_certificate,
)
from setanon_dagster.verifier.verdict import FileVerdict

OLDEST: Final = 2
"""Oldest schema that is verified; it has no date, no rejected lines and one digest."""

ROUNDED_COSTS: Final = ("additions", "deletions", "withdrawals", "respellings", "lower_bound")


@dataclass(frozen=True, slots=True)
class CertifiedClaims:
    """The claims of a certificate that are verified again."""

    k: int
    min_owners: int
    digest: str
    format: str
    attributes: tuple[str, ...]
    certificate: Mapping[str, Any]
    text: bytes
    """The bytes of the certificate, which are signed."""

    @classmethod
    def of(cls, certificate: Mapping[str, Any], text: bytes) -> "CertifiedClaims":
        """The claims of a certificate that matches the schema, with the bytes of its file."""
        return cls(
            int(certificate["k"]),
            int(certificate["min_owners"]),
            certificate["sha256"]["threads.parquet"],
            certificate["format"],
            certified_attributes(certificate),
            certificate,
            text,
        )


def certified_attributes(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The published columns of attributes, in their order; earlier certificates have none."""
    text = certificate["parameters"].get("attributes", "")
    return tuple(text.split(", ")) if text else ()


def parse_certificate(text: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """Parse a certificate file; return it and messages about its faults."""
    try:
        certificate = json.loads(text)
        canonical = (json.dumps(certificate, indent=2, allow_nan=False) + "\n").encode()
    except (ValueError, RecursionError):
        return {}, ["the certificate must be a JSON file; it is none"]
    if isinstance(certificate, dict) and certificate.get("schema") == 1:
        return {}, ["the certificate must have the schema 2 or 3; it has 1, of an older version"]
    faults = schema_faults(certificate)
    if faults:
        shown = ", ".join(sorted(set(faults))[:3])
        return {}, [f"the certificate must match its schema; {len(faults)} fields do not: {shown}"]
    if certificate["schema"] != OLDEST and not _is_date(certificate["published"]):
        return {}, ["the date of publication must be a day of the calendar; it is none"]
    if canonical != text:
        # Repeated names and other white space could contain data.
        return {}, ["the certificate must be written as by setanon; its text differs"]
    return certificate, []


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def claim_failures(certificate: Mapping[str, Any], verdict: FileVerdict) -> list[str]:
    """Compare a certificate with itself and with the counts of the published threads."""
    parameters, cost, claimed = (certificate[name] for name in ("parameters", "cost", "verdict"))
    repeated = sum(
        certificate[name] != parameters[name] for name in ("k", "min_owners", "format")
    ) + (claimed["k"] != certificate["k"])
    # Counts of users need the ledger, and another k changes what is a violation.
    sizes = ("records", "groups", "keywords", "lists")
    differing = sum(claimed[name] != getattr(verdict, name) for name in sizes)
    expected = derived_costs(
        {name: cost[name] for name in ROUNDED_COSTS}, verdict.records, verdict.keywords
    )
    wrong_costs = sum(cost[name] != value for name, value in expected.items())
    differing += _differing_attributes(certificate, verdict)
    of_attributes = cost.get("attributes", {})
    published = dict(verdict.attributes)
    wrong_costs += sum(
        derived_attribute_costs(each, published.get(name, 0)) != each
        for name, each in of_attributes.items()
    )
    exact = sum(not is_rounded(cost[name]) for name in ROUNDED_COSTS) + sum(
        not is_rounded(claimed[name]) and claimed[name] != claimed["records"]
        for name in ROUNDED_COUNTS
    )
    exact += sum(
        not is_rounded(each[name]) for each in of_attributes.values() for name in ROUNDED_EDITS
    )
    rejected = certificate.get("rejected") or {"lines": 0, "reasons": {}}
    lines = [rejected["lines"], *rejected["reasons"].values()]
    exact += sum(not is_rounded(n) for n in lines)
    shared = certificate["format"] != "edited" and any(claimed[name] for name in ROUNDED_COUNTS)
    messages = {
        "k, min_owners and format must be those of the parameters; {} differ": repeated,
        "the counts of the certificate must be those of the threads; {} differ": differing,
        "the costs must follow from the rounded counts; {} differ": wrong_costs,
        "counts of the source must be rounded; {} are not": exact,
        "rejected lines must be at least those of each reason; {} are fewer": int(
            rejected["lines"] < max(lines)
        ),
        "threads with lists of few users must be in the format edited only; {} counts differ": int(
            shared
        ),
    }
    return [message.format(n) for message, n in messages.items() if n]


def _differing_attributes(certificate: Mapping[str, Any], verdict: FileVerdict) -> int:
    """Count the parts of a certificate that have other attributes than the file, or counts."""
    names = certified_attributes(certificate)
    costs, claimed = (certificate[part].get("attributes", {}) for part in ("cost", "verdict"))
    return sum(
        (
            tuple(claimed.items()) != verdict.attributes,
            tuple(costs) != names,
            tuple(name for name, _ in verdict.attributes) != names,
        )
    )


def exact_failures(certificate: Mapping[str, Any], exact: Path) -> list[str]:
    """Compare a public certificate with the exact, private one."""
    try:
        expected = public_certificate(json.loads(exact.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ["the private folder must have the exact certificate; it has none that is readable"]
    if json.dumps(expected) != json.dumps(certificate):
        return ["the certificate must be the rounded private one; they differ"]
    return []
