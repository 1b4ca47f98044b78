"""Sybils: an attacker with k - 1 accounts types a guessed thread of a victim.

If the victim typed it too, k users have it and the set is published; if not, only k - 1 do. So the
release confirms or refutes the guess. No k-anonymity of users prevents this.

Paper:      none.
Guarantee:  exact for the guesses tried.
Complexity: two releases: one with the victims' rows, one without.
Deviation:  none.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import count, islice

from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Log
from setanon_core.model.publication import ReleaseResult
from setanon_core.risk.differencing import published_sets
from setanon_core.risk.log_rows import Row, log_of_rows, log_rows, without_users


@dataclass(frozen=True, slots=True, repr=False)
class Guess:
    """The queries that the attacker believes the victim typed as one thread."""

    victim: Hashable
    queries: tuple[str, ...]

    def __repr__(self) -> str:
        """The number of queries only."""
        return f"Guess({len(self.queries)} queries)"


@dataclass(frozen=True, slots=True)
class SybilAttack:
    """Guesses by whether they are true and whether the release confirms them."""

    k: int
    accounts: int
    """Accounts of the attacker per guess: k - 1."""

    true_guesses: int
    """Guesses about threads that the victim typed."""

    confirmed: int
    """True guesses whose set is published, and is not published without the victim."""

    present_anyway: int
    """True guesses whose set is also published without the victim: nothing is learned."""

    false_guesses: int
    false_confirmed: int
    """False guesses whose set is published, and is not published without the victim."""

    @property
    def sentence(self) -> str:
        """How many guesses the release confirms."""
        return (
            f"With {self.accounts:,} accounts of their own, an attacker confirms "
            f"{self.confirmed:,} of {self.true_guesses:,} true guesses, and "
            f"{self.false_confirmed:,} of {self.false_guesses:,} false ones."
        )


def sybil_attack(
    log: Log,
    k: int,
    true_guesses: Sequence[Guess],
    anonymize: Callable[[Log], ReleaseResult],
    *,
    false_guesses: Sequence[Guess] = (),
) -> SybilAttack:
    """Add k - 1 accounts per guess to the log, release it, and look for the guessed sets.

    `anonymize` makes a release of a log with this k. A guess is about one thread: the keywords of
    its queries are sought as one published set. All guesses are tried in one release, so they
    should have no keyword in common: the accounts of one would support the other.

    >>> from setanon_core import anonymize_log
    >>> log = Log(["ann", "bob"], [1, 2], ["pine straw", "tea pot"])
    >>> guess = Guess("ann", ("pine straw",))
    >>> sybil_attack(log, 3, [guess], lambda log: anonymize_log(log, k=3)).confirmed
    1
    """
    guesses = [*true_guesses, *false_guesses]
    rows = log_rows(log)
    accounts = _account_rows(rows, guesses, k - 1)
    others = without_users(rows, [guess.victim for guess in guesses])
    result = anonymize(log_of_rows([*rows, *accounts]))
    tokenizer = result.params.tokenizer
    split = tokenizer or tokenize
    present = set(published_sets(result.release, tokenizer).values())
    control = anonymize(log_of_rows([*others, *accounts]))
    without = set(published_sets(control.release, tokenizer).values())
    sets = [
        frozenset(word for query in guess.queries for word in split(query)) for guess in guesses
    ]
    confirmed = [each in present and each not in without for each in sets]
    n = len(true_guesses)
    return SybilAttack(
        k=k,
        accounts=k - 1,
        true_guesses=n,
        confirmed=sum(confirmed[:n]),
        present_anyway=sum(each in without for each in sets[:n]),
        false_guesses=len(false_guesses),
        false_confirmed=sum(confirmed[n:]),
    )


def _account_rows(rows: Sequence[Row], guesses: Sequence[Guess], accounts: int) -> list[Row]:
    """The rows of the attacker's accounts: each types the queries of one guess, in their order."""
    # Rows with equal times keep their order.
    time = max((row[1] for row in rows), default=0)
    taken = {str(user) for user, _, _ in rows}
    names = (f"account {number}" for number in count())
    free = (name for name in names if name not in taken)
    return [
        (name, time, query)
        for guess in guesses
        for name in islice(free, accounts)
        for query in guess.queries
    ]
