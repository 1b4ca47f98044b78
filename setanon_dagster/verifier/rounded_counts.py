"""Rounded counts of the source for the public certificate.

Exact counts of two releases, with and without one person, would tell how many threads and keywords
this person has. A public certificate therefore consists of what a reader can count in the published
file, and of numbers that are computed from it and from rounded counts of the source: additions,
deletions, withdrawals, respellings, the lower bound, and the rejected lines by reason.

Guarantee:  all source counts with the same rounded counts give the same numbers. A rounded
            count is more than the exact one and exceeds it by at most one step, or, for the lower
            bound, is at most the exact one.
Complexity: O(1).
Deviation:  the paper publishes its costs exactly.
"""

from collections.abc import Mapping
from typing import Any, Final

LEAST_STEP: Final = 100
"""Smallest step; several times the keywords that one user has in most logs."""

PRIVATE_COUNTS: Final = frozenset({"smallest_group"})
"""Counts of the verdict that are not published: they are counted in users, with the ledger."""

ROUNDED_COUNTS: Final = ("exposed_threads", "single_user_threads")
"""Counts of the verdict that are rounded, because they are counted in users."""


ROUNDED_EDITS: Final = ("additions", "deletions")
"""Costs of an attribute that are rounded."""


def public_certificate(exact: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate to publish: without exact counts of the source and of users."""
    verdict = exact["verdict"]
    records = verdict["records"]
    public = {name: n for name, n in verdict.items() if name not in PRIVATE_COUNTS}
    for name in ROUNDED_COUNTS:
        if public[name]:
            public[name] = min(round_up(public[name]), records)
    return {
        **exact,
        **({"rejected": rounded_lines(exact["rejected"])} if "rejected" in exact else {}),
        "cost": rounded_costs(exact["cost"], records, verdict["keywords"])
        | _rounded_attributes(exact),
        "verdict": public,
    }


def _rounded_attributes(exact: Mapping[str, Any]) -> dict[str, Any]:
    """The rounded costs of attributes, if there are any."""
    if "attributes" not in exact["cost"]:
        return {}
    published = exact["verdict"]["attributes"]
    return {
        "attributes": {
            name: _rounded_attribute(costs, published[name])
            for name, costs in exact["cost"]["attributes"].items()
        }
    }


def rounded_lines(rejected: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Rounded numbers of rejected lines, each reason included: 0 lines are fewer than 100, too.

    >>> rounded_lines({"lines": 120, "reasons": {"quote": 120, "columns": 0}})
    {'lines': 200, 'reasons': {'quote': 200, 'columns': 100}}
    """
    if rejected is None:
        return None
    reasons = {name: round_up(n) for name, n in rejected["reasons"].items()}
    return {"lines": round_up(rejected["lines"]), "reasons": reasons}


def step(count: int) -> int:
    """Distance of the multiples that a count is rounded to: two significant digits, at least 100.

    >>> step(7), step(4_321), step(54_321)
    (100, 100, 1000)
    """
    digits = len(str(count))
    return max(LEAST_STEP, int("1" + "0" * (digits - 2)))


def round_up(count: int) -> int:
    """The smallest multiple of the step above a count.

    >>> round_up(0), round_up(99), round_up(100), round_up(54_321)
    (100, 100, 200, 55000)
    """
    return (count // step(count) + 1) * step(count)


def round_down(count: int) -> int:
    """The largest multiple of the step that is not above a count.

    >>> round_down(99), round_down(54_321)
    (0, 54000)
    """
    return count // step(count) * step(count)


def is_rounded(count: int) -> bool:
    """Whether a count may be a rounded one.

    >>> is_rounded(100), is_rounded(12_000), is_rounded(12_300), is_rounded(37)
    (True, True, False, False)
    """
    return count % step(count) == 0


def rounded_costs(costs: Mapping[str, Any], records: int, keywords: int) -> dict[str, Any]:
    """The public costs, from the exact ones and from counts of the published file.

    `records` are the published threads, `keywords` their keywords. `lower_bound` and `retained`
    are at least, all other costs at most.
    """
    up = {
        name: round_up(costs[name])
        for name in ("additions", "deletions", "withdrawals", "respellings")
    }
    return derived_costs(up | {"lower_bound": round_down(costs["lower_bound"])}, records, keywords)


def derived_attribute_costs(costs: Mapping[str, Any], published: int) -> dict[str, Any]:
    """The public costs of an attribute, from two rounded ones and its published values.

    `total` are its values in the source, at most; `retained` is at least.
    """
    additions, deletions = costs["additions"], costs["deletions"]
    fewest_additions = additions - step(additions - 1)
    retained = (
        round(1 - (additions + deletions) / (published + deletions - additions), 4)
        if published > 2 * additions
        else None
    )
    return {
        "total": max(published - fewest_additions, 0) + deletions,
        "additions": additions,
        "deletions": deletions,
        "retained": retained,
    }


def _rounded_attribute(costs: Mapping[str, Any], published: int) -> dict[str, Any]:
    edits = {name: round_up(costs[name]) for name in ROUNDED_EDITS}
    return derived_attribute_costs(edits, published)


def derived_costs(rounded: Mapping[str, int], records: int, keywords: int) -> dict[str, Any]:
    """All public costs, from the five rounded ones and from counts of the published file."""
    additions, deletions = rounded["additions"], rounded["deletions"]
    lower_bound = rounded["lower_bound"]
    fewest_additions = additions - step(additions - 1)
    # The cost relative to the keywords grows with both counts if most keywords are not additions.
    retained = (
        round(1 - (additions + deletions) / (keywords + deletions - additions), 4)
        if keywords > 2 * additions
        else None
    )
    return {
        "threads": records + rounded["withdrawals"],
        "keywords": max(keywords - fewest_additions, 0) + deletions,
        "additions": additions,
        "deletions": deletions,
        "withdrawals": rounded["withdrawals"],
        "respellings": rounded["respellings"],
        "lower_bound": lower_bound,
        # Rounded up, so that "at most" holds.
        "factor": -(-1000 * (additions + deletions) // lower_bound) / 1000 if lower_bound else None,
        "retained": retained,
    }
