"""Build a release from grouped threads: spelling, edits, ids, verification.

Paper:      section 5.4.
Guarantee:  the keyword set of every published thread is shared by threads of at least k users; it
            is verified on the returned texts.
Complexity: that of the stages; everything is held in memory.
Deviation:  that of the stages.
"""

from setanon_core.columns.tables import TableConstructor
from setanon_core.edits import EditTargets, edit_in_batches
from setanon_core.model.groups import Anonymized
from setanon_core.model.publication import Ledger, ReleaseCost, ReleaseResult
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import item_centers, release_cost
from setanon_core.pipeline.release_texts import format_release, require_anonymous, verify_release
from setanon_core.pipeline.thread_ids import assign_thread_ids


def build_release(
    threads: Threads,
    result: Anonymized,
    params: ReleaseParams,
    *,
    constructor: TableConstructor = dict,
) -> ReleaseResult:
    """Edit the queries, assign thread ids, verify the texts; refuse what is not k-anonymous.

    `constructor` builds the tables of the release and the ledger.
    """
    edited, cost = edit_threads(threads, result, params)
    order, digests = assign_thread_ids(threads, result, params)
    ids = dict(zip(order.tolist(), (digest.tobytes().hex() for digest in digests), strict=True))
    user = threads.records.users.tolist()
    ledger = Ledger(
        thread_ids=tuple(ids.values()),
        threads=tuple(ids),
        users=tuple(threads.users[user[thread]] for thread in ids),
        constructor=constructor,
    )
    release = format_release(
        edited, threads.keywords.vocabulary, ids, params.format, constructor=constructor
    )
    verdict = verify_release(release, ledger, params)
    require_anonymous(verdict, params)
    return ReleaseResult(release, ledger, cost, verdict, params)


def edit_threads(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Queries, ReleaseCost]:
    """The queries to publish, as keyword numbers, and their cost; refuse rare keywords."""
    targets = EditTargets(
        result.labels,
        item_centers(result),
        params.required_owners,
        as_typed=params.spelling == "as_typed",
    )
    edited, respellings = edit_in_batches(threads.typed, threads.keywords, targets)
    return edited, release_cost(threads, result, respellings)
