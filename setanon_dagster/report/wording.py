"""The sentences of a report that do not depend on its numbers."""

from collections.abc import Mapping
from typing import Final

CAUSES: Final[Mapping[str, str]] = {
    "rare_kept": "deleted from a published thread, as fewer than {least} {unit}s hold the keyword",
    "rare_withdrawn": "withdrawn with its thread; fewer than {least} {unit}s hold the keyword",
    "other_withdrawn": "withdrawn with its thread; {least} {unit}s or more hold the keyword",
    "in_groups": "deleted in a group, as the others do not have the keyword",
    "added": "added in a group, as the others have the keyword",
}
"""Where each flip comes from; together they are the whole cost."""

SHORT: Final[Mapping[str, str]] = {
    "rare_kept": "rare keyword, deleted",
    "rare_withdrawn": "rare keyword, withdrawn",
    "other_withdrawn": "other keyword, withdrawn",
    "in_groups": "deleted to agree",
    "added": "added to agree",
}
"""The same, for the bars of a figure."""

ROUNDS: Final[Mapping[str, str]] = {
    "open_itemsets": "frequent itemsets become groups",
    "local_search": "local search",
    "reopen": "new groups where they save most",
    "rescue": "withdrawn threads attached",
    "shake": "shaken, and searched again",
}


def round_name(name: str) -> str:
    """What a round does, or its name."""
    return ROUNDS.get(name, name.replace("_", " "))


def cause(name: str, least: int, unit: str) -> str:
    """Why keywords were deleted or added."""
    return CAUSES[name].format(least=least, unit=unit)


PROMISED: Final[Mapping[str, str]] = {
    "user": "The set of keywords of every published thread is published, letter for letter, for "
    "threads of at least {k} different users. Several threads of one user count once.",
    "record": "The source names no users, so that every record counts as a user of its own: each "
    "set is published, letter for letter, for at least {k} records, which may be of one person.",
}

OWNERS: Final = "Every published keyword was typed by at least {owners} {unit}s of the source."
NO_OWNERS: Final = (
    "Keywords that few {unit}s typed may be in the release: min_owners was 0, as in the paper."
)

ALWAYS: Final = (
    (
        "No user, time, click or order of the source is in the published files. Thread ids are "
        "keyed hashes under a secret; rows are ordered by them."
    ),
    (
        "A verifier that shares no code with the anonymizer read the very file, with the private "
        "ledger, before the file got its public name."
    ),
    "The same source, parameters and secret give the same bytes.",
)

TRACES: Final[Mapping[str, str]] = {
    "sets": "The number of threads with a set is published as it is.",
    "queries": "The number, order and repetition of a thread's queries stay as they were typed; "
    "only the set of keywords is {k}-anonymous.",
}

NEVER: Final = (
    (
        "k-anonymity is not differential privacy. It hides to whom of at least {k} {unit}s a set "
        "belongs, not that somebody has it; what all of them have in common can be learnt."
    ),
    "Threads of one user may be stitched together by a clever reader.",
    (
        "Two releases about the same users, of other times or with other parameters, may tell more "
        "than each of them."
    ),
    "Whoever has the ledger, or the secret and the source, can undo the release.",
)

SHARING: Final[Mapping[str, str]] = {
    "public": "May be shown: the published files say the same.",
    "private": "Private: counts that the published files do not have.",
    "never": "Private, and never to be shown: people's own words.",
}
"""Who may see a section."""


def promised(unit: str, k: int, owners: int) -> list[str]:
    """What the release promises."""
    return [
        PROMISED[unit].format(k=k),
        (OWNERS if owners else NO_OWNERS).format(owners=owners, unit=unit),
        *ALWAYS,
    ]


def not_promised(unit: str, k: int, form: str) -> list[str]:
    """What it does not promise."""
    first, *others = NEVER
    return [first.format(k=k, unit=unit), TRACES[form].format(k=k), *others]
