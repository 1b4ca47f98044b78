"""Approve or reject a release that waits, and publish what was approved.

A certificate is final when its release is approved, since it has the date of publication: it is
signed here, by the key of whoever approves.

Guarantee:  what is published are the files that were verified and reported: their digests are
            compared, and the folder to be published is verified again, with the ledger. The
            decision is on disk before anything is public. Decisions and publications in one output
            folder wait for each other. If the process is killed, `latest` is the old or the new
            release, and the same command finishes the publication.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.gate.certificate import certificate_files, setanon_version
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.decisions import DECISION, Decision, publication_day, record_decision
from setanon_dagster.gate.held_files import HeldFile, hold_file
from setanon_dagster.gate.public_folder import (
    check_existing,
    private_certificate,
    public_contents,
    publish_folder,
    require_same_files,
)
from setanon_dagster.gate.signing import SigningKey, require_key, require_signed
from setanon_dagster.gate.staging import copy_public, write_private, write_public
from setanon_dagster.gate.waiting import EXACT, WAITING, Request, read_request, remove_request
from setanon_dagster.storage.folders import PRIVATE
from setanon_dagster.storage.temporary import (
    lock_exclusively,
    remove_all_leftovers,
    temporary_folder,
)
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, verify_folder


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was carried out; `folder` is that of the published release, or None."""

    release: str
    folder: Path | None


def decide(
    private: Path,
    decision: Decision,
    *,
    signing_key: SigningKey | None = None,
    memory: str | None = None,
) -> Decided:
    """Record a decision about the release with this private folder; publish it if approved."""
    private = private.absolute()
    if not private.is_dir() or private.is_symlink() or private.parent.name != PRIVATE:
        raise InvalidParameterError(
            "RELEASE must be the private folder of a release that waits, DIR/private/RELEASE; "
            "it is not. Pass the folder that the release printed."
        )
    remove_all_leftovers(private.parents[1])
    with lock_exclusively(private.parent):
        request, digest = _waiting_request(private)
        if decision.approved:
            require_key(signing_key, request.signature)
        record = record_decision(private, request, digest, decision)
        if not decision.approved:
            _write_record(private, record)
            return Decided(request.release, None)
        return Decided(request.release, _publish(private, request, record, signing_key, memory))


def _waiting_request(private: Path) -> tuple[Request, str]:
    """The request of a release and its digest; the files must be unchanged."""
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
    if changed or not request.has_name(private.name):
        raise _changed(changed or ["the name and the threads"])
    return found


def _publish(
    private: Path,
    request: Request,
    record: Mapping[str, Any],
    signing_key: SigningKey | None,
    memory: str | None,
) -> Path:
    """Verify the files of an approved release again, publish them and switch `latest`."""
    series = request.series(private.parents[1])
    series.check_folder()
    target, digest = series.folder / request.release, request.sha256[THREADS]
    exact = (private / WAITING / EXACT).read_bytes()
    if sha256(exact).hexdigest() != request.sha256[EXACT]:
        raise _changed([EXACT])
    files = certificate_files(
        series.title, {**json.loads(exact), "published": publication_day(record)}
    )
    contents = public_contents(files, signing_key)
    with (
        ExitStack() as opened,
        temporary_folder(series.folder.parent) as hidden,
        temporary_folder(private.parent) as spill,
    ):
        # Under its final name, which the data sheet has.
        staged = hidden / request.release
        staged.mkdir(mode=0o700)
        copy_public(private / WAITING / THREADS, staged / THREADS)
        for name, content in contents.items():
            write_public(staged / name, content)
        threads = opened.enter_context(hold_file(staged / THREADS, THREADS))
        ledger = opened.enter_context(hold_file(private / LEDGER, LEDGER))
        _verify_again(staged, ledger, signing_key, memory, spill)
        require_same_files(
            {
                THREADS: threads.digest() == digest,
                LEDGER: ledger.digest() == request.sha256[LEDGER],
            }
        )
        check_existing(target, staged, digest, private)
        require_signed(target, signing_key, request.signature)
        _write_record(private, record)
        certificate = private_certificate(target, private, files)
        if certificate is not None:
            write_private(private / CERTIFICATE, certificate)
        publish_folder(staged, target, threads, digest, contents)
    series.switch_latest(request.release)
    remove_request(private)
    return target


def _verify_again(
    staged: Path,
    ledger: HeldFile,
    signing_key: SigningKey | None,
    memory: str | None,
    spill: Path,
) -> None:
    """Raise unless the verifier accepts the folder to be published."""
    try:
        failures = verify_folder(
            staged,
            ledger=ledger.path,
            keys={} if signing_key is None else {"own": signing_key.public},
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


def _write_record(private: Path, record: Mapping[str, Any]) -> None:
    """Write a decision; that of an interrupted approval has the same bytes again."""
    write_private(private / DECISION, json.dumps(record, indent=2) + "\n")


def _changed(names: list[str]) -> NotAnonymousError:
    """The error about files that are not those of the request."""
    return NotAnonymousError(
        "a release must have the files that were verified and reported; "
        f"{', '.join(names)} differ. Nothing was published; run the release again."
    )
