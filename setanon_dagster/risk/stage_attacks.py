"""Attacks that need only the stages of one release, by an outsider or by means of the ledger.

Paper:      none; each attack of `setanon_core.risk` states its own.
Guarantee:  values depend on the data and the parameters only; results contain no keyword, query or
            user.
Complexity: that of the attacks, once per version.
Deviation:  none.
"""

from collections.abc import Callable, Iterator

from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.combinations import CombinationOwners, combination_owners
from setanon_core.risk.homogeneity import Homogeneity, homogeneity
from setanon_core.risk.knowledge_outcomes import KnowledgeOutcome, PartialKnowledge
from setanon_core.risk.partial_knowledge import partial_knowledge
from setanon_core.risk.stitching import Stitching, stitching
from setanon_core.risk.views import ViewCounts, ViewUniqueness, view_uniqueness
from setanon_dagster.risk.attack_result import Attacked, AttackResult, RiskFigure, figure


def attack_stages(data: Attacked[AttackData], *, full: bool = False) -> Iterator[AttackResult]:
    """All attacks of this module on each version of the data; linking only if `full`."""
    yield attack_views(data)
    yield attack_by_knowledge(data)
    yield attack_groups(data)
    yield attack_sets(data)
    if full:
        yield attack_links(data)


def attack_views(data: Attacked[AttackData]) -> AttackResult:
    """Threads whose published view few users share."""
    results = data.map(view_uniqueness)
    names = list(dict.fromkeys(view.view for each in results if each for view in each.views))
    return AttackResult(
        "Uniqueness",
        "Share of the published threads whose set of keywords, set and number of queries, or list "
        "of queries is that of fewer than k users, or of one user.",
        results.release.sentence,
        tuple(each for name in names for each in _view_figures(name, results)),
    )


def _view_figures(name: str, results: Attacked[ViewUniqueness]) -> Iterator[RiskFigure]:
    def value(share: Callable[[ViewCounts], float]) -> Callable[[ViewUniqueness], float | None]:
        def of_view(result: ViewUniqueness) -> float | None:
            return next((share(view) for view in result.views if view.view == name), None)

        return of_view

    yield figure(f"{name} of fewer than k users", results, value(lambda v: v.below_k_share))
    yield figure(f"{name} of one user", results, value(lambda v: v.single_share))


def attack_by_knowledge(data: Attacked[AttackData]) -> AttackResult:
    """Persons singled out by an attacker who knows some keywords or queries."""
    results = data.map(partial_knowledge)
    # The raw log has all kinds of knowledge; releases of sets lack the lists of queries.
    kinds = [(each.knowledge, each.scope, each.known) for each in results.raw.outcomes]
    return AttackResult(
        "Partial knowledge",
        "Share of sampled persons that an attacker singles out correctly who knows this much of "
        "one thread of the person; or of all threads, if all threads of each user were linked.",
        _knowledge_sentence(results.release),
        (
            *(
                figure(_knowledge_name(*kind), results, _correct_share(kind))
                for kind in sorted(kinds, key=lambda kind: kind[1] != "thread")
            ),
            figure("1 to k - 1 candidates, by any knowledge of one thread", results, _few_share),
        ),
    )


def _few_share(result: PartialKnowledge) -> float:
    """Largest share of the persons with fewer than k candidates, for knowledge of one thread."""
    return max(
        ((each.singled_out + each.below_k) / max(each.persons, 1) for each in _of_thread(result)),
        default=0,
    )


def _of_thread(result: PartialKnowledge) -> list[KnowledgeOutcome]:
    return [each for each in result.outcomes if each.scope == "thread"]


def _knowledge_sentence(result: PartialKnowledge) -> str:
    """The worst outcome for knowledge of one thread, or that there is none, and of all threads."""
    persons, linked = result.worst().persons, result.worst("person")
    sentence = result.sentence
    if not _few_share(result):
        sentence = (
            f"No knowledge of one thread singles out any of {persons:,} persons: each of them has "
            f"no candidate or at least k = {result.k}."
        )
    if not linked.correct:
        return sentence
    return (
        f"{sentence} If all threads of each user were linked, up to {linked.correct:,} of "
        f"{linked.persons:,} persons ({linked.correct_share:.1%}) would be singled out."
    )


def _knowledge_name(knowledge: str, scope: str, known: int | None) -> str:
    what = knowledge if known is None else f"{known} {knowledge}"
    if known == 1:
        what = what.removesuffix("s")
    return f"{what} of {'one thread' if scope == 'thread' else 'all threads'}"


def _correct_share(
    kind: tuple[str, str, int | None],
) -> Callable[[PartialKnowledge], float | None]:
    def key(outcome: KnowledgeOutcome) -> tuple[str, str, int | None]:
        return outcome.knowledge, outcome.scope, outcome.known

    def value(result: PartialKnowledge) -> float | None:
        return next((each.correct_share for each in result.outcomes if key(each) == kind), None)

    return value


def attack_groups(data: Attacked[AttackData]) -> AttackResult:
    """What membership in a group discloses although nobody is singled out."""
    results = data.map(homogeneity)
    shares: dict[str, Callable[[Homogeneity], float]] = {
        "keywords true for their thread": lambda each: each.true_share,
        "keywords true for all members of the group": lambda each: each.certain_share,
        "known keywords that disclose another one": lambda each: each.learned_share,
    }
    return AttackResult(
        "Homogeneity",
        "Share of the published keywords that their thread, or all threads of their group, have; "
        "and of the known keywords that occur only together with another true keyword.",
        results.release.sentence,
        tuple(figure(name, results, share) for name, share in shares.items()),
    )


def attack_sets(data: Attacked[AttackData]) -> AttackResult:
    """Published sets of several keywords that few users typed whole."""
    results = data.map(combination_owners)
    shares: dict[str, Callable[[CombinationOwners], float]] = {
        "sets typed whole by fewer than k users": lambda each: each.below_k_share,
        "sets typed whole by one user": lambda each: each.single_share,
    }
    return AttackResult(
        "Combinations",
        "Share of the published sets of several keywords that few users typed whole in one thread.",
        results.release.sentence,
        tuple(figure(name, results, share) for name, share in shares.items()),
    )


def attack_links(data: Attacked[AttackData]) -> AttackResult:
    """Pairs of published threads of one user, told apart from pairs of two users."""
    results = data.map(stitching)
    return AttackResult(
        "Stitching",
        "A program that has learned from the ledger of half of the users links threads of the "
        "others. AUC is the share of cases in which a pair of threads of one user looks more alike "
        "than a pair of two users: 0.5 is guessing, 1 is always right.",
        results.release.sentence,
        (
            figure("AUC", results, _if_tested(lambda each: each.auc), "score"),
            figure(
                "AUC without the ledger",
                results,
                _if_tested(lambda each: each.auc_unsupervised),
                "score",
            ),
            figure(
                "precision of the highest scores",
                results,
                _if_tested(lambda each: each.precision_at_top),
            ),
            figure("threads found among many", results, _if_tested(lambda each: each.hit_share)),
        ),
    )


def _if_tested(value: Callable[[Stitching], float]) -> Callable[[Stitching], float | None]:
    return lambda result: value(result) if result.pairs else None
