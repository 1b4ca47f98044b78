"""Sections 4 and 5.4: groups of threads, and what is published of them, batch by batch."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints, earlier_occurrences, offsets_of, sorted_unique
from setanon_core.columns.users import user_ranks
from setanon_core.model.publication import ThreadIds
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.release_threads import assign_thread_ids, edit_threads, group_threads
from setanon_core.runtime.progress import listen_to_progress, report_progress
from setanon_dagster.runtime.memory import MemoryTrimmer, trim_memory
from setanon_dagster.stages.arrow import lists
from setanon_dagster.stages.cost_report import cost_table
from setanon_dagster.stages.stored_threads import StoredClusters, load_threads
from setanon_dagster.storage.batches import reader_of_tables
from setanon_dagster.storage.prefetch import prefetch

MANY: Final = 1_000_000
"""Threads from which on the memory that one step leaves behind is worth giving back."""

AT_ONCE: Final = 50_000
"""Threads that are written at once."""

HEX: Final = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)
"""The two hexadecimal digits of each byte, side by side."""

_OWN: Final = {
    "queries": {"position": pa.int64(), "query": pa.string()},
    "sets": {"keywords": pa.list_(pa.string())},
}
LEDGER: Final = pa.schema({"thread_id": pa.string(), "thread": pa.int64(), "user": pa.string()})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anonymization:
    """What one step makes: threads to publish, the private ledger, what it cost, and remarks."""

    threads: pa.RecordBatchReader
    """Rows in the order of the ids, which tells nothing of users or times."""

    ledger: pa.RecordBatchReader
    cost: pa.Table
    remarks: tuple[str, ...]

    published: int
    """Threads."""

    groups: int
    smallest: int
    """Users of the group that has fewest."""


def anonymize_clusters(
    clusters: StoredClusters, params: ReleaseParams, folder: Path | None = None
) -> Anonymization:
    """Group the threads and write the centers back.

    The same rows as the core's `release_of`, without an object for each; they are made as they are
    read, and once. What was typed waits in `folder`, which is private, while threads are grouped.
    """
    threads, typed = _set_aside(load_threads(clusters, params), folder)
    trim_memory()
    with listen_to_progress(MemoryTrimmer()) if len(threads.records) >= MANY else nullcontext():
        result = group_threads(threads, params)
    threads = replace(threads, typed=typed())
    edited, cost = edit_threads(threads, result, params)
    line, digests = assign_thread_ids(threads, result, params)
    owner = threads.records.users[line]
    group = result.labels[line]
    lined = _Lined(edited, line, len(threads.records))
    return Anonymization(
        threads=reader_of_tables(
            pa.schema({"thread_id": pa.string(), "group": pa.int64(), **_OWN[params.format]}),
            prefetch(_published(lined, digests, group, threads, params)),
        ),
        ledger=reader_of_tables(LEDGER, prefetch(_ledger(line, digests, owner, threads))),
        cost=cost_table([cost], params),
        remarks=(*result.warnings, *result.notes),
        published=len(line),
        groups=len(sorted_unique(group)),
        smallest=smallest_group(group, owner),
    )


def _set_aside(threads: Threads, folder: Path | None) -> tuple[Threads, Callable[[], Queries]]:
    """Put the typed words into a file, if there is a folder for it; and what brings them back.

    They are the larger half of the threads, and no grouping looks at them.
    """
    typed = threads.typed
    if folder is None:
        return threads, lambda: typed
    columns = {field.name: folder / f"{field.name}.npy" for field in fields(Queries)}
    for name, path in columns.items():
        np.save(path, getattr(typed, name))

    def back() -> Queries:
        found = {name: np.load(path) for name, path in columns.items()}
        for path in columns.values():
            path.unlink()
        return Queries(**found)

    nothing = np.empty(0, np.int64)
    return replace(threads, typed=Queries(nothing, offsets_of(nothing), nothing)), back


def smallest_group(groups: Ints, users: Ints) -> int:
    """Users of the group that has fewest; 0 if there is none."""
    return (
        int(user_ranks(groups, users)[1].min(initial=np.iinfo(np.int64).max)) if len(users) else 0
    )


class _Lined:
    """Queries of the published threads, found by the place of their thread among the ids."""

    def __init__(self, edited: Queries, line: Ints, n: int) -> None:
        place = np.full(n, len(line))
        place[line] = np.arange(len(line))
        of = place[edited.threads]
        self.edited = edited
        self.order = np.argsort(of, kind="stable")
        self.bounds = offsets_of(np.bincount(of, minlength=len(line)))

    def of(self, start: int, stop: int) -> tuple[Queries, Ints]:
        """Those of some threads in line, and which of these threads each belongs to."""
        some = self.order[self.bounds[start] : self.bounds[stop]]
        sizes = np.diff(self.bounds[start : stop + 1])
        return self.edited.take(some), np.repeat(np.arange(stop - start), sizes)


def _published(
    lined: _Lined, digests: ThreadIds, group: Ints, threads: Threads, params: ReleaseParams
) -> Iterator[pa.Table]:
    """A row for each query, or for the keywords of a thread."""
    spelled = pa.array(threads.keywords.vocabulary, pa.string())
    for start, stop in _pieces(len(digests)):
        ids = hexadecimal(digests[start:stop])
        queries, of = lined.of(start, stop)
        if params.format == "sets":
            holder, own = _sets(queries, of, spelled, stop - start)
        else:
            holder, own = of, _texts(queries, of, spelled)
        columns = {"thread_id": ids.take(pa.array(holder)), "group": group[start:stop][holder]}
        report_progress("threads written", stop, len(digests))
        yield pa.table({**columns, **own})


def _texts(queries: Queries, of: Ints, spelled: pa.Array) -> dict[str, object]:
    words = lists(queries.rows, len(of), spelled.take(pa.array(queries.words)))
    return {"position": earlier_occurrences(of), "query": pc.binary_join(words, " ")}


def _sets(queries: Queries, of: Ints, spelled: pa.Array, n: int) -> tuple[Ints, dict[str, object]]:
    width = max(len(spelled), 1)
    # Numbers of keywords are in the order of the keywords: sorted cells are sorted sets.
    cells = sorted_unique(of[queries.rows] * width + queries.words)
    of, words = np.divmod(cells, width)
    return np.arange(n), {"keywords": lists(of, n, spelled.take(pa.array(words)))}


def _ledger(line: Ints, digests: ThreadIds, owner: Ints, threads: Threads) -> Iterator[pa.Table]:
    users = pa.array(threads.users, pa.string())
    for start, stop in _pieces(len(line)):
        names = users.take(pa.array(owner[start:stop]))
        yield pa.table([hexadecimal(digests[start:stop]), line[start:stop], names], schema=LEDGER)


def hexadecimal(digests: ThreadIds) -> pa.Array:
    """Bytes as text, without an object for each.

    >>> hexadecimal(np.array([[0, 171], [16, 255]], np.uint8)).to_pylist()
    ['00ab', '10ff']
    """
    n, width = digests.shape
    offsets = np.arange(n + 1, dtype=np.int32) * (2 * width)
    letters = np.ascontiguousarray(HEX[digests])
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(letters))


def _pieces(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, AT_ONCE):
        yield start, min(start + AT_ONCE, n)
