"""The invented user of section 5.4, and the release of her log."""

from setanon_core.pipeline.log import anonymize_log

HER = "user-17"


SESSION = [
    "pine straw ashby delivery",
    "pine straw delivery in ashby",
    "dekston animal shelter",
    "dekston humane society",
    "wexley animal shelter",
    "wexley humane society",
    "seffects of caffeine",
    "effects of caffeine",
    "caffeine effects on the body",
    "harold quimsby",
    "harold t. quimsby",
    "harold t. quimsby norwick oregon",
]


OTHERS = [
    *[["pine straw mulch", "pine straw mulch in garden"]] * 2,
    *[["pine straw mulch in"]] * 2,
    *[["dekston county animal shelter", "dekston county humane society"]] * 4,
    *[["effects of caffeine", "caffeine effects on the body"]] * 4,
    *[["harold lloyd movies"]] * 4,
    *[["garden furniture"]] * 3,
]


def case_study():
    """Her published threads, and everything that was published."""
    sessions = [(f"other-{number}", session) for number, session in enumerate(OTHERS)]
    sessions.insert(5, (HER, SESSION))
    rows = [(name, place, query) for name, own in sessions for place, query in enumerate(own)]
    result = anonymize_log(rows, k=3, secret=b"case study")
    release, ledger = result.release, result.ledger
    hers = {
        thread for thread, user in zip(ledger.thread_ids, ledger.users, strict=True) if user == HER
    }
    threads = {}
    for thread, query in zip(release.thread_ids, release.queries, strict=True):
        threads.setdefault(thread, []).append(query)
    return [own for thread, own in threads.items() if thread in hers], release
