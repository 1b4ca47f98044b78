"""The warning of the format "edited": how many threads their lists of queries tell apart."""

from collections.abc import Mapping


def exposure_warning(
    verdict: Mapping[str, int], k: int, unit: str = "user", qualifier: str = ""
) -> str:
    """Sentences with the share of threads whose list of queries fewer than k users have.

    `qualifier` precedes both shares, such as "at most " for rounded counts.
    """
    records = max(verdict["records"], 1)
    exposed, single = (
        f"{qualifier}{verdict[name] / records:.1%}"
        for name in ("exposed_threads", "single_user_threads")
    )
    return (
        f"The format edited makes the sets of keywords k-anonymous, not the lists of queries: "
        f"{exposed} of the threads have a list of queries that fewer than {k} {unit}s have, "
        f"{single} one that only one {unit} has. Whoever knows such a list recognizes the thread. "
        "The format queries has no such thread."
    )
