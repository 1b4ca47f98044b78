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
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.params import Tokenizer, UserNames
from setanon_core.ranges import check_k
from setanon_dagster.config import Approval
from setanon_dagster.gate.assign_ids import id_key, stored_secret, write_with_ids
from setanon_dagster.gate.certificate import (
    CertificateFiles,
    Plain,
    build_certificate,
    certificate_files,
    certified_costs,
    counted_unit,
    published_parameters,
    rejected_lines,
)
from setanon_dagster.gate.held_files import HeldFile, hold_file
from setanon_dagster.gate.public_folder import (
    DATASHEET,
    check_existing,
    publish_folder,
    require_same_files,
    store_private_files,
)
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.staging import copy_private, write_private, write_public
from setanon_dagster.gate.user_spellings import spelling_failures
from setanon_dagster.gate.waiting import (
    WAITING,
    read_decision,
    read_request,
    stage_request,
    store_request,
)
from setanon_dagster.storage.folders import make_folder
from setanon_dagster.storage.temporary import (
    UNPUBLISHED,
    hold,
    remove_all_leftovers,
    temporary_folder,
)
from setanon_dagster.verifier.ledger_entries import wrong_ledger_entries
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of
from setanon_dagster.verifier.source_rows import source_failures
from setanon_dagster.verifier.sql import Limits
from setanon_dagster.verifier.typed_sets import require_typed_sets
from setanon_dagster.verifier.verdict import DetailedVerdict, FileVerdict

ReleaseState = Literal["published", "waiting", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFiles:
    """Parquet files of the stages whose rows are published or verified."""

    anonymized_threads: Path
    ledger: Path
    clusters: Path
    """Has the keywords that each user typed."""

    cost_report: Path | Mapping[str, Plain]
    """The cost report, or a mapping with the columns of its total row."""

    rejected_rows: Path | None = None

    raw_log: Path | None = None
    """The rows of a log; required together with `threads`."""

    threads: Path | None = None
    """The rows of a log with their threads."""

    raw_baskets: Path | None = None
    """The rows of baskets; required instead of `raw_log` and `threads`."""

    def paths(self) -> dict[str, Path]:
        """The files by stage name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Path)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSpec:
    """What is published: the name of the release, and what it is verified and certified for."""

    name: str
    k: int
    part: str | None = None
    """The partition, such as 2006-03-01: `latest` of all parts links to the newest one."""

    min_owners: int | None = None
    """None: k."""

    format: str = "queries"
    parameters: Mapping[str, Plain] = field(default_factory=dict)
    """Further parameters for the certificate, which is public."""

    user_names: UserNames = "folded"
    """Spellings that are one user; the users of the source must have one spelling each."""

    tokenizer: Tokenizer | None = field(default=None, repr=False)
    """Split the queries into the keywords of `clusters`; None: `tokenize`."""

    approval: Approval = "none"
    """With "required", the release waits in the private folder until a person approves it."""

    secret: bytes | None = field(default=None, repr=False)
    """Key of the thread ids; None: a random one, created once and kept in the private folder."""

    @property
    def owners(self) -> int:
        """`min_owners` with its default filled in."""
        return self.k if self.min_owners is None else self.min_owners


@dataclass(frozen=True, slots=True)
class Published:
    """A verified release, which is published, waits for approval or was rejected."""

    name: str
    """Name of its folder: name of the release, partition, and the first 12 digits of the digest."""

    folder: Path
    digest: str
    """SHA-256 of the threads, in hexadecimal."""

    verdict: DetailedVerdict
    files: tuple[Path, ...]
    private: Path
    """The folder with the ledger."""

    warnings: tuple[str, ...] = ()
    """What the publisher should know, in sentences without data."""

    state: ReleaseState = "published"

    @property
    def sentence(self) -> str:
        """What happened to the release, and what to do."""
        if self.state == "published":
            return f"{self.name} is published."
        command = f"setanon approve {self.private} --by NAME"
        if self.state == "rejected":
            return (
                f"{self.name} was rejected; nothing was published. To decide again, move "
                f"{self.private} away and run the release again."
            )
        return f"{self.name} is verified and waits for approval: {command}"


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
    parameters = published_parameters(spec.parameters, k, spec.owners, spec.format, spec.user_names)
    series = Series(out, spec.name, spec.part)
    releases = make_folder(out / "releases", 0o755)
    private = make_folder(out / "private", 0o700)
    series.check_folder()
    remove_all_leftovers(out)
    with (
        ExitStack() as opened,
        temporary_folder(releases) as staged,
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
            public=staged / THREADS,
            private=staged_private / LEDGER,
        )
        _copy_stages(stages, staged_private)
        threads = opened.enter_context(hold_file(staged / THREADS, THREADS))
        ledger = opened.enter_context(hold_file(staged_private / LEDGER, LEDGER))
        digest = threads.digest()
        verdict = verify_file(
            threads.path,
            k,
            ledger.path,
            format=spec.format,
            words=clusters,
            min_owners=spec.owners,
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
        certificates = certificate_files(series.title, exact)
        texts = {CERTIFICATE: certificates.public, DATASHEET: certificates.sheet}
        for name, text in texts.items():
            write_public(staged / name, text)
        name = series.release_id(digest)
        folder = series.folder / name
        # Before the private files of an existing release are replaced.
        check_existing(folder, staged, digest)
        # A release that is published again keeps its first certificates, and so their date.
        if not folder.exists() or not (private / name / CERTIFICATE).exists():
            write_private(staged_private / CERTIFICATE, certificates.exact)
        require_same_files({stage: file.is_unchanged() for stage, file in held.items()})
        if spec.approval == "required" and (not folder.exists() or series.would_move_latest(name)):
            state = _request_approval(series, threads, certificates, staged_private, digest)
            return Published(
                name, private / name / WAITING, digest, verdict, (), private / name, state=state
            )
        store_private_files(staged_private, private / name, ledger)
        with hold(private / name):
            publish_folder(staged, folder, threads, digest, texts)
            (private / name / UNPUBLISHED).unlink(missing_ok=True)
    series.switch_latest(name)
    public = tuple(folder / file for file in (THREADS, CERTIFICATE, DATASHEET))
    warnings = tuple(series.earlier_layout())
    return Published(name, folder, digest, verdict, public, private / name, warnings)


def _request_approval(
    series: Series,
    threads: HeldFile,
    certificates: CertificateFiles,
    staged: Path,
    digest: str,
) -> ReleaseState:
    """Let a verified release wait; return whether it was rejected before."""
    target = series.out / "private" / series.release_id(digest)
    stage_request(series, threads.path, certificates, staged)
    require_same_files({THREADS: sha256_of(staged / WAITING / THREADS) == digest})
    store_request(staged, target)
    found = read_request(target)
    decision = None if found is None else read_decision(target, found[1])
    rejected = decision is not None and decision["decision"] == "rejected"
    return "rejected" if rejected else "waiting"


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
    failures = [*verdict.failures, *others]
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
