"""Fixed sentences of a report, and text made safe for display."""

from collections.abc import Mapping
from math import ceil, isfinite
from typing import Final

ROUNDING: Final = 1e-9
"""Tolerance for floating-point error before rounding up."""

CAUSES: Final[Mapping[str, str]] = {
    "rare_published": "deleted from a published thread: fewer than {least} {unit}s have the "
    "keyword",
    "rare_withdrawn": "in a withdrawn thread: fewer than {least} {unit}s have the keyword",
    "other_withdrawn": "in a withdrawn thread: {least} or more {unit}s have the keyword",
    "in_groups": "deleted in a group: the keyword is not in the set of the group",
    "added": "added in a group: the keyword is in the set of the group",
}
"""Cause of each addition and deletion, by field of `Losses`; their counts sum to the cost."""

SHORT_CAUSES: Final[Mapping[str, str]] = {
    "rare_published": "rare keyword, deleted",
    "rare_withdrawn": "rare keyword, withdrawn",
    "other_withdrawn": "other keyword, withdrawn",
    "in_groups": "deleted in a group",
    "added": "added in a group",
}
"""Labels of the bars in the figure."""

ROUNDS: Final[Mapping[str, str]] = {
    "open_itemsets": "groups from frequent itemsets",
    "local_search": "local search",
    "reopen": "new groups where they save most",
    "reassign": "threads reassigned to nearer groups",
    "reprice": "chains of moves, groups opened and closed at prices",
    "perturb": "perturbation and local search",
    "group_places": "groups from frequent itemsets, place by place",
    "move_between_places": "threads moved to nearer groups of other places",
    "reopen_between_places": "new groups of threads of several places",
    "typed_centers": "sets replaced by those that k users typed",
}

PROMISED: Final[Mapping[str, str]] = {
    "user": "The {whole} of each published thread is published, character for character, for "
    "threads of at least {k} different users. Several threads of one user count once.",
    "record": "The source has no users, so each record counts as one user: each {whole} is "
    "published, character for character, for at least {k} records, which may belong to one person.",
}

WHOLE: Final[Mapping[str, str]] = {
    "sets": "keyword set",
    "queries": "list of queries (words, order, number and repetition)",
    "edited": "keyword set",
}
"""What at least k users share, by format."""

OWNERS: Final = "Each published keyword was typed by at least {owners} {unit}s of the source."
NO_OWNERS: Final = (
    "Keywords typed by few {unit}s may be in the release: min_owners was 0, as in the paper."
)

ALWAYS_PROMISED: Final = (
    (
        "The published files contain no user, time, click or input order. Thread ids are hashes "
        "keyed with a secret; rows are sorted by thread id."
    ),
    (
        "A verifier that shares no code with the anonymizer verified the file on disk, with the "
        "private ledger, before publication."
    ),
    "The same source, parameters and secret give byte-identical files.",
)

ATTRIBUTES: Final = (
    "The same users share the values of {names} of each published thread. The published files "
    "contain nothing else than keywords and these values: no user, no exact time and no input "
    "order. Thread ids are hashes keyed with a secret; rows are sorted by thread id."
)

UNCHANGED: Final[Mapping[str, str]] = {
    "sets": "The number of threads per set is published unchanged.",
    "queries": "The number of threads per list of queries is published unchanged.",
    "edited": "The number, order and repetition of a thread's queries are published unchanged; "
    "only the keyword set is {k}-anonymous.",
}
"""What each format reveals."""

NOT_PROMISED: Final = (
    (
        "k-anonymity is not differential privacy. It hides which of at least {k} {unit}s a set "
        "belongs to, not that one of them has it; what they all have in common can be learned."
    ),
    (
        "Two releases about the same users, for other periods or with other parameters, may "
        "reveal more together than each of them alone."
    ),
    "The ledger, or the secret together with the source, is enough to reverse the release.",
)

TYPED: Final = "At least {k} {unit}s of the source have each set whole, each in one thread."
COMBINED: Final = "A set may combine keywords that fewer than {k} {unit}s typed in one thread."
"""What `combinations` any and typed say about the published sets."""

LINKS: Final[Mapping[str, str]] = {
    "thread": "An attacker may be able to link several threads of one user.",
    "session": "A thread is all queries of one user (unit: session). Users with very many queries "
    "have several threads, which an attacker may be able to link.",
    "query": "A thread is one query (unit: query). An attacker may be able to link several queries "
    "of one user.",
}
"""What can be linked, by the parameter `unit`."""

SHARING: Final[Mapping[str, str]] = {
    "public": "May be shared: the published files contain the same information.",
    "private": "Private: counts that are not in the published files.",
    "never": "Private, never share: words of users.",
}
"""Whether a section may be shared."""


def round_name(name: str) -> str:
    """Description of a round, or its name if it has none."""
    return ROUNDS.get(name, name.replace("_", " "))


def cause(name: str, least: int, unit: str) -> str:
    """Sentence for a field of `Losses`; `least` is `min_owners`."""
    return CAUSES[name].format(least=least, unit=unit)


def promised(  # noqa: PLR0913 - what a release promises
    unit: str,
    k: int,
    owners: int,
    *,
    form: str = "sets",
    typed: bool = False,
    attributes: str = "",
) -> list[str]:
    """Guarantees of a release; `owners` is `min_owners`, `typed` whether combinations are typed.

    `attributes` are the names of the published ones.
    """
    absent, *others = ALWAYS_PROMISED
    return [
        PROMISED[unit].format(k=k, whole=WHOLE[form]),
        (OWNERS if owners else NO_OWNERS).format(owners=owners, unit=unit),
        *([TYPED.format(k=k, unit=unit)] if typed else []),
        *([ATTRIBUTES.format(names=attributes)] if attributes else [absent]),
        *others,
    ]


def not_promised(
    unit: str, k: int, form: str, *, typed: bool = False, record: str = "thread"
) -> list[str]:
    """Limits of the guarantees; `form` is the format, `record` the parameter `unit`."""
    first, *others = NOT_PROMISED
    return [
        first.format(k=k, unit=unit),
        UNCHANGED[form].format(k=k),
        LINKS[record],
        *([] if typed else [COMBINED.format(k=k, unit=unit)]),
        *others,
    ]


def printable(text: str) -> str:
    """Replace each unprintable character by U+FFFD.

    >>> printable("tea" + chr(0))
    'tea\ufffd'
    """
    joiners = "\u200c\u200d"  # required to write some scripts
    return "".join(c if c.isprintable() or c in joiners else "\ufffd" for c in text)


def factor_text(factor: float) -> str:
    """Cost divided by lower bound, rounded up so that "at most" holds.

    >>> factor_text(1.5441), factor_text(1.25)
    ('1.545', '1.250')
    """
    return f"{round_factor(factor):.3f}"


def round_factor(factor: float) -> float:
    """Cost divided by lower bound, rounded up to three decimals."""
    return ceil(1000 * factor - ROUNDING) / 1000 if isfinite(factor) else factor
