"""The few ways in which setanon refuses: one base class, and builtins beside it.

A message says what must hold, what was seen, and what to do. It carries counts, positions and
type names only: never an item, a query or a user.
"""


class SetanonError(Exception):
    """Base of every error that setanon raises on purpose."""


class InvalidParameterError(SetanonError, ValueError):
    """A parameter is outside its range."""


class MalformedInputError(SetanonError, ValueError):
    """The data cannot be read as records."""


class NotAnonymousError(SetanonError):
    """What was about to be published is not k-anonymous; nothing was published."""
