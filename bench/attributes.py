"""Which attributes survive: values retained by granularity, and events that a release still shows.

python bench/attributes.py [LOG] [--k 3] [--users 10000]

Without LOG, the synthetic log with events and clicks. A keyword has an event if one of its days has
three times its mean number of threads, or more.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import group_threads, item_centers
from setanon_dagster.demo.events import event_rows
from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.stages.threads import threads_table

TOPICS = 50
"""Keywords whose daily counts are compared: those of most users."""

OF_TIME = [
    ("hour",),
    ("day",),
    ("week",),
    ("weekday",),
    ("month",),
    ("week", "day"),
    ("week", "hour"),
]
CLICKS = [("host:click",), ("week", "host:click")]


def measures(source: Source, attributes: tuple[str, ...], params: ReleaseParams) -> Measures:
    """The measures of one choice of attributes."""
    params = replace(params, attributes=attributes)
    raw = read_source(source, attributes=attributes).accepted.to_arrow_table()
    threads = load_threads(clusters_table(threads_table(raw, params), params), params)
    begin = time.perf_counter()
    result = group_threads(threads, params)
    seconds = time.perf_counter() - begin
    kept = 1 - result.certificate.cost.total / len(threads.records.items)
    shares = {each.name: each.retained for each in result.attribute_costs}
    true = {each.name: 1 - each.deletions / max(each.total, 1) for each in result.attribute_costs}
    seen = events(threads, result) if params.attribute_names else (float("nan"),) * 2
    return kept, len(result.centers), shares, true, *seen, seconds


def count_pairs(
    words: Ints, rows_of_word: Ints, values: Sets, shape: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """For each keyword and value, the number of threads that have both."""
    counts = np.zeros(shape)
    for word, row in zip(words.tolist(), rows_of_word.tolist(), strict=True):
        counts[word, values[rows_of_value[row] : rows_of_value[row + 1]]] += 1
    return counts


def events(threads, result):
    """Mean rank correlation of the counts per keyword, and the share of events that are seen."""
    attributes, records = threads.attributes, threads.records
    owners = threads.keywords.item_owners
    topics = np.argsort(-owners, kind="stable")[:TOPICS]
    number = np.full(len(owners), -1)
    number[topics] = np.arange(len(topics))
    shape = (len(topics), len(attributes.texts))
    first = attributes.attribute == 0
    original = daily_counts(*_of_topics(records, number), attributes.sets.items,
                            attributes.sets.offsets, shape)[:, first]  # fmt: skip
    published = np.flatnonzero(result.labels >= 0)
    labels = result.labels[published]
    centers, values = item_centers(result).take(labels), result.attribute_values.take(labels)
    released = daily_counts(*_of_topics(centers, number), values.items, values.offsets, shape)
    released = released[:, first]
    pairs = [(a, b) for a, b in zip(original, released, strict=True) if len({*a}) > 1]
    ranks = [spearmanr(a, b).statistic if len({*b}) > 1 else 0.0 for a, b in pairs]
    peaks = [(a, b) for a, b in pairs if a.max() >= 3 * a.mean()]
    seen = [b.any() and a.argmax() == b.argmax() for a, b in peaks]
    return float(np.mean(ranks)), float(np.mean(seen)) if seen else float("nan")


def _of_topics(sets, number):
    words = number[sets.items]
    return words[words >= 0], sets.rows[words >= 0]


def main():
    """Print one line per choice of attributes."""
    parser = argparse.ArgumentParser(prog="attributes")
    parser.add_argument("log", nargs="?")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--users", type=int, default=10_000)
    options = parser.parse_args()
    params = ReleaseParams(options.k, secret=b"made up for the measurement")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.log or Path(folder) / "log.tsv")
        if options.log is None:
            write_demo_log(path, options.users, rows_of=event_rows)
        columns = {"user_column": 0, "time_column": 1, "query_column": 2} if options.log else {}
        choices = [(), *OF_TIME, *([] if options.log else CLICKS)]
        print("| attributes | keywords | groups | retained | true | ranks | events | seconds |")
        print("|---|---:|---:|---|---|---:|---:|---:|")
        for choice in choices:
            kept, groups, shares, true, ranks, seen, seconds = measures(
                Source(str(path), **columns), choice, params
            )
            cells = (
                ", ".join(f"{name} {x:.1%}" for name, x in each.items()) for each in (shares, true)
            )
            print(f"| {', '.join(choice) or 'none'} | {kept:.1%} | {groups:,} | {' | '.join(cells)} "
                  f"| {ranks:.2f} | {seen:.0%} | {seconds:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
