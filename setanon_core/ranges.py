"""Ranges of parameters, declared in type annotations: `k: Annotated[int, AtLeast(2)]`.

A range gives its description, its check and its JSON schema. Errors contain numbers, choices and
type names only: a value of another type may be data.
"""

import operator
import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, runtime_checkable

from setanon_core.errors import InvalidParameterError


@runtime_checkable
class Range(Protocol):
    """The values that a parameter may have."""

    @property
    def text(self) -> str:
        """Complete the sentence "<name> must be ...", without the full stop."""
        ...

    def check(self, name: str, value: object) -> object:
        """Return the value to store; raise `InvalidParameterError` if it is out of range."""
        ...

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        ...


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Integers from `least` upwards; stored as plain `int`."""

    least: int
    note: str = ""
    """Appended to the error."""

    @property
    def text(self) -> str:
        """Complete the sentence "<name> must be ..."."""
        return f"at least {self.least}"

    def check(self, name: str, value: object) -> int:
        """Return a plain integer in the range."""
        number = check_integer(name, value)
        if number < self.least:
            error = f"{name} must be {self.text}; got {number}. {self.note}"
            raise InvalidParameterError(error.rstrip())
        return number

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minimum": self.least}


@dataclass(frozen=True, slots=True)
class Between:
    """Integers from `least` to `most`, both included; stored as plain `int`."""

    least: int
    most: int

    @property
    def text(self) -> str:
        """Complete the sentence "<name> must be ..."."""
        return f"from {self.least} to {self.most}"

    def check(self, name: str, value: object) -> int:
        """Return a plain integer in the range."""
        number = check_integer(name, value)
        if not self.least <= number <= self.most:
            raise InvalidParameterError(f"{name} must be {self.text}; got {number}.")
        return number

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class UnitInterval:
    """Numbers from 0 to 1, both included."""

    @property
    def text(self) -> str:
        """Complete the sentence "<name> must be ..."."""
        return "a number from 0 to 1"

    def check(self, name: str, value: object) -> float:
        """Return the number unchanged."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidParameterError(f"{name} must be {self.text}; got {_type_of(value)}.")
        if not 0 <= value <= 1:  # false for NaN
            raise InvalidParameterError(f"{name} must be {self.text}; got {value}.")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minimum": 0, "maximum": 1}


@dataclass(frozen=True, slots=True)
class Matching:
    """Strings that match a regular expression from beginning to end."""

    pattern: str
    text: str
    note: str = ""
    """Appended to the error."""

    def check(self, name: str, value: object) -> str:
        """Return the string unchanged."""
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise InvalidParameterError(f"{name} must be {self.text}. {self.note}".rstrip())
        return value

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"pattern": f"^{self.pattern}$"}


@dataclass(frozen=True, slots=True)
class ByteLength:
    """Byte strings of `least` to `most` bytes; errors do not contain the value."""

    least: int
    most: int

    @property
    def text(self) -> str:
        """Complete the sentence "<name> must be ..."."""
        return f"{self.least} to {self.most} bytes"

    def check(self, name: str, value: object) -> bytes:
        """Return the bytes unchanged."""
        if isinstance(value, str):
            raise InvalidParameterError(f"{name} must be {self.text}; got text. Encode it.")
        if not isinstance(value, bytes) or not self.least <= len(value) <= self.most:
            raise InvalidParameterError(f"{name} must be {self.text}.")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"minLength": self.least, "maxLength": self.most}


K_RANGE: Final = AtLeast(2, "At k=1 the release would be the raw data.")

K = Annotated[int, K_RANGE]
Share = Annotated[float, UnitInterval()]


def check_k(k: object) -> int:
    """Return k as a plain integer of at least 2."""
    return K_RANGE.check("k", k)


def check_integer(name: str, value: object) -> int:
    """Return a plain integer; refuse Booleans and everything that is not an integer."""
    try:
        # bool is a subclass of int: True would be accepted as 1.
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]  # raises TypeError
    except TypeError:
        pass
    raise InvalidParameterError(f"{name} must be an integer; got {_type_of(value)}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices; the error lists them."""
    if isinstance(value, str) and value in choices:
        return value
    # A value that is not a string may be data: show its type only.
    seen = repr(value) if isinstance(value, str) else _type_of(value)
    raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}; got {seen}.")


def _type_of(value: object) -> str:
    return f"a value of type {type(value).__name__}"
