"""The invented log of section 5.4's case study, and its release."""

from setanon_core import anonymize_log

USER = "user-17"
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
OTHER_SESSIONS = [
    *[["pine straw mulch", "pine straw mulch in garden"]] * 2,
    *[["pine straw mulch in"]] * 2,
    *[["dekston county animal shelter", "dekston county humane society"]] * 4,
    *[["effects of caffeine", "caffeine effects on the body"]] * 4,
    *[["harold lloyd movies"]] * 4,
    *[["garden furniture"]] * 3,
]


def case_study():
    """The user's published threads, and the complete release."""
    sessions = [(f"other-{number}", session) for number, session in enumerate(OTHER_SESSIONS)]
    sessions.insert(5, (USER, SESSION))
    rows = [(user, time, query) for user, queries in sessions for time, query in enumerate(queries)]
    result = anonymize_log(rows, k=3, format="edited", secret=b"case study")
    release, ledger = result.release, result.ledger
    ids = {
        thread_id
        for thread_id, user in zip(ledger.thread_ids, ledger.users, strict=True)
        if user == USER
    }
    threads = {}
    for thread_id, query in zip(release.thread_ids, release.queries, strict=True):
        threads.setdefault(thread_id, []).append(query)
    return [queries for thread_id, queries in threads.items() if thread_id in ids], release
