"""Publish what one part of a series makes ready, and hold the rest for the next part.

Each part is grouped together with the records that wait. `choose` decides which records are
published now; the others wait, up to `hold` parts, and are then published at the least cost that
is found, or withdrawn for good.

Paper:      section 6 asks how to anonymize "on the fly as new records get added".
Guarantee:  1. A record is published at most once, in one batch, and is not changed afterwards.
            2. Every set of a batch is that of at least k users of this batch.
            3. An item is published only if at least `min_owners` users had it in the records that
               arrived so far, published or not.
            4. A record waits at most `hold` parts. At any time it is either published, held or
               withdrawn. All batches are verified, and refused if 2 or 3 does not hold.

            What follows for all batches together. Let O be a set of batches, and let somebody who
            has all of them compare them in any way. By 1, batches have no record in common: a row
            is in one batch, and later batches neither repeat, change nor remove it. So whatever is
            computed from O is computed from pairs (batch, set), each with a number of records, and
            each pair stands for records of at least k users, by 2. In particular, the rows that
            are in O and not in a part of O are those of complete batches: their difference has
            sets of k users only. Without 1 this would be false: if a record were published again
            in another group, the users of both sets could be fewer than k.

            Not covered: several records of one user, in one batch or in several, may be linked by
            what they have in common (stitching). A batch tells when its records arrived, to within
            hold + 1 parts, and that fewer than k users could share a set before. Users of other
            series, and records that are added twice, are not known. Whoever has the state has the
            records that wait. An older state that is restored publishes again what was published
            since: keep only the last one.
Complexity: that of the grouping of the part and the waiting records; of all earlier parts, only
            the owners of items are kept (`owners`), and copied once per part.
Deviation:  none in the paper, which leaves the question open. The part in which a record arrived
            counts, not its time.
"""

from dataclasses import replace

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.errors import NotAnonymousError
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.strip import strip
from setanon_core.model.batch import Batch
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import SeriesParams
from setanon_core.pipeline.group_records import anonymize_records
from setanon_core.pipeline.group_threads import item_centers
from setanon_core.series.choose import choose, record_losses
from setanon_core.series.name_hashes import item_hashes
from setanon_core.series.owners import Owners
from setanon_core.series.state import State
from setanon_core.series.waiting import Waiting
from setanon_core.verify import verify


def publish_part(state: State, new: Waiting, hold: int) -> tuple[State, Batch]:
    """The state after a part with these new records, and its batch.

    Records that have waited for `hold` parts do not wait any longer.
    """
    secret = state.params.secret
    new_items = item_hashes(new.vocabulary, secret)
    owners = state.owners.add(new_items[new.sets.items], new.users[new.sets.rows], secret)
    candidates = state.waiting.join(new)
    ages = state.parts - candidates.arrived
    counts = owners.count(item_hashes(candidates.vocabulary, secret))
    labels, centers = _group(candidates.records, ages, hold, state.params, counts)
    leaving = (labels != WITHDRAWN) | (ages >= hold)
    held = candidates.take(np.flatnonzero(~leaving))
    batch = _batch(state, candidates, labels, centers, leaving)
    _require_k_users(batch, candidates, state.params.k)
    _require_owners(batch, owners, secret)
    after = replace(
        state,
        waiting=held,
        owners=owners,
        parts=state.parts + 1,
        arrived=state.arrived + len(new),
        published=state.published + len(batch.numbers),
        withdrawn=state.withdrawn + len(batch.withdrawn),
    )
    _require_each_once(after)
    return after, batch


def _group(
    records: Records, ages: Ints, hold: int, params: SeriesParams, owners: Ints
) -> tuple[Ints, Sets]:
    """For each record the row of its center, or `WITHDRAWN` if it is not published now."""
    owners = np.append(owners, 0)[: max(records.width, 1)]
    result = anonymize_records(records, params, owners=owners)
    labels, centers = result.labels, item_centers(result)
    losses = record_losses(records.sets, labels, centers)
    chosen = choose(labels, records.users, losses, ages, k=params.k, hold=hold)
    if chosen.sum() == result.published.sum():
        return labels, centers
    labels = np.where(chosen, labels, WITHDRAWN)
    if params.combinations == "typed":
        # A typed center stays typed if members leave; the majority of the others may not be.
        return labels, centers
    # Members that wait have no vote on the center.
    stripped = strip(records, params, owners)
    rows, centers = flip(stripped.records, labels[stripped.positions], params.operations)
    labels = np.full(len(records), WITHDRAWN)
    labels[stripped.positions] = rows
    return labels, centers


def _batch(state: State, candidates: Waiting, labels: Ints, centers: Sets, leaving: Bools) -> Batch:
    """The batch of the published records, sorted by their sets."""
    published = np.flatnonzero(labels != WITHDRAWN)
    published = published[np.lexsort((candidates.numbers[published], labels[published]))]
    used, rows = np.unique(labels[published], return_inverse=True)
    centers = centers.take(used)
    names, items = np.unique(centers.items, return_inverse=True)
    gone = np.flatnonzero(leaving)
    rows_of_gone = np.full(len(labels), WITHDRAWN)
    rows_of_gone[published] = rows
    return Batch(
        part=state.parts,
        labels=rows,
        centers=Sets.unchecked(items=items, offsets=centers.offsets),
        vocabulary=tuple(candidates.vocabulary[name] for name in names.tolist()),
        numbers=candidates.numbers[published],
        waited=state.parts - candidates.arrived[published],
        withdrawn=np.sort(candidates.numbers[leaving & (labels == WITHDRAWN)]),
        held=int((~leaving).sum()),
        cost=cost_of(candidates.sets.take(gone), rows_of_gone[gone], centers),
    )


def _require_k_users(batch: Batch, candidates: Waiting, k: int) -> None:
    """Refuse a batch with a set of fewer than k users, counted from the published sets."""
    user_of = dict(zip(candidates.numbers.tolist(), candidates.users.tolist(), strict=True))
    users = [user_of[number] for number in batch.numbers.tolist()]
    verdict = verify(batch.records, k, users=users)
    if not verdict:
        raise NotAnonymousError(
            f"every set of a batch must have at least k = {k} users; "
            f"{verdict.violating_groups} sets had fewer. Nothing was returned, and the series is "
            "as before. This is a bug in setanon: please report it with these parameters."
        )


def _require_owners(batch: Batch, owners: Owners, secret: bytes) -> None:
    """Refuse a batch with an item of too few owners."""
    rare = int((owners.count(item_hashes(batch.vocabulary, secret)) < owners.least).sum())
    if rare:
        raise NotAnonymousError(
            f"every published item must have at least min_owners = {owners.least} owners; {rare} "
            "had fewer. Nothing was returned, and the series is as before. This is a bug in "
            "setanon: please report it with these parameters."
        )


def _require_each_once(state: State) -> None:
    """Refuse a state in which a record is lost, or counted twice."""
    accounted = state.published + state.withdrawn + len(state.waiting)
    if accounted != state.arrived:
        raise NotAnonymousError(
            f"every record must be published, withdrawn or held, exactly once; of {state.arrived} "
            f"records, {accounted} are. Nothing was returned, and the series is as before. This is "
            "a bug in setanon: please report it with these parameters."
        )
