"""Spellings of one user: names that a reader would call the same count as one user.

Names that differ in case, compatibility forms (NFKC), invisible characters (zero-width, byte order
mark, directional marks, soft hyphen, variation selectors) or blanks at their ends are one name.
With "confusable", so are names that differ in letters of other alphabets that look like Latin ones.

Guarantee:  merging users can only lower the number of users of a set, so k users stay k users.
Complexity: O(distinct users); only names other than printable ASCII in lower case are folded.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from setanon_core.columns.users import distinct_users
from setanon_core.params import UserNames

PLAIN_NAME: Final = re.compile(r"[!-@\[-`{-~]*")
"""Printable ASCII without capitals and blanks: such a name is unchanged by folding."""

# Marks that are not of category Cf but have no visible form either.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# Lower case after case folding, so a letter stands for its capital too: Cyrillic "в" is there
# because its capital looks like B.
_CYRILLIC: Final = dict(zip("авекмнорстухіјѕһԁԛԝӏү", "abekmhopctyxijshdqwly", strict=True))
_GREEK: Final = dict(zip("αβγεζηικμνορτυχω", "abyezhikmvoptuxw", strict=True))
_LATIN: Final = {"\u0131": "i", "\u0251": "a", "\u0261": "g"}
CONFUSABLE: Final = str.maketrans(_CYRILLIC | _GREEK | _LATIN)
"""Letters that look like a Latin letter, in small or as a capital; digits and ASCII are not
changed. The table covers the Cyrillic and Greek alphabets and three Latin letters, no others."""


def fold_name(name: str, user_names: UserNames) -> str:
    r"""The form in which all spellings of one name are equal.

    >>> fold_name(" Bo\u200bB ", "folded"), fold_name("b\u043eb", "confusable")
    ('bob', 'bob')
    """
    if user_names == "exact":
        return name
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    previous = None
    while name != previous:  # folding may compose a character that folds again
        previous = name
        name = unicodedata.normalize("NFKC", name.casefold())
        name = "".join(filter(_is_visible_or_blank, name))
        name = " ".join(_INVISIBLE.sub("", name).split())
        if user_names == "confusable":
            name = name.translate(CONFUSABLE)
    return name


def _is_visible_or_blank(mark: str) -> bool:
    return mark.isspace() or unicodedata.category(mark) not in {"Cc", "Cf"}


def other_spellings(names: Iterable[str], user_names: UserNames) -> dict[str, str]:
    """The names that another spelling stands for, each with that spelling: the first in order.

    >>> other_spellings(["bob", "Bob", "ann"], "folded")
    {'bob': 'Bob'}
    """
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(fold_name(name, user_names), []).append(name)
    return {name: min(same) for same in spellings.values() for name in same if name != min(same)}


def merge_spellings(users: Any, user_names: UserNames) -> Any:  # noqa: ANN401 - any column
    """A column of users in which each user has one spelling; unchanged if each has one already.

    Users that are not text are not changed.
    """
    if users is None or user_names == "exact" or not hasattr(users, "__len__"):
        return users
    try:
        distinct = distinct_users(users)
    except TypeError:  # `encode_users` refuses them
        return users
    names = [user for user in distinct if isinstance(user, str)]
    folded = {fold_name(name, user_names) for name in names if not PLAIN_NAME.fullmatch(name)}
    if not folded:
        return users
    doubtful = (name for name in names if name in folded or not PLAIN_NAME.fullmatch(name))
    merged: dict[Any, str] = other_spellings(doubtful, user_names)
    if not merged:
        return users
    to_list = next((name for name in ("to_pylist", "tolist") if hasattr(users, name)), None)
    listed: Sequence[Hashable] = users if to_list is None else getattr(users, to_list)()
    return [merged.get(user, user) for user in listed]
