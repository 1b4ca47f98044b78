"""The release gate: stage a release, verify the staged file, then publish or refuse it.

Guarantee:  `latest` of a series always points to a complete, verified release, the old or the new
            one, even if the process is killed. A killed process leaves only hidden temporary files,
            which the next run removes. Equal threads give equal bytes and therefore the same
            release name.
"""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.ranges import check_k
from setanon_dagster.gate.assign_ids import id_key, stored_secret, write_with_ids
from setanon_dagster.gate.certificate import (
    CertificateFiles,
    Plain,
    attribute_cost_failures,
    build_certificate,
    certificate_files,
    certified_costs,
    counted_unit,
    published_parameters,
    rejected_lines,
)
from setanon_dagster.gate.decisions import is_rejected, read_decision, require_no_objection
from setanon_dagster.gate.held_files import HeldFile, hold_file
from setanon_dagster.gate.public_folder import (
    DATASHEET,
    check_existing,
    private_certificate,
    public_contents,
    publish_folder,
    require_same_files,
    store_private_files,
)
from setanon_dagster.gate.release_spec import Published, ReleaseSpec, ReleaseState, StageFiles
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.signing import require_key, require_signed
from setanon_dagster.gate.staging import copy_private, write_private, write_public
from setanon_dagster.gate.user_spellings import spelling_failures
from setanon_dagster.gate.waiting import WAITING, stage_request, store_request
from setanon_dagster.storage.folders import make_folder
from setanon_dagster.storage.temporary import (
    UNPUBLISHED,
    hold,
    lock_exclusively,
    remove_all_leftovers,
    temporary_folder,
)
from setanon_dagster.verifier.ledger_entries import wrong_ledger_entries
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of
from setanon_dagster.verifier.signature import SIGNATURE
from setanon_dagster.verifier.source_rows import source_failures
from setanon_dagster.verifier.sql import Limits
from setanon_dagster.verifier.typed_sets import require_typed_sets
from setanon_dagster.verifier.verdict import FileVerdict


def publish(
    files: StageFiles,
    spec: ReleaseSpec,
    out: Path,
    *,
    cores: int | None = None,
    memory: str | None = None,
) -> Published:
    """Publish the anonymized threads into the folder `out` if the verifier accepts them.

    Otherwise raise `NotAnonymousError` and leave `out` unchanged. `cores` and `memory` ("4GB")
    limit DuckDB.
    """
    k = check_k(spec.k)
    if spec.approval == "none":
        require_key(spec.signing_key, spec.signature)
    parameters = published_parameters(
        spec.parameters,
        k,
        spec.owners,
        spec.format,
        user_names=spec.user_names,
        attributes=spec.attributes,
    )
    series = Series(out, spec.name, spec.part)
    releases = make_folder(out / "releases", 0o755)
    private = make_folder(out / "private", 0o700)
    series.check_folder()
    remove_all_leftovers(out)
    with (
        ExitStack() as opened,
        temporary_folder(releases) as staged_public,
        temporary_folder(private) as staged_private,
        temporary_folder(private) as spill,
        # Last: it is waited for before its files and folders are removed.
        ThreadPoolExecutor(1) as background,
    ):
        held = {
            stage: opened.enter_context(hold_file(path, stage))
            for stage, path in files.paths().items()
        }
        stages = {stage: file.path for stage, file in held.items()}
        clusters = stages["clusters"]
        limits: Limits = {"cores": cores, "memory": _halved(memory), "spill": spill}
        # Beside the other steps: about as much work as verification, in another database.
        compared = background.submit(_differences_to_source, stages, spec, limits)
        secret = stored_secret(private) if spec.secret is None else spec.secret
        unmatched = write_with_ids(
            stages["anonymized_threads"],
            stages["ledger"],
            id_key(secret, parameters, held["clusters"].digest()),
            spec.format,
            limits,
            attributes=spec.attributes,
            public=staged_public / THREADS,
            private=staged_private / LEDGER,
        )
        _copy_stages(stages, staged_private)
        threads = opened.enter_context(hold_file(staged_public / THREADS, THREADS))
        ledger = opened.enter_context(hold_file(staged_private / LEDGER, LEDGER))
        digest = threads.digest()
        verdict = verify_file(
            threads.path,
            k,
            ledger.path,
            format=spec.format,
            words=clusters,
            min_owners=spec.owners,
            attributes=spec.attributes,
            **limits,
        )
        if parameters.get("combinations") == "typed":
            require_typed_sets(threads.path, clusters, k, limits)
        wrong_entries = wrong_ledger_entries(ledger.path, clusters, **limits)
        costs = certified_costs(stages.get("cost_report", files.cost_report), parameters)
        others = [*unmatched.failures, *compared.result()]
        _check_verdict(verdict, wrong_entries, others, costs)
        exact = build_certificate(
            digest,
            parameters,
            costs,
            verdict,
            counted_unit(clusters),
            approval=spec.approval,
            rejected=rejected_lines(stages.get("rejected_rows")),
        )
        staged = _Staged(
            series,
            staged_public,
            staged_private,
            threads,
            ledger,
            digest,
            certificate_files(series.title, exact),
        )
        require_same_files({stage: file.is_unchanged() for stage, file in held.items()})
        # Two publications of one release, or its publication and a decision, exclude each other.
        with lock_exclusively(private):
            state = _publish_staged(staged, spec)
    name = series.release_id(digest)
    folder = series.folder / name if state == "published" else private / name / WAITING
    # An existing release keeps its signature, or has none.
    present = (folder / file for file in (THREADS, CERTIFICATE, DATASHEET, SIGNATURE))
    return Published(
        name,
        folder,
        digest,
        verdict,
        tuple(file for file in present if file.exists()) if state == "published" else (),
        private / name,
        tuple(series.earlier_layout()) if state == "published" else (),
        state,
    )


