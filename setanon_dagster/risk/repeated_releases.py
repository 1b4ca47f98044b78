"""Attacks that make further releases of a log: without one person, and with attacker's accounts.

Paper:      none.
Guarantee:  deterministic for the log and the parameters; results contain no keyword, query or user.
Complexity: one release per person, and two for the accounts, by each of two methods.
Deviation:  none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import nan
from typing import Final, TypeVar

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.users import user_ranks
from setanon_core.model.inputs import Log
from setanon_core.model.publication import ReleaseResult
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.log import release_log
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.differencing import Differencing, difference_persons, published_sets
from setanon_core.risk.sybils import Guess, SybilAttack, sybil_attack
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure
from setanon_dagster.risk.versions import paper_form
from setanon_dagster.verifier.rounded_counts import rounded_costs

R = TypeVar("R")

PERSONS: Final = 10
"""Persons whose rows are left out, one after the other."""

GUESSES: Final = 20
"""True guesses, and as many false ones, of an attacker with k - 1 accounts per guess."""

SEED: Final = 0
"""Seed of the samples."""


@dataclass(frozen=True, slots=True)
class PersonDifferences:
    """What two releases, with and without each person, disclose by their sets and certificates."""

    sets: Differencing
    counted: int
    """Persons whose numbers of threads and keywords are the difference of two certificates."""

    @property
    def certificates_share(self) -> float:
        """Share of the persons counted exactly; 0 without persons."""
        return self.counted / max(self.sets.persons, 1)

    @property
    def sentence(self) -> str:
        """The counts of the sets and of the certificates."""
        return (
            f"{self.sets.sentence} The public certificates give the exact numbers of threads and "
            f"keywords of {self.counted} of these persons."
        )


def attack_by_differences(
    log: Log, users: Sequence[str], raw: AttackData, params: ReleaseParams
) -> AttackResult:
    """Compare releases with and without one person: the sets that have more threads.

    `users` has the user of each thread of `raw`.
    """
    threads = _one_thread_per_user(raw, raw.typed.keywords.sizes > 0, PERSONS)
    persons = [users[thread] for thread in threads]
    release, paper = _both(params, lambda each: _difference_persons(log, persons, each))
    shares: dict[str, Callable[[PersonDifferences], float]] = {
        "sets with more threads that have a keyword of the person": (
            lambda each: each.sets.with_keyword_share
        ),
        "sets with more threads that are a set of the person": (
            lambda each: each.sets.of_person_share
        ),
        "persons counted exactly by two certificates": lambda each: each.certificates_share,
    }
    return AttackResult(
        "Differencing",
        "Two releases with the same parameters, with and without the rows of one person: share of "
        "the sets with more threads in the first that concern the person; and of the persons whose "
        "numbers of threads and keywords are the difference of the two public certificates.",
        release.sentence,
        tuple(
            RiskFigure(name, nan, value(release), value(paper)) for name, value in shares.items()
        ),
    )


def _difference_persons(
    log: Log, persons: Sequence[str], params: ReleaseParams
) -> PersonDifferences:
    """Compare sets and certificates of the releases with and without each person."""
    counts: list[tuple[Ints, Ints]] = []

    def anonymize(rows: Log) -> ReleaseResult:
        result = release_log(rows, params)
        counts.append(certified_counts(result))
        return result

    sets = difference_persons(log, persons, anonymize)
    # The complete log is released first.
    (exact, public), *without = counts
    counted = sum(
        np.array_equal(exact - exact_before, public - public_before)
        for exact_before, public_before in without
    )
    return PersonDifferences(sets, counted)


def certified_counts(result: ReleaseResult) -> tuple[Ints, Ints]:
    """Numbers of threads and keywords of the source: the exact ones, and those that are public."""
    sets = published_sets(result.release, result.params.tokenizer).values()
    cost, flips = result.cost, result.cost.certificate.cost
    public = rounded_costs(
        {
            "additions": flips.additions,
            "deletions": flips.deletions,
            "withdrawals": flips.withdrawals,
            "respellings": cost.respellings,
            "lower_bound": cost.certificate.lower_bound,
        },
        len(sets),
        sum(map(len, sets)),
    )
    return (
        np.array([cost.threads, cost.keywords]),
        np.array([public["threads"], public["keywords"]]),
    )


def attack_by_accounts(
    log: Log, users: Sequence[str], raw: AttackData, params: ReleaseParams
) -> AttackResult:
    """Guess threads that only one user has, type them with k - 1 accounts, and release the log."""
    true, false = draw_guesses(users, raw)
    release, paper = _both(
        params,
        lambda each: sybil_attack(
            log, each.k, true, partial(release_log, params=each), false_guesses=false
        ),
    )
    shares: dict[str, Callable[[SybilAttack], float]] = {
        "true guesses confirmed": lambda each: each.confirmed / max(each.true_guesses, 1),
        "false guesses confirmed": lambda each: each.false_confirmed / max(each.false_guesses, 1),
    }
    return AttackResult(
        "Attacker's accounts",
        "The attacker types a guessed thread of a person with k - 1 accounts: share of the guesses "
        "that the release confirms by publishing the guessed set.",
        release.sentence,
        tuple(
            RiskFigure(name, nan, value(release), value(paper)) for name, value in shares.items()
        ),
    )


def draw_guesses(users: Sequence[str], raw: AttackData) -> tuple[list[Guess], list[Guess]]:
    """Threads whose set only one user has, as true guesses; and sets of two users as false ones."""
    typed, words = raw.typed, raw.distinct.vocabulary
    _, sharing = user_ranks(typed.keywords.ranks, typed.users)
    threads = _one_thread_per_user(raw, (sharing == 1) & (typed.keywords.sizes > 1), GUESSES)
    true = [Guess(users[thread], _queries(raw, thread)) for thread in threads]
    keywords = [typed.keywords.items[typed.keywords.offsets[thread]] for thread in threads]
    false = [
        Guess(users[thread], (f"{words[own]} {words[other]}",))
        for thread, (own, other) in zip(threads, pairwise(keywords), strict=False)
        if own != other
    ]
    return true, false


def _queries(raw: AttackData, thread: int) -> tuple[str, ...]:
    """The queries of a thread: its keywords in the order typed."""
    typed, distinct = raw.typed, raw.distinct
    queries = typed.queries[typed.offsets[thread] : typed.offsets[thread + 1]].tolist()
    bounds = [(distinct.offsets[query], distinct.offsets[query + 1]) for query in queries]
    lists = (distinct.words[low:high].tolist() for low, high in bounds)
    return tuple(" ".join(distinct.vocabulary[word] for word in words) for words in lists)


def _one_thread_per_user(raw: AttackData, allowed: Bools, n: int) -> list[int]:
    """A thread of each of at most n users, sampled among the allowed threads."""
    threads = np.random.default_rng(SEED).permutation(np.flatnonzero(allowed))
    _, first = np.unique(raw.typed.users[threads], return_index=True)
    sampled: list[int] = threads[np.sort(first)[:n]].tolist()
    return sampled


def _both(params: ReleaseParams, attack: Callable[[ReleaseParams], R]) -> tuple[R, R]:
    """The result of an attack on the release and on the paper's release."""
    return attack(params), attack(paper_form(params, has_queries=True))
