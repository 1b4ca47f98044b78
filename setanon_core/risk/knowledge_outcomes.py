"""Outcomes of attacks with partial knowledge: how many persons are singled out."""

from dataclasses import dataclass
from typing import Literal

Scope = Literal["thread", "person"]
"""What is known about: one thread of a person, or all of them."""


@dataclass(frozen=True, slots=True)
class KnowledgeOutcome:
    """What one kind of knowledge achieves; each person is in one of the last five counts."""

    knowledge: str
    """"random keywords", "rarest keywords", "one query", "all keywords" or "all queries"."""

    scope: Scope
    """What is known about: one thread of the person, or all of them."""

    known: int | None
    """Maximum number of known keywords; None for queries and for all keywords."""

    persons: int
    correct: int
    """Persons singled out: the only candidate user is the person."""

    wrong: int
    """Persons for whom another user is the only candidate."""

    below_k: int
    """Persons with 2 to k - 1 candidate users."""

    at_least_k: int
    """Persons with at least k candidate users."""

    none: int
    """Persons without a candidate."""

    @property
    def correct_share(self) -> float:
        """Share of the persons singled out correctly; 0 without persons."""
        return self.correct / max(self.persons, 1)

    @property
    def singled_out(self) -> int:
        """Persons with one candidate user, correct or not."""
        return self.correct + self.wrong

    @property
    def sentence(self) -> str:
        """The share of persons found."""
        amount = "" if self.known is None else f"up to {self.known} "
        scope = "one thread" if self.scope == "thread" else "all threads"
        return (
            f"Knowing {amount}{self.knowledge} of {scope} singles out {self.correct:,} of "
            f"{self.persons:,} persons correctly ({self.correct_share:.1%}), {self.wrong:,} "
            f"wrongly; {self.at_least_k:,} have at least k candidates."
        )


@dataclass(frozen=True, slots=True)
class PartialKnowledge:
    """The result of `partial_knowledge`: one outcome per kind of knowledge."""

    k: int
    outcomes: tuple[KnowledgeOutcome, ...]

    def worst(self, scope: Scope = "thread") -> KnowledgeOutcome:
        """The outcome with most persons singled out correctly, for knowledge of this scope.

        Of several such outcomes, the last one, which has the most knowledge.
        """
        outcomes = [outcome for outcome in self.outcomes if outcome.scope == scope]
        return max(reversed(outcomes), key=lambda outcome: outcome.correct_share)

    @property
    def sentence(self) -> str:
        """The sentence of the worst outcome for knowledge of one thread."""
        return self.worst().sentence
