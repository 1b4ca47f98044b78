"""What the release gate is given and what it returns: stage files, specification and result."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from setanon_core.params import Tokenizer, UserNames
from setanon_dagster.config import Approval, Signature
from setanon_dagster.gate.certificate import Plain
from setanon_dagster.gate.signing import SigningKey
from setanon_dagster.verifier.verdict import DetailedVerdict

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
    attributes: tuple[str, ...] = ()
    """Published columns of the attributes."""

    parameters: Mapping[str, Plain] = field(default_factory=dict)
    """Further parameters for the certificate, which is public."""

    user_names: UserNames = "folded"
    """Spellings that are one user; the users of the source must have one spelling each."""

    tokenizer: Tokenizer | None = field(default=None, repr=False)
    """Split the queries into the keywords of `clusters`; None: `tokenize`."""

    approval: Approval = "none"
    """With "required", the release waits in the private folder until a person approves it."""

    signature: Signature = "optional"
    """With "required", a release that is not signed is refused; also when it is approved."""

    signing_key: SigningKey | None = field(default=None, repr=False)
    """Signs the certificate. Not used if approval is required: `decide` signs then."""

    secret: bytes | None = field(default=None, repr=False)
    """Key of the thread ids; None: a random one, created once and kept in the private folder."""

    @property
    def used_key(self) -> SigningKey | None:
        """The key that signs now: a certificate that waits for approval is not final."""
        return self.signing_key if self.approval == "none" else None

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
                f"{self.name} was rejected; nothing was published. To approve it all the same: "
                f"{command} --overrule"
            )
        return f"{self.name} is verified and waits for approval: {command}"
