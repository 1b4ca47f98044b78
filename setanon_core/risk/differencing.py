"""Differencing: compare two releases that differ in one person, or an earlier and a later one.

Both releases are k-anonymous, but a reader who has both sees which sets gained threads. Exact
counts in two certificates give the number of a person's threads and keywords without any set.

Paper:      none.
Guarantee:  exact counts.
Complexity: O(words) for two releases; `difference_persons` makes two releases per person.
Deviation:  none.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

from setanon_core.model.inputs import Log
from setanon_core.model.publication import Release, ReleaseResult
from setanon_core.params import Tokenizer
from setanon_core.pipeline.log import threads_of_log
from setanon_core.risk.attack_data import published_words
from setanon_core.risk.log_rows import log_of_rows, log_rows, of_users, without_users

Keywords = frozenset[str]
Interval = tuple[int, int]
"""Least and greatest possible value of a published count."""


@dataclass(frozen=True, slots=True)
class Differencing:
    """What two releases disclose about the person who is only in the second; sums over persons."""

    persons: int
    sets: int
    """Distinct sets of the second release."""

    risen: int
    """Sets with more threads in the second release than in the first."""

    fallen: int
    """Sets with fewer threads in the second release."""

    appeared: int
    """Risen sets that the first release does not have."""

    risen_with_keyword: int
    """Risen sets with a keyword of the person."""

    risen_typed: int
    """Risen sets whose keywords the person typed, all of them in one thread."""

    risen_of_person: int
    """Risen sets with which a thread of the person is published."""

    threads: int
    """Published threads of the person."""

    threads_risen: int
    """Of these, the threads whose set rose."""

    def __add__(self, other: "Differencing") -> "Differencing":
        """The sums of the counts."""
        sums = (getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        return Differencing(*sums)

    @property
    def with_keyword_share(self) -> float:
        """Share of the risen sets with a keyword of the person; 0 without risen sets."""
        return self.risen_with_keyword / max(self.risen, 1)

    @property
    def of_person_share(self) -> float:
        """Share of the risen sets that are sets of the person's threads; 0 without risen sets."""
        return self.risen_of_person / max(self.risen, 1)

    @property
    def sentence(self) -> str:
        """What the risen sets disclose."""
        return (
            f"Comparing two releases with and without one person ({self.persons:,} tried): of "
            f"{self.risen:,} sets with more threads, {self.risen_with_keyword:,} "
            f"({self.with_keyword_share:.1%}) have a keyword of the person and "
            f"{self.risen_of_person:,} ({self.of_person_share:.1%}) are the set of one of the "
            f"person's threads."
        )


@dataclass(frozen=True, slots=True)
class CountInference:
    """What two published values of one count say about their difference."""

    name: str
    least: int
    greatest: int

    @property
    def exact(self) -> bool:
        """Whether the difference is known exactly."""
        return self.least == self.greatest


def difference_releases(
    before: Release,
    after: Release,
    typed: Collection[Collection[str]] = (),
    thread_ids: Collection[str] = (),
    *,
    tokenizer: Tokenizer | None = None,
) -> Differencing:
    """Count the sets that rose from one release to the other, and those that concern a person.

    `typed` are the keywords of each of the person's threads, `thread_ids` the ids of the person's
    threads in the second release, from its ledger.

    >>> from setanon_core import SetRelease
    >>> before = SetRelease(("a", "b"), (("tea",), ("tea",)))
    >>> after = SetRelease(("c", "d", "e"), (("tea",), ("tea",), ("tea",)))
    >>> difference_releases(before, after, [["tea", "pot"]]).risen_with_keyword
    1
    """
    earlier = Counter(published_sets(before, tokenizer).values())
    later_sets = published_sets(after, tokenizer)
    later = Counter(later_sets.values())
    risen = {each for each, count in later.items() if count > earlier[each]}
    own = [frozenset(keywords) for keywords in typed]
    known: Keywords = frozenset().union(*own)
    threads = [later_sets[thread_id] for thread_id in thread_ids]
    return Differencing(
        persons=1,
        sets=len(later),
        risen=len(risen),
        fallen=sum(later[each] < count for each, count in earlier.items()),
        appeared=sum(each not in earlier for each in risen),
        risen_with_keyword=sum(not known.isdisjoint(each) for each in risen),
        risen_typed=sum(any(each <= keywords for keywords in own) for each in risen),
        risen_of_person=len(risen & set(threads)),
        threads=len(threads),
        threads_risen=sum(each in risen for each in threads),
    )


def difference_persons(
    log: Log, persons: Iterable[Hashable], anonymize: Callable[[Log], ReleaseResult]
) -> Differencing:
    """Release the log with and without each of these users, and add up the differences.

    `anonymize` makes a release of a log; pass the parameters that are to be attacked.
    """
    after = anonymize(log)
    rows = log_rows(log)
    total = Differencing(*[0] * len(Differencing.__dataclass_fields__))
    for person in persons:
        before = anonymize(log_of_rows(without_users(rows, [person])))
        own = threads_of_log(log_of_rows(of_users(rows, [person])), after.params)
        vocabulary = own.keywords.vocabulary
        typed: dict[int, set[str]] = {}
        for thread, words in own.typed.lists():
            typed.setdefault(thread, set()).update(vocabulary[word] for word in words)
        ledger = zip(after.ledger.thread_ids, after.ledger.users, strict=True)
        ids = [thread_id for thread_id, user in ledger if user == person]
        total += difference_releases(
            before.release,
            after.release,
            list(typed.values()),
            ids,
            tokenizer=after.params.tokenizer,
        )
    return total


def infer_differences(
    before: Mapping[str, int | Interval], after: Mapping[str, int | Interval]
) -> tuple[CountInference, ...]:
    """The possible differences of the counts of two certificates: exact values, or intervals.

    >>> exact, rounded = infer_differences(
    ...     {"threads": 500, "keywords": (1000, 1099)}, {"threads": 503, "keywords": (1000, 1099)}
    ... )
    >>> exact.exact, rounded.least, rounded.greatest
    (True, -99, 99)
    """
    names = [name for name in after if name in before]
    return tuple(_infer(name, _interval(before[name]), _interval(after[name])) for name in names)


def published_sets(release: Release, tokenizer: Tokenizer | None = None) -> dict[str, Keywords]:
    """The published set of each thread id."""
    sets: dict[str, set[str]] = {}
    words = published_words(release, tokenizer)
    for thread_id, keywords in zip(release.thread_ids, words, strict=True):
        sets.setdefault(thread_id, set()).update(keywords)
    return {thread_id: frozenset(keywords) for thread_id, keywords in sets.items()}


def _infer(name: str, before: Interval, after: Interval) -> CountInference:
    return CountInference(name, after[0] - before[1], after[1] - before[0])


def _interval(count: int | Interval) -> Interval:
    return (count, count) if isinstance(count, int) else count
