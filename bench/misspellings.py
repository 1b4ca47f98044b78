"""Min-Hash identity of keywords: recall on synthetic misspellings, and false merges.

python bench/misspellings.py
"""

import numpy as np
from markdown_table import Row, table

from setanon_core.keywords.identity import items_of

LETTERS = list("abcdefghijklmnopqrstuvwxyz")
SYLLABLES = ["ba", "co", "du", "fe", "gi", "ho", "ja", "ke", "lo", "mu", "na", "pe", "qui", "ro"]
SYLLABLES += ["sa", "te", "vo", "wa", "ze", "chi", "stra", "ing", "ton", "er"]


def words(rng: np.random.Generator, count: int) -> list[str]:
    """Synthetic words of two to four syllables, all different."""
    distinct: dict[str, None] = {}
    while len(distinct) < count:
        distinct["".join(rng.choice(SYLLABLES, rng.integers(2, 5)))] = None
    return list(distinct)


def misspell(rng: np.random.Generator, word: str, how: str) -> str:
    """Drop, swap, double or replace one letter."""
    at = int(rng.integers(len(word) - 1))
    if how == "drop":
        return word[:at] + word[at + 1 :]
    if how == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if how == "double":
        return word[: at + 1] + word[at:]
    return word[:at] + str(rng.choice(LETTERS)) + word[at + 1 :]


def measure(count: int = 2_000, seed: int = 1) -> list[Row]:
    """Recall by kind of misspelling, and the share of different words that are merged."""
    rng = np.random.default_rng(seed)
    correct = words(rng, count)
    kinds = ("drop", "swap", "double", "replace")
    misspelled = {how: [misspell(rng, word, how) for word in correct] for how in kinds}
    rows: list[Row] = []
    for hashes in (0, 1, 2, 3, 4, 6):
        identity = "minhash" if hashes else "exact"
        all_words = correct + [word for how in kinds for word in misspelled[how]]
        items = items_of(all_words, identity, max(hashes, 1)) if hashes else None
        numbers = _numbers(all_words) if items is None else items
        correct_items = numbers[:count]
        others = (
            correct_items[rng.integers(count, size=200_000)]
            == correct_items[rng.integers(count, size=200_000)]
        )
        merged = float(others.mean()) - 1 / count  # a word is paired with itself once in `count`
        row: Row = {"identity": f"minhash, {hashes}" if hashes else "exact"}
        for number, how in enumerate(kinds, start=1):
            misspelled_items = numbers[number * count : (number + 1) * count]
            row[f"{how}: recall"] = round(float((correct_items == misspelled_items).mean()), 3)
        row["other pairs merged"] = round(max(merged, 0), 5)
        rows.append(row)
    return rows


def _numbers(all_words: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(all_words, return_inverse=True)[1]


if __name__ == "__main__":
    print(table(measure()))
