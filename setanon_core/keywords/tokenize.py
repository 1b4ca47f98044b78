"""Queries to keywords, and keywords to items.

Paper:      section 5.3: a thread is a set of LSH(e_j), "a concatenation of Min-Hashes of the
            keyword", each keyword being "a multiset of characters".
Guarantee:  `keywords` of keywords joined by spaces are the same keywords, so that a published
            query reads as it was meant.
Complexity: O(characters).
Deviation:  the paper does not say what a keyword is: see `keywords`. `exact` identity makes every
            keyword an item of its own; it is the default because hashes of characters merge far
            more words that have nothing in common than words that are misspelled.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, groupby
from typing import Any, Final

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.sets import Sets
from setanon_core.keywords.minhash import Hashes, permuted_hashes, signatures, word_hashes
from setanon_core.params import Identity, Tokenizer
from setanon_core.threads.text_batches import cut_each

HASHES: Final = 3
"""Min-Hashes of a keyword that make up LSH(e_j)."""

_ADDRESS = r"(?:https?://|www\.)\S*[{word}/]"
_WORD = r"[{word}]+(?:(?:['.\-&@_]|(?<=[0-9]),(?=[0-9]))[{word}]+)*(?:(?:\+\+|\#)(?![{word}]))?"
_ASCII: Final = re.compile(f"{_ADDRESS}|{_WORD}".format(word="a-z0-9$"))

_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u2032\u0060\u00b4", "'"))


def tokenize(query: str) -> list[str]:
    """Cut a query into keywords: what a person would call its words, in lower case.

    Letters and digits make words, with marks, currency signs and emoji. An apostrophe, full stop,
    hyphen, ampersand, at sign or low line joins them when it stands between two, and a comma
    between digits; any other punctuation parts them. Addresses stay whole.

    >>> tokenize('+Dekston "county shelter" c++ www.Example.com/a?b=1, wx.')
    ['dekston', 'county', 'shelter', 'c++', 'www.example.com/a?b=1', 'wx']
    """
    if query.isascii():
        return _ASCII.findall(query.lower().replace("`", "'"))
    return _unicode().findall(_folded(query))


def _folded(query: str) -> str:
    """NFKC and case folding, until neither changes anything."""
    text = query
    for _ in range(4):
        folded = unicodedata.normalize("NFKC", text.casefold()).translate(_APOSTROPHES)
        if folded == text:
            break
        text = folded
    return text


@cache
def _unicode() -> re.Pattern[str]:
    """The same pattern for all scripts; made when the first query needs it."""
    word = (
        code
        for code in range(0x110000)
        if (kind := unicodedata.category(chr(code)))[0] in "LNM" or kind in {"Sc", "So"}
    )
    ranges = []
    for _, run in groupby(enumerate(word), lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in run]
        ranges.append(f"\\U{codes[0]:08x}-\\U{codes[-1]:08x}")
    # Joiners inside a word belong to it: they shape letters, and emoji.
    joined = "".join(ranges)
    return re.compile(f"{_ADDRESS}|{_WORD}".format(word=joined + "\u200c\u200d"))


def tokenize_all(
    queries: Iterable[str], tokenizer: Tokenizer | None = None
) -> tuple[Ints, Ints, tuple[Any, ...]]:
    """Keywords of many queries as columns: numbers in order of the words, bounds, and vocabulary.

    Repeats and order stay, which edits need.
    """
    if tokenizer is None or tokenizer is tokenize:
        names: Iterable[str]
        names, sizes = cut_each(list(queries), tokenize)
    else:
        found = list(map(tokenizer, queries))
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        names = chain.from_iterable(found)
    words, vocabulary = encode_values(names, "keyword")
    return words, offsets_of(sizes), vocabulary


def items_of(
    vocabulary: Sequence[str], identity: Identity = "exact", hashes: int = HASHES, seed: int = 1
) -> Ints:
    """The item of each keyword: itself, or the class of keywords with the same LSH(e_j).

    >>> items_of(["listen", "silent", "tuna"], "minhash").tolist()
    [0, 0, 1]
    """
    if identity == "exact" or not vocabulary:
        return np.arange(len(vocabulary))
    _, first, item = np.unique(
        _letter_hashes(vocabulary, hashes, seed), axis=0, return_index=True, return_inverse=True
    )
    # Numbered in the order of the vocabulary, so that no number depends on the hashes' order.
    place = np.argsort(np.argsort(first))
    items: Ints = place[item.ravel()]
    return items


def item_names(
    vocabulary: Sequence[str], identity: Identity = "exact"
) -> tuple[Sequence[str], Ints]:
    """Names for the items of some keywords, in order, and the number of each keyword's item.

    A name is a function of the keyword alone, whatever others there are: the keyword itself, or
    LSH(e_j) in hexadecimal digits.

    >>> names, numbers = item_names(["listen", "silent", "tuna"], "minhash")
    >>> [len(name) for name in names], int(numbers[0]) == int(numbers[1])
    ([24, 24], True)
    """
    if identity == "exact" or not vocabulary:
        return vocabulary, np.arange(len(vocabulary))
    spelled = _letter_hashes(vocabulary, HASHES, 1).astype(">u4").tobytes().hex()
    width = 8 * HASHES
    numbers, names = encode_values(
        [spelled[place : place + width] for place in range(0, len(spelled), width)]
    )
    return [str(name) for name in names], numbers


def _letter_hashes(vocabulary: Sequence[str], hashes: int, seed: int) -> Hashes:
    """The Min-Hashes of each keyword as a multiset of letters, one row a keyword."""
    letters = [sorted(_multiset(word)) for word in vocabulary]
    names = sorted({letter for own in letters for letter in own})
    number = {name: position for position, name in enumerate(names)}
    sets = Sets(
        np.asarray([number[letter] for own in letters for letter in own], np.int64),
        offsets_of(np.asarray([len(own) for own in letters])),
    )
    return signatures(sets, permuted_hashes(word_hashes(names), range(seed, seed + hashes)))


def _multiset(word: str) -> list[str]:
    """Letters with their number: the second `a` is another element than the first."""
    return [f"{letter}{n}" for letter, count in Counter(word).items() for n in range(count)]
