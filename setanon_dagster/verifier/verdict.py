"""What the verifier of a published file answers: counts, and sentences of counts."""

from dataclasses import dataclass, field, fields
from typing import Any

from setanon_core.model.verdict import Verdict


def _fault(sentence: str) -> Any:  # noqa: ANN401 - as `field` itself
    return field(default=0, metadata={"sentence": sentence})


@dataclass(frozen=True, slots=True)
class FileVerdict(Verdict):
    """The answer to Definition 1, and how often the file is not what a release must be."""

    wrong_columns: int = _fault(
        "the columns must be thread_id and keywords, or thread_id, position and query, of their "
        "types and in this order; {} differ"
    )
    nulls: int = _fault("nothing may be null; {} rows have a null")
    malformed_ids: int = _fault("thread ids must be 32 hexadecimal digits, lower case; {} are not")
    repeated_rows: int = _fault("each thread id, or position of a thread, must come once; {} more")
    unsorted_rows: int = _fault("rows must ascend by thread id and position; {} do not")
    broken_positions: int = _fault("positions of a thread must be 0, 1, 2, ...; {} are not")
    empty_sets: int = _fault("every thread must have a keyword; {} have none")
    empty_words: int = _fault("keywords must have letters, one blank between; {} threads differ")
    unsorted_sets: int = _fault("keywords must ascend, each of them once; {} threads differ")
    unknown_threads: int = _fault("the ledger must have every thread; it lacks {}")
    unpublished_entries: int = _fault("the ledger must have published threads only; {} are not")
    repeated_entries: int = _fault("the ledger must have one user for a thread; {} have more rows")
    null_entries: int = _fault("the ledger must have no null; {} rows have one")
    rare_keywords: int = _fault("every keyword must have min_owners users; {} have fewer")

    @property
    def ok(self) -> bool:
        """Whether every set is shared by k users, and nothing else is wrong."""
        return not self.failures

    @property
    def failures(self) -> list[str]:
        """What is wrong, in sentences with counts."""
        said = (
            f"every set must be that of k = {self.k} users; {self.violating_groups} are not, with "
            f"{self.violations} threads"
        )
        faults = (
            each.metadata["sentence"].format(count)
            for each in fields(self)
            if "sentence" in each.metadata and (count := getattr(self, each.name))
        )
        return [*([said] if self.violations else []), *faults]


@dataclass(frozen=True, slots=True)
class DetailedVerdict(FileVerdict):
    """The same, with what the verifier counted on its way; that is private."""

    sizes: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    """So many users have so many sets, with so many threads; by users."""
