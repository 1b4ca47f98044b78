"""Verdict on a published file: counts of its faults, and messages with these counts."""

from dataclasses import dataclass, field, fields
from typing import Any, Final

from setanon_core.model.verdict import Verdict

OF_ATTRIBUTES: Final = ("malformed_values", "differing_values", "attributes")
"""Counts that only releases with attributes have."""


def _fault(sentence: str) -> Any:  # noqa: ANN401 - as `dataclasses.field`
    return field(default=0, metadata={"sentence": sentence})


@dataclass(frozen=True, slots=True)
class FileVerdict(Verdict):
    """The verdict on Definition 1, and counts of the other faults of a file.

    In the format "queries", `violations` are the threads whose list of queries fewer than k users
    have; they include those whose set fewer than k users have. In the other formats, `violations`
    are the latter.
    """

    keywords: int = 0
    """Keywords of the published threads, each counted once per thread."""

    lists: int = 0
    """Distinct published lists of queries; 0 in the format "sets"."""

    violating_lists: int = 0
    """Lists of queries that fewer than k users have, if the format is "queries"."""

    exposed_threads: int = 0
    """Threads whose list of queries fewer than k users have: a fault except in "edited"."""

    single_user_threads: int = 0
    """Threads whose list of queries only one user has."""

    wrong_columns: int = _fault(
        "the columns must be thread_id and keywords, or thread_id, position and query, with their "
        "types and in this order; {} differ"
    )
    nulls: int = _fault("no value may be null; {} rows have a null")
    malformed_ids: int = _fault("thread ids must be 32 lower-case hexadecimal digits; {} are not")
    repeated_rows: int = _fault("each row must have its own thread id and position; {} repeat one")
    unsorted_rows: int = _fault("rows must ascend by thread id and position; {} do not")
    broken_positions: int = _fault("positions of a thread must be 0, 1, 2, ...; {} are not")
    empty_sets: int = _fault("each thread must have a keyword; {} have none")
    empty_words: int = _fault(
        "keywords must not be empty, and one blank separates them; {} threads differ"
    )
    unsorted_sets: int = _fault(
        "keyword lists must be sorted and without duplicates; {} threads differ"
    )
    malformed_texts: int = _fault(
        "queries must not contain control characters; there are {} of them"
    )
    footer_entries: int = _fault(
        "the footer of the file must have no key-value metadata; it has {} entries"
    )
    unknown_threads: int = _fault("the ledger must have an entry for each thread; {} have none")
    unpublished_entries: int = _fault(
        "the ledger must have published threads only; {} entries are not published"
    )
    repeated_entries: int = _fault(
        "the ledger must have one entry per thread; {} threads have more"
    )
    null_entries: int = _fault("the ledger must have no null; {} rows have one")
    malformed_values: int = _fault(
        "values of attributes must be sorted, without duplicates and control characters, and not "
        "empty; {} rows differ"
    )
    differing_values: int = _fault(
        "all rows of a thread must have the same values of its attributes; {} differ"
    )
    rare_keywords: int = _fault(
        "at least min_owners users must have typed each keyword; {} have fewer"
    )
    attributes: tuple[tuple[str, int], ...] = ()
    """Published values of each attribute, each counted once per thread."""

    @property
    def counts(self) -> dict[str, Any]:
        """All counts by name; those of attributes only if there are attributes."""
        counts = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        for name in OF_ATTRIBUTES if not self.attributes else ():
            del counts[name]
        return counts | ({"attributes": dict(self.attributes)} if self.attributes else {})

    @property
    def ok(self) -> bool:
        """Whether at least k users share every set, and there is no other fault."""
        return not self.failures

    @property
    def failures(self) -> list[str]:
        """Messages about all faults, with counts and without data."""
        shared = f"{self.violating_groups} sets"
        if self.violating_lists:
            sets = f" and {shared}" if self.violating_groups else ""
            shared = f"{self.violating_lists} lists of queries{sets}"
        violation = (
            f"at least k = {self.k} users must share "
            f"every {'list of queries' if self.violating_lists else 'set'}; {shared} have fewer "
            f"users, with {self.violations} threads"
        )
        faults = (
            each.metadata["sentence"].format(count)
            for each in fields(self)
            if "sentence" in each.metadata and (count := getattr(self, each.name))
        )
        return [*([violation] if self.violations else []), *faults]


@dataclass(frozen=True, slots=True)
class DetailedVerdict(FileVerdict):
    """A file verdict with the group sizes, which are private."""

    sizes: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)
    """Numbers of sets and threads by users per set, as (users, sets, threads)."""
