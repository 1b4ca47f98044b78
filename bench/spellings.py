"""Are two spellings one keyword? Recall on made-up misspellings, precision against other words."""

import numpy as np

from setanon_core.keywords.items import items_of

LETTERS = list("abcdefghijklmnopqrstuvwxyz")
SYLLABLES = ["ba", "co", "du", "fe", "gi", "ho", "ja", "ke", "lo", "mu", "na", "pe", "qui", "ro"]
SYLLABLES += ["sa", "te", "vo", "wa", "ze", "chi", "stra", "ing", "ton", "er"]


def words(rng: np.random.Generator, count: int) -> list[str]:
    """Made-up words of two to four syllables, all different."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(SYLLABLES, rng.integers(2, 5)))] = None
    return list(found)


def misspelled(rng: np.random.Generator, word: str, how: str) -> str:
    """Drop, swap, double or replace one letter."""
    at = int(rng.integers(len(word) - 1))
    if how == "drop":
        return word[:at] + word[at + 1 :]
    if how == "swap":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if how == "double":
        return word[: at + 1] + word[at:]
    return word[:at] + str(rng.choice(LETTERS)) + word[at + 1 :]


def table(count: int = 2_000, seed: int = 1) -> list[dict[str, object]]:
    """Recall by kind of misspelling, and the share of other pairs that are merged."""
    rng = np.random.default_rng(seed)
    right = words(rng, count)
    kinds = ("drop", "swap", "double", "replace")
    wrong = {how: [misspelled(rng, word, how) for word in right] for how in kinds}
    rows: list[dict[str, object]] = []
    for hashes in (0, 1, 2, 3, 4, 6):
        identity = "minhash" if hashes else "exact"
        every = right + [word for how in kinds for word in wrong[how]]
        items = items_of(every, identity, max(hashes, 1)) if hashes else None
        numbers = _numbers(every) if items is None else items
        own = numbers[:count]
        others = own[rng.integers(count, size=200_000)] == own[rng.integers(count, size=200_000)]
        merged = float(others.mean()) - 1 / count  # a word meets itself once in `count`
        row: dict[str, object] = {"identity": f"minhash, {hashes}" if hashes else "exact"}
        for number, how in enumerate(kinds, start=1):
            theirs = numbers[number * count : (number + 1) * count]
            row[f"{how}: found"] = round(float((own == theirs).mean()), 3)
        row["other pairs merged"] = round(max(merged, 0), 5)
        rows.append(row)
    return rows


def _numbers(every: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(every, return_inverse=True)[1]
