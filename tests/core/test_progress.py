"""Progress reports of long loops."""

from setanon_core.runtime.progress import REPORT_EVERY, listen_to_progress, with_progress


def test_with_progress_reports_once_per_batch_of_elements():
    reports = []
    n = 2 * REPORT_EVERY + 1
    with listen_to_progress(lambda *report: reports.append(report)):
        assert list(with_progress("steps", range(n))) == list(range(n))
    assert reports == [("steps", done, n) for done in (0, REPORT_EVERY, 2 * REPORT_EVERY)]