@dataclass(frozen=True, slots=True)
class _Staged:
    """A verified release, staged in hidden folders."""

    series: Series
    public: Path
    private: Path
    threads: HeldFile
    ledger: HeldFile
    digest: str
    certificates: CertificateFiles


def _publish_staged(staged: _Staged, spec: ReleaseSpec) -> ReleaseState:
    """Publish a staged release, or let it wait for approval; no other process does so meanwhile."""
    series, digest = staged.series, staged.digest
    name = series.release_id(digest)
    folder, private = series.folder / name, series.out / "private"
    contents = public_contents(staged.certificates, spec.used_key)
    for file, content in contents.items():
        write_public(staged.public / file, content)
    # Before the private files of an existing release are replaced.
    check_existing(folder, staged.public, digest, private / name)
    require_signed(folder, spec.used_key, spec.signature)
    certificate = private_certificate(folder, private / name, staged.certificates)
    if certificate is not None:
        write_private(staged.private / CERTIFICATE, certificate)
    if not folder.exists() or series.would_move_latest(name):
        if spec.approval == "required":
            stage_request(
                series, staged.threads.path, staged.certificates, staged.private, spec.signature
            )
            require_same_files({THREADS: sha256_of(staged.private / WAITING / THREADS) == digest})
            store_request(staged.private, private / name)
            return "rejected" if is_rejected(read_decision(private / name)) else "waiting"
        require_no_objection(private, digest)
    store_private_files(staged.private, private / name, staged.ledger)
    with hold(private / name):
        publish_folder(staged.public, folder, staged.threads, digest, contents)
        (private / name / UNPUBLISHED).unlink(missing_ok=True)
    series.switch_latest(name)
    return "published"


def _halved(memory: str | None) -> str | None:
    """Half of a limit such as "1GB": two databases are open at a time."""
    match = re.fullmatch(r"([0-9.]+) *([A-Za-z]+)", memory or "")
    return memory if match is None else f"{float(match[1]) / 2:g}{match[2]}"


def _differences_to_source(
    stages: Mapping[str, Path], spec: ReleaseSpec, limits: Limits
) -> list[str]:
    """Messages about users, queries and words of the stages that the source does not have."""
    return [
        *source_failures(
            stages,
            spec.tokenizer or tokenize,
            limits,
            splits_at_blanks=spec.tokenizer is None,
            attributes=spec.attributes,
        ),
        *spelling_failures(stages, spec.user_names, limits),
    ]


def _copy_stages(stages: Mapping[str, Path], target: Path) -> None:
    """Copy the private stages that are kept with the release."""
    for stage, name in (("rejected_rows", "rejected.parquet"), ("cost_report", "cost.parquet")):
        if stage in stages:
            copy_private(stages[stage], target / name)


def _check_verdict(
    verdict: FileVerdict, wrong_entries: int, others: list[str], costs: Mapping[str, Plain]
) -> None:
    """Raise if the release is not k-anonymous, or empty; messages have counts only."""
    failures = [*verdict.failures, *others, *attribute_cost_failures(costs, verdict)]
    if wrong_entries:
        failures.append(
            f"the ledger must name the user of each thread; {wrong_entries} entries are wrong"
        )
    if failures:
        raise NotAnonymousError(
            "a release must be k-anonymous and have nothing but its columns: "
            + "; ".join(failures)
            + ". Nothing was published; the latest release is unchanged."
        )
    if not verdict.records:
        raise InvalidParameterError(
            f"k = {verdict.k} must leave something to publish; {costs['withdrawals']} threads were "
            "withdrawn and none is left. Lower k or add threads of more users."
        )
