"""Fence doctests in docstrings as code blocks; Markdown would render them as quotations."""

import re
from typing import Any, Final

import griffe

EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)
"""A doctest: from the first prompt to the next empty line."""


class FencedDoctests(griffe.Extension):
    """Griffe extension that fences all doctests."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - signature set by griffe
        """Replace the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Text with its doctests fenced.

    >>> print(fenced("A sum.").strip())
    A sum.
    """
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
