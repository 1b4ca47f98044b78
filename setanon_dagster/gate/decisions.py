"""Decisions about releases: stored in their private folders, and what they forbid to the gate.

A decision is about threads, whatever the name of their release: equal threads have equal digests.

Guarantee:  threads that were rejected, or wait for a decision, are published only if somebody
            approves them, also by a run that requires no approval. A decision that cannot be read
            forbids, too. No decision is lost: a later one contains those before it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.gate.certificate import publication_date
from setanon_dagster.gate.series import DIGITS
from setanon_dagster.gate.waiting import Request, is_waiting

DECISION: Final = "approval.json"
"""The last decision about a release, in its private folder."""

APPROVED: Final = "approved"
REJECTED: Final = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision about a release that waits. It is private: its release has the date only."""

    by: str
    approved: bool = True
    note: str = ""
    policy: str = ""
    overrule: bool = False
    """Approve threads that were rejected before."""

    def __post_init__(self) -> None:
        """Check that somebody decides, and that the texts can be stored and shown."""
        if not any(map(str.isalnum, self.by)):
            raise InvalidParameterError(
                "by must be the name of who decides; it has no letter and no digit. Set it."
            )
        try:
            f"{self.by}{self.note}{self.policy}".encode()
        except UnicodeEncodeError:
            raise InvalidParameterError(
                "by, note and policy must be text; they have bytes that are not UTF-8."
            ) from None
        if self.overrule and not self.approved:
            raise InvalidParameterError(
                "overrule must be set for an approval only; this decision rejects. Leave it out."
            )


def read_decision(private: Path) -> Mapping[str, Any] | None:
    """The last decision in the private folder of a release; None if nobody has decided yet."""
    try:
        text = (private / DECISION).read_bytes()
    except FileNotFoundError:
        return None
    try:
        decision: dict[str, Any] = json.loads(text)
        if decision["decision"] in {APPROVED, REJECTED}:
            return decision | {key: str(decision[key]) for key in ("at", "request")}
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise MalformedInputError(
        f"{DECISION} of release {private.name} must be a decision of setanon approve; it cannot be "
        "read. Nothing was published; restore the file."
    )


def is_rejected(decision: Mapping[str, Any] | None) -> bool:
    """Whether the last decision about a release rejects it."""
    return decision is not None and decision["decision"] == REJECTED


def require_no_objection(private: Path, digest: str) -> None:
    """Raise if threads with this digest were rejected, or wait for a decision, under any name.

    `private` is the folder with the private files of all releases.
    """
    # Names end with the first digits of the digest: whoever changes a decision cannot change these.
    for folder in sorted(filter(Path.is_dir, private.glob(f"*-{digest[:DIGITS]}"))):
        command = f"setanon approve {folder} --by NAME"
        decision = read_decision(folder)
        if decision is not None and is_rejected(decision):
            seen = f"it was rejected on {decision['at'][:10]}"
            remedy = f"To approve it all the same: {command} --overrule"
        elif is_waiting(folder):
            seen, remedy = "it waits for approval", f"Decide: {command}"
        else:
            continue
        raise InvalidParameterError(
            f"the threads of {folder.name} must be approved before they are published; {seen}. "
            f"Nothing was published. {remedy}"
        )


def record_decision(
    private: Path, request: Request, digest: str, decision: Decision
) -> Mapping[str, Any]:
    """The record of a decision about the request with this digest, with those before it.

    That of an approval whose publication was interrupted is returned unchanged.
    """
    last = read_decision(private)
    if last is not None:
        about_this = last["request"] == digest
        if about_this and last["decision"] == APPROVED and decision.approved:
            return last
        rejected = is_rejected(last)
        if (about_this or rejected) and not (rejected and decision.overrule):
            remedy = "To approve it all the same, pass --overrule." if rejected else ""
            raise InvalidParameterError(
                f"release {request.release} must not have been decided; it was {last['decision']} "
                f"on {last['at'][:10]}. {remedy}".rstrip()
            )
    at = datetime.now(UTC)
    record: dict[str, Any] = {
        "release": request.release,
        "decision": APPROVED if decision.approved else REJECTED,
        "by": decision.by,
        "at": at.isoformat(timespec="seconds"),
        "policy": decision.policy,
        "note": decision.note,
        "sha256": request.sha256,
        "request": digest,
    }
    if decision.approved:
        # Stored, so that an approval that is finished on another day has the same certificate.
        record["published"] = publication_date(at)
    if last is not None:
        before = {name: value for name, value in last.items() if name != "earlier"}
        record["earlier"] = [*last.get("earlier", ()), before]
    return record


def publication_day(record: Mapping[str, Any]) -> str:
    """The date of publication of an approved release; earlier versions stored the time only."""
    return str(record.get("published", record["at"][:10]))
