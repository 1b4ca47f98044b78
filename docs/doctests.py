"""Doctests in docstrings become blocks of code, which Markdown would take for quotations."""

import re
from typing import Any, Final

import griffe

EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)
"""From the first prompt to the next empty line."""


class FencedDoctests(griffe.Extension):
    """Puts a fence around every doctest."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - as griffe calls it
        """Change the docstring of what was found."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Text with its doctests fenced.

    >>> print(fenced("A sum.").strip())
    A sum.
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
