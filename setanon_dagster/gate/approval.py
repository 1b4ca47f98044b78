"""Approve or reject a release that waits, and publish what was approved.

Guarantee:  what is published are the files that were verified and reported: their digests are
            compared, and the folder to be published is verified again, with the ledger. The
            decision is on disk before anything is public. If the process is killed, `latest` is
            the old or the new release, and the same command finishes the publication.
"""

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.gate.certificate import certificate_files, setanon_version
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.held_files import hold_file
from setanon_dagster.gate.public_folder import (
    DATASHEET,
    check_existing,
    publish_folder,
    require_same_files,
)
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.staging import write_private, write_public
from setanon_dagster.gate.waiting import (
    DECISION,
    EXACT,
    WAITING,
    Request,
    now,
    read_decision,
    read_request,
    remove_request,
)
from setanon_dagster.storage.folders import PRIVATE
from setanon_dagster.storage.temporary import (
    lock_exclusively,
    remove_all_leftovers,
    temporary_folder,
)
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, verify_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision about a release that waits. It is private: its release has the date only."""

    by: str
    approved: bool = True
    note: str = ""
    policy: str = ""

    def __post_init__(self) -> None:
        """Check that somebody decides."""
        if not self.by.strip():
            raise InvalidParameterError("by must be the name of who decides; it is empty. Set it.")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was carried out; `folder` is that of the published release, or None."""

    release: str
    folder: Path | None


def decide(private: Path, decision: Decision, *, memory: str | None = None) -> Decided:
    """Record a decision about the release with this private folder; publish it if approved."""
    private = private.absolute()
    if not private.is_dir() or private.parent.name != PRIVATE:
        raise InvalidParameterError(
            "RELEASE must be the private folder of a release that waits, DIR/private/RELEASE; "
            "it is not. Pass the folder that the release printed."
        )
    remove_all_leftovers(private.parents[1])
    with lock_exclusively(private):
        request, digest = _waiting_request(private)
        record = _recorded_decision(private, request, digest, decision)
        if not decision.approved:
            write_private(private / DECISION, json.dumps(record, indent=2) + "\n")
            return Decided(request.release, None)
        return Decided(request.release, _publish(private, request, record, memory))


def _waiting_request(private: Path) -> tuple[Request, str]:
    """The request of a release, whose files must be unchanged."""
    found = read_request(private)
    if found is None:
        public = any(private.parents[1].glob(f"releases/*/{private.name}"))
        state = "it is published already" if public else "it does not"
        raise InvalidParameterError(
            f"release {private.name} must wait for approval; {state}. Run the release again if "
            "something is to be decided."
        )
    request, _ = found
    changed = request.changed_files(private)
    if request.release != private.name or changed:
        raise NotAnonymousError(
            "a release must have the files that were verified and reported; "
            f"{', '.join(changed) or 'the name'} differ. Nothing was published; run the release "
            "again."
        )
    return found


def _recorded_decision(
    private: Path, request: Request, digest: str, decision: Decision
) -> Mapping[str, Any]:
    """The record of a decision; that of an approval whose publication was interrupted stays."""
    existing = read_decision(private, digest)
    if existing is None:
        return {
            "release": request.release,
            "decision": "approved" if decision.approved else "rejected",
            "by": decision.by,
            "at": now(),
            "policy": decision.policy,
            "note": decision.note,
            "sha256": request.sha256,
            "request": digest,
        }
    if existing["decision"] == "approved" and decision.approved:
        return existing
    raise InvalidParameterError(
        f"release {request.release} must not have been decided; it was {existing['decision']} on "
        f"{existing['at'][:10]}. To decide again, move its private folder away and run the release."
    )


def _publish(
    private: Path, request: Request, record: Mapping[str, Any], memory: str | None
) -> Path:
    """Verify the files of an approved release again, publish them and switch `latest`."""
    series = Series(private.parents[1], request.name, request.part)
    series.check_folder()
    target, digest = series.folder / request.release, request.sha256[THREADS]
    exact = json.loads((private / WAITING / EXACT).read_bytes())
    files = certificate_files(series.title, {**exact, "published": record["at"][:10]})
    texts = {CERTIFICATE: files.public, DATASHEET: files.sheet}
    with (
        ExitStack() as opened,
        temporary_folder(series.folder.parent) as hidden,
        temporary_folder(private.parent) as spill,
    ):
        # Under its final name, which the data sheet has.
        staged = hidden / request.release
        staged.mkdir(mode=0o700)
        shutil.copyfile(private / WAITING / THREADS, staged / THREADS)
        (staged / THREADS).chmod(0o644)
        for name, text in texts.items():
            write_public(staged / name, text)
        threads = opened.enter_context(hold_file(staged / THREADS, THREADS))
        _verify_again(staged, private, memory, spill)
        require_same_files({THREADS: threads.digest() == digest})
        check_existing(target, staged, digest)
        write_private(private / DECISION, json.dumps(record, indent=2) + "\n")
        if not target.exists() or not (private / CERTIFICATE).exists():
            write_private(private / CERTIFICATE, files.exact)
        publish_folder(staged, target, threads, digest, texts)
    series.switch_latest(request.release)
    remove_request(private)
    return target


def _verify_again(staged: Path, private: Path, memory: str | None, spill: Path) -> None:
    """Raise unless the verifier accepts the folder to be published."""
    try:
        failures = verify_folder(
            staged,
            ledger=private / LEDGER,
            data_sheet=datasheet,
            version=setanon_version(),
            memory=memory,
            spill=spill,
        ).failures
    except MalformedInputError as error:
        failures = [str(error)]
    if failures:
        raise NotAnonymousError(
            f"a release must be verified when it is approved: {'; '.join(failures)}. Nothing was "
            "published; run the release again."
        )
