"""Range checks for parameters: what must hold, what was seen."""

import operator

from setanon_core.errors import InvalidParameterError


def check_k(k: object) -> int:
    """Return k as a plain integer of at least 2, or say why it is not one."""
    value = integer("k", k)
    if value < 2:  # noqa: PLR2004 - the range is the rule itself
        raise InvalidParameterError(
            f"k must be at least 2; got {value}. At k=1 the release would be the raw data."
        )
    return value


def integer(name: str, value: object) -> int:
    """Return a plain integer, or say what was given instead."""
    try:
        # True is an int to Python, and never what was meant here.
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer
    except TypeError:
        pass
    raise InvalidParameterError(
        f"{name} must be an integer; got a value of type {type(value).__name__}."
    )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices, and list them."""
    if isinstance(value, str) and value in choices:
        return
    # What is not even a word may be data in the wrong place: name its type only.
    seen = repr(value) if isinstance(value, str) else f"a value of type {type(value).__name__}"
    raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {seen}.")


def check_share(name: str, value: object) -> None:
    """Refuse what is no share from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidParameterError(f"{name} must be a share from 0 to 1; got {_seen(value)}.")


def check_least(name: str, value: object, least: int) -> None:
    """Refuse what is no integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        seen = _seen(value)
        raise InvalidParameterError(f"{name} must be an integer of at least {least}; got {seen}.")


def _seen(value: object) -> str:
    return str(value) if isinstance(value, int | float) else f"type {type(value).__name__}"
