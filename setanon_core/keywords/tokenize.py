"""Split queries into keywords.

Guarantee:  the keywords of keywords joined by spaces are the same keywords, so that a published
            query has exactly the published keywords.
Complexity: O(characters).
Deviation:  the paper does not define a keyword: see `tokenize`.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain, groupby
from typing import Any, Final

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.words import split_texts
from setanon_core.params import Tokenizer

# Without control characters: a published text must not contain any.
_ADDRESS = r"(?:https?://|www\.)[^\s\x00-\x1f\x7f-\x9f]*[{word}/]"
_WORD = r"[{word}]+(?:(?:['.\-&@_]|(?<=[0-9]),(?=[0-9]))[{word}]+)*(?:(?:\+\+|\#)(?![{word}]))?"
_ASCII_KEYWORD: Final = re.compile(f"{_ADDRESS}|{_WORD}".format(word="a-z0-9$"))

_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u2032\u0060\u00b4", "'"))


def tokenize(query: str) -> list[str]:
    """Split a query into keywords: its words in lower case.

    Words consist of letters, digits, combining marks, currency signs and emoji. An apostrophe,
    full stop, hyphen, ampersand, at sign or underscore between two of these joins them, and so
    does a comma between digits; other punctuation separates words. `c++` and `c#` are words. URLs
    are not split.

    >>> tokenize('+Dekston "county shelter" c++ www.Example.com/a?b=1, wx.')
    ['dekston', 'county', 'shelter', 'c++', 'www.example.com/a?b=1', 'wx']
    """
    if query.isascii():
        return _ASCII_KEYWORD.findall(query.lower().replace("`", "'"))
    return _unicode_keyword().findall(_normalize(query))


def _normalize(query: str) -> str:
    """Apply NFKC and case folding until neither changes the text."""
    text = query
    for _ in range(4):
        normalized = unicodedata.normalize("NFKC", text.casefold()).translate(_APOSTROPHES)
        if normalized == text:
            break
        text = normalized
    return text


@cache
def _unicode_keyword() -> re.Pattern[str]:
    """The pattern of a keyword in any script; compiled when the first query needs it."""
    word = (
        code
        for code in range(0x110000)
        if (category := unicodedata.category(chr(code)))[0] in "LNM" or category in {"Sc", "So"}
    )
    ranges = []
    for _, run in groupby(enumerate(word), lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in run]
        ranges.append(f"\\U{codes[0]:08x}-\\U{codes[-1]:08x}")
    # Zero-width joiners are part of a word: they connect letters and emoji.
    characters = "".join(ranges) + "\u200c\u200d"
    return re.compile(f"{_ADDRESS}|{_WORD}".format(word=characters))


def tokenize_all(
    queries: Iterable[str], tokenizer: Tokenizer | None = None
) -> tuple[Ints, Ints, tuple[Any, ...]]:
    """The keywords of many queries as columns: keyword numbers, offsets, and sorted vocabulary.

    Repeated keywords and their order are preserved.
    """
    if tokenizer is None or tokenizer is tokenize:
        words: Iterable[str]
        words, sizes = split_texts(list(queries), tokenize)
    else:
        keywords = list(map(tokenizer, queries))
        sizes = np.fromiter(map(len, keywords), np.int64, len(keywords))
        words = chain.from_iterable(keywords)
    numbers, vocabulary = encode_values(words, "keyword")
    return numbers, offsets_of(sizes), vocabulary
