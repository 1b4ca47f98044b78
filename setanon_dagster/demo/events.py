"""A synthetic log with events and clicks: some topics are searched for on one day by many users.

Shape:      that of `demo/log`.
Contents:   as there; besides, every `EVENT_EVERY`-th topic has an event: most of its threads start
            on the day of the event. A column `click` has the URL of a result that was clicked, on
            one of few sites of the topic; a page of a site is clicked rarely.
Guarantee:  that of `demo/log`. The queries and times are others.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_dagster.demo.log import (
    DAYS,
    NEW_TEXT,
    NEW_THREAD,
    USERS,
    Columns,
    format_times,
    omit_words,
    queries_per_user,
    query_times,
    row_chunks,
    spell_texts,
)
from setanon_dagster.demo.words import HEAD, PER_TOPIC, Vocabulary

EVENT_EVERY: Final = 5
"""One topic out of so many has an event."""

AT_EVENT: Final = 0.6
"""Probability that a thread about a topic with an event starts on its day."""

CLICKED: Final = 0.7
"""Probability that a result of a query is clicked."""

SITE_ENDINGS: Final = ("", "guide", "shop")
SITE_SHARES: Final = (0.6, 0.9, 1.0)
"""Cumulative shares of the clicks on the sites of a topic."""

PAGES: Final = 1000
"""Pages of a site."""

DAY: Final = 24 * 60 * 60


def event_rows(users: int = USERS, queries: int | None = None, seed: int = 0) -> Iterator[Columns]:
    """Yield users, times, queries and clicks in chunks, sorted by user and time.

    >>> *_, clicks = next(event_rows(users=3, queries=9, seed=2))
    >>> clicks[:3]
    ['http://www.divorce.com/722', 'http://www.divorceshop.com/469', 'http://www.kasmori.com/630']
    """
    return row_chunks(users, queries, seed, _chunk)


def event_day(topics: Ints) -> Ints:
    """The day of the event of each topic, from 0; -1 for topics without an event.

    >>> event_day(np.array([0, 1, 5])).tolist()
    [0, -1, 35]
    """
    return np.where(topics % EVENT_EVERY == 0, topics * 7 % DAYS, -1)


def _chunk(
    rng: np.random.Generator, names: list[str], rows: int, vocabulary: Vocabulary
) -> Columns:
    user = np.repeat(np.arange(len(names)), queries_per_user(rng, len(names), rows))
    starts = (np.diff(user, prepend=-1) > 0) | (rng.random(rows) < NEW_THREAD)
    new_text = starts | (rng.random(rows) < NEW_TEXT)
    thread = np.cumsum(starts) - 1
    table, people = vocabulary.draw(rng, int(thread[-1]) + 1)
    words, head = vocabulary.words + people, table[:, HEAD].copy()
    time = query_times(rng, thread, starts)
    time += _days_to_event(rng, head, time[starts], vocabulary)[thread] * DAY
    texts = spell_texts(rng, omit_words(rng, table[thread[new_text]]), words)
    sites = [words[number].removeprefix("www.").removesuffix(".com") for number in head.tolist()]
    clicks = _clicks(rng, [sites[number] for number in thread.tolist()])
    order = np.argsort(user << 32 | time, kind="stable")
    text = (np.cumsum(new_text) - 1)[order]
    return (
        list(map(names.__getitem__, user.tolist())),
        format_times(time[order]),
        list(map(texts.__getitem__, text.tolist())),
        [clicks[row] for row in order.tolist()],
    )


def _days_to_event(
    rng: np.random.Generator, head: Ints, start: Ints, vocabulary: Vocabulary
) -> Ints:
    """Days by which each thread, with this head word and first time, is moved."""
    topic = head // PER_TOPIC
    day = np.where(head < len(vocabulary.topics) * PER_TOPIC, event_day(topic), -1)
    moved = (day >= 0) & (rng.random(len(head)) < AT_EVENT)
    return np.where(moved, day - start // DAY, 0)


def _clicks(rng: np.random.Generator, sites: list[str]) -> list[str]:
    """The clicked URL of each query, whose topic has these sites; empty: none was clicked."""
    clicked = rng.random(len(sites)) < CLICKED
    ending = np.searchsorted(SITE_SHARES, rng.random(len(sites)), side="right").tolist()
    page = rng.integers(0, PAGES, len(sites)).tolist()
    return [
        f"http://www.{site}{SITE_ENDINGS[which]}.com/{number}" if was_clicked else ""
        for site, which, number, was_clicked in zip(
            sites, ending, page, clicked.tolist(), strict=True
        )
    ]
