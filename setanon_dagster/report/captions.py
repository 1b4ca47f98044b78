"""Sentences that describe the figures of a report; computed from its numbers."""

from collections.abc import Sequence

from setanon_dagster.report.model import Report, SweepPoint
from setanon_dagster.report.tables import count, percentage, share
from setanon_dagster.report.wording import CAUSES, cause, printable


def sweep_caption(report: Report) -> str:
    """Share retained at the smallest and the largest k of the sweep, and at the release's k."""
    ks = sorted({point.k for point in report.sweep})
    bounds = upper_bounds(report.sweep)
    sentences = [f"Share of the keywords retained, for k from {ks[0]} to {ks[-1]}."]
    for k in sorted({ks[0], ks[-1], *({report.k} & set(ks))}):
        shares = [f"{p.method} {share(p.retained)}" for p in report.sweep if p.k == k]
        bound = f"; no solution retains more than {share(bounds[k])}" if k in bounds else ""
        sentences.append(f"At k = {k}: {', '.join(shares)}{bound}.")
    return printable(" ".join(sentences))


def upper_bounds(points: Sequence[SweepPoint]) -> dict[int, float]:
    """Least upper bound of the share retained, by k: a bound of one method holds for all."""
    bounds: dict[int, float] = {}
    for point in sorted(points, key=lambda point: point.k):
        if point.upper_bound is not None:
            bounds[point.k] = min(point.upper_bound, bounds.get(point.k, 1.0))
    return bounds


def sizes_caption(report: Report) -> str:
    """Number of groups, of groups with exactly k users, and users of the largest group."""
    unit, groups = report.certificate["unit"], sum(size.groups for size in report.sizes)
    smallest = sum(size.groups for size in report.sizes if size.users == report.k)
    return (
        f"{count(groups)} groups; {count(smallest)} of them, {percentage(smallest, groups)}, have "
        f"exactly k = {report.k} {unit}s, and the largest has {count(report.sizes[-1].users)}."
    )


def losses_caption(report: Report) -> str:
    """Largest cause of the cost."""
    counts = {name: getattr(report.losses, name) for name in CAUSES}
    total, largest = sum(counts.values()), max(counts, key=lambda name: counts[name])
    sentence = cause(largest, report.certificate["min_owners"], report.certificate["unit"])
    return f"The largest cause, with {percentage(counts[largest], total)} of the cost: {sentence}."
