"""Open more centers for records that their groups can spare, wherever they are.

Paper:      none; the re-star of what is left over and of surplus misfits.
Guarantee:  never costs more than what it was given; every group keeps k users.
Complexity: O(entries) after the mining of the itemsets.
Deviation:  not in the paper. Centers are frequent itemsets inside the records that move, so that
            a move gains what the new center has more than the old one saved.
"""

import numpy as np

from setanon_core.flip import flip
from setanon_core.grouping.crowd import Crowd
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.grouping.rescue import saved_by
from setanon_core.grouping.seats import Seats
from setanon_core.params import Params
from setanon_core.records import Records
from setanon_core.sets import Ints, bounds_of


def reopen(records: Records, labels: Ints, params: Params) -> Ints:
    """Open the itemsets that would save most, each for k users or more who can come."""
    if params.operations == "additions":
        return labels
    rows, centers = flip(records, labels, params.operations)
    saved = saved_by(records, rows, centers)
    crowd = Crowd(records)
    found = frequent_itemsets(crowd.sets, crowd.weights, params.k)
    seats = Seats(records, rows, params.k)
    itemset = np.repeat(np.arange(len(found.sets)), np.diff(found.bounds))
    # Records are laid out only for the sets of which one could gain: copies may be very many.
    least = np.full(len(crowd.sets), records.width + 1)
    np.minimum.at(least, crowd.ranks[seats.may_leave], saved[seats.may_leave])
    some = found.sets.sizes[itemset] >= least[found.holders]
    itemset, holders = itemset[some], found.holders[some]
    itemset = np.repeat(itemset, crowd.weights[holders])
    holder = crowd.members(holders)
    gain = found.sets.sizes[itemset] - saved[holder]
    comes = seats.may_leave[holder] & (gain >= 0)
    itemset, holder, gain = itemset[comes], holder[comes], gain[comes]
    most = np.bincount(itemset, gain, minlength=len(found.sets))
    number = np.bincount(itemset, minlength=len(found.sets))
    bounds = bounds_of(number)
    moved = rows.copy()
    spare = len(centers)
    for c in np.argsort(-most, kind="stable").tolist():
        if most[c] <= 0:
            break
        if number[c] < params.k:
            continue
        those = slice(bounds[c], bounds[c + 1])
        still = moved[holder[those]] == rows[holder[those]]
        comers = _comers(holder[those][still], gain[those][still], records.users, seats, params.k)
        if comers:
            moved[comers] = spare
            spare += 1
    return moved


def _comers(holders: Ints, gain: Ints, users: Ints, seats: Seats, k: int) -> list[int]:
    """Who comes to a new center: all that gain, and to make up k users those that do not lose."""
    if len(holders) < k or not gain.any():
        return []
    comers: list[int] = []
    met: set[int] = set()
    total = 0
    for at in np.argsort(-gain, kind="stable").tolist():
        i, user = int(holders[at]), int(users[holders[at]])
        if gain[at] == 0 and len(met) >= k:
            break
        if (gain[at] > 0 or user not in met) and seats.leave(i):
            comers.append(i)
            met.add(user)
            total += int(gain[at])
    if len(met) >= k and total > 0:
        return comers
    for i in comers:
        seats.come_back(i)
    return []
