"""Which attributes survive: values kept by granularity, and events that a release still shows.

python bench/attributes.py [LOG] [--k 3] [--users 10000]

Without LOG, the synthetic log with events and clicks. A keyword has an event if one value of the
first attribute is three times as frequent as the mean, or more.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from markdown_table import Row, table
from scipy.stats import spearmanr

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.model.attributes import Attributes
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import group_threads, item_centers
from setanon_dagster.demo.events import event_rows
from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.stages.threads import threads_table

TOPICS: Final = 50
"""Keywords whose counts are compared: those of most users."""

PEAK: Final = 3
"""How many times the mean an event is."""

OF_TIME: Final = ("hour", "day", "week", "weekday", "month", "week day", "week hour")
OF_CLICKS: Final = ("host:click", "week host:click")
"""Attributes, separated by blanks."""

Counts = npt.NDArray[np.float64]


def measure(source: Source, declared: str, params: ReleaseParams) -> Row:
    """What a release with these attributes keeps."""
    params = replace(params, attributes=tuple(declared.split()))
    raw = read_source(source, attributes=params.attributes).accepted.to_arrow_table()
    threads = load_threads(clusters_table(threads_table(raw, params), params), params)
    begin = time.process_time()
    result = group_threads(threads, params)
    seconds = time.process_time() - begin
    kept = {each.name: 1 - each.deletions / max(each.total, 1) for each in result.attribute_costs}
    retained = 1 - result.certificate.cost.total / len(threads.records.items)
    row: Row = {
        "attributes": declared or "none",
        "keywords retained": f"{retained:.1%}",
        "groups": len(result.centers),
        "values kept": ", ".join(f"{share:.1%}" for share in kept.values()),
        "net of added": ", ".join(f"{each.retained:.1%}" for each in result.attribute_costs),
        "CPU seconds": round(seconds, 1),
    }
    if threads.attributes is None or result.attribute_values is None:
        return row
    topics = np.argsort(-threads.keywords.item_owners, kind="stable")[:TOPICS]
    labels = result.labels[result.labels >= 0]
    original = count_pairs(threads.records, threads.attributes.sets, topics, threads.attributes)
    centers, values = item_centers(result).take(labels), result.attribute_values.take(labels)
    released = count_pairs(centers, values, topics, threads.attributes)
    return row | compare(original, released)


def count_pairs(words: Sets, values: Sets, topics: Ints, attributes: Attributes) -> Counts:
    """For each topic and value of the first attribute, the number of threads that have both."""
    number = np.full(int(max(words.width, topics.max() + 1)), -1)
    number[topics] = np.arange(len(topics))
    counts = np.zeros((len(topics), len(attributes.texts)))
    for item, row in zip(number[words.items].tolist(), words.rows.tolist(), strict=True):
        if item >= 0:
            counts[item, values.items[values.offsets[row] : values.offsets[row + 1]]] += 1
    of_first: Counts = counts[:, attributes.attribute == 0]
    return of_first


def compare(original: Counts, released: Counts) -> Row:
    """Mean rank correlation of the counts of a topic, and the share of events that are seen."""
    pairs = [(a, b) for a, b in zip(original, released, strict=True) if np.ptp(a) > 0]
    ranks = [float(spearmanr(a, b).statistic) if np.ptp(b) > 0 else 0.0 for a, b in pairs]
    events = [bool(b.any() and a.argmax() == b.argmax()) for a, b in pairs if is_event(a)]
    return {
        "rank correlation": round(float(np.mean(ranks)), 2) if ranks else "",
        "events seen": f"{np.mean(events):.0%} of {len(events)}" if events else "",
    }


def is_event(counts: Counts) -> bool:
    """Whether the most frequent value of a topic is an event."""
    return bool(counts.max() >= PEAK * counts.mean())


def main() -> None:
    """Print one row per choice of attributes."""
    parser = argparse.ArgumentParser(prog="attributes")
    parser.add_argument("log", nargs="?")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--users", type=int, default=10_000)
    options = parser.parse_args()
    params = ReleaseParams(options.k, secret=b"made up for the measurement")
    with tempfile.TemporaryDirectory() as folder:
        if options.log is None:
            source = Source(f"{folder}/log.tsv")
            write_demo_log(Path(str(source.uri)), options.users, rows_of=event_rows)
        else:
            source = Source(options.log, user_column=0, time_column=1, query_column=2)
        choices = ["", *OF_TIME, *(OF_CLICKS if options.log is None else ())]
        print(table([measure(source, each, params) for each in choices]))


if __name__ == "__main__":
    main()
