"""The exceptions of setanon: one base class, combined with builtin classes where they fit.

A message states what must hold, what was seen, and what to do. It contains counts, positions and
type names only: never an item, a query or a user.
"""


class SetanonError(Exception):
    """Base class of all errors that setanon raises deliberately."""


class InvalidParameterError(SetanonError, ValueError):
    """A parameter is outside its range."""


class MalformedInputError(SetanonError, ValueError):
    """The input cannot be read as records."""


class MissingPackageError(SetanonError, ImportError):
    """A package that the requested kind of table needs is not installed."""


class NotAnonymousError(SetanonError):
    """The result is not k-anonymous; nothing was published."""
