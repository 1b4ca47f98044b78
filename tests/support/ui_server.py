"""Run `setanon ui` on the demo, for browser tests and for the screenshots of the docs."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect
from pyarrow import Table, parquet

START_TIMEOUT: Final = 120
"""Seconds until the UI must respond: on busy cores the imports of Dagster take a minute."""

STOP_TIMEOUT: Final = 45
"""Seconds until the UI is killed: longer than the timeout of `setanon ui`."""

RUN_TIMEOUT: Final = 150
"""Seconds that a run may take."""

LOCATION: Final = "/locations/setanon_dagster.demo.code_location"
GROUP_PAGE: Final = f"{LOCATION}/asset-groups/demo"
JOB_PAGE: Final = f"{LOCATION}/jobs/demo_release_job"
CHECKS_PAGE: Final = "/assets/demo/anonymized_threads?view=checks&checkDetail=every_set_has_k_users"
FINAL_STATUSES: Final = frozenset({"SUCCESS", "FAILURE", "CANCELED"})

COLLAPSE_NAVIGATION: Final = "localStorage.setItem('dagster-nav-collapsed', 'true')"
"""Script that shows only icons in the navigation bar, for screenshots."""

CHECKS: Final = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
    ... on AssetNode { assetChecksOrError { ... on AssetChecks { checks { name } } } } } }"""
LAUNCH: Final = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
    ... on LaunchRunSuccess { run { runId } } } }"""
STATUS: Final = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
LATEST: Final = "{ runsOrError(limit: 1) { ... on Runs { results { runId } } } }"


@dataclass(frozen=True)
class Server:
    """The Dagster UI on the demo."""

    url: str
    folder: Path

    def query(self, text: str, **variables: object) -> dict[str, Any]:
        """Send a GraphQL query, as the Dagster UI does."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
        with urlopen(request, timeout=30) as answer:  # noqa: S310
            data: dict[str, Any] = json.load(answer)["data"]
        return data

    def latest_run(self) -> str | None:
        """Id of the run that was started last."""
        runs = self.query(LATEST)["runsOrError"]["results"]
        return runs[0]["runId"] if runs else None

    def start_run(self, page: Page, button: str) -> str:
        """Click a button that starts a run; return the id of the run."""
        before = self.latest_run()
        page.get_by_role("button", name=button).first.click()
        expect(page.get_by_text("Launched run")).to_be_visible()
        run = self.latest_run()
        assert run is not None
        assert run != before, "the button must start a run"
        return run

    def run_checks(self) -> str:
        """Start the checks without the asset; the UI only starts both."""
        key = {"path": ["demo", "anonymized_threads"]}
        checks = self.query(CHECKS, key=key)["assetNodeOrError"]["assetChecksOrError"]["checks"]
        selector = {
            "repositoryLocationName": "setanon_dagster.demo.code_location",
            "repositoryName": "__repository__",
            "pipelineName": "demo_release_job",
            "assetSelection": [],
            "assetCheckSelection": [{"assetKey": key, "name": each["name"]} for each in checks],
        }
        params = {"selector": selector, "mode": "default", "runConfigData": "{}"}
        run: str = self.query(LAUNCH, params=params)["launchRun"]["run"]["runId"]
        return run

    def wait_for_run(self, run: str) -> str:
        """Wait until a run has ended; return its status."""
        until = monotonic() + RUN_TIMEOUT
        while monotonic() < until:
            status: str = self.query(STATUS, id=run)["runOrError"]["status"]
            if status in FINAL_STATUSES:
                return status
            sleep(0.5)
        raise TimeoutError(f"A run must end within {RUN_TIMEOUT} seconds; it did not.")

    @property
    def certificate(self) -> dict[str, Any]:
        """Certificate of the latest release."""
        name = (self.folder / "releases" / "demo" / "latest").resolve().name
        path = self.folder / "private" / name / "certificate.json"
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return read

    @property
    def report(self) -> Path:
        """Path of the latest release's report."""
        name = (self.folder / "releases" / "demo" / "latest").resolve().name
        return self.folder / "private" / name / "report.html"


@contextmanager
def run_server(folder: Path) -> Iterator[Server]:
    """Run `setanon ui` on a free port, with its own home folder, until the block ends."""
    server = Server(f"http://127.0.0.1:{_free_port()}", folder)
    log = folder / "ui.log"
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "setanon_dagster.cli", "ui", "--port", port]
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command, env=_environment(folder), cwd=folder, stdout=output, stderr=output
        ) as child,
    ):
        try:
            _wait_for(server, child, log)
            yield server
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                child.kill()


def _environment(folder: Path) -> Mapping[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "SETANON_SECRET"}
    # Also finds the package in a checkout that is not installed.
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, inherited.get("PYTHONPATH"))))
    return {**inherited, "SETANON_DEMO": str(folder), "PYTHONPATH": path}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _wait_for(server: Server, child: subprocess.Popen[bytes], log: Path) -> None:
    until = monotonic() + START_TIMEOUT
    while monotonic() < until and child.poll() is None:
        with suppress(URLError, ConnectionError, TimeoutError):
            urlopen(f"{server.url}/server_info", timeout=10).close()  # noqa: S310 - loopback
            return
        sleep(0.25)
    output = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise RuntimeError(f"The Dagster UI must respond within {START_TIMEOUT} seconds. Log: {output}")


@contextmanager
def invalid_threads(folder: Path) -> Iterator[None]:
    """Give one thread of a smallest group the query of another; restore the file at the end."""
    path = folder / "private" / "stages" / "demo" / "anonymized_threads" / "all.parquet"
    original = path.read_bytes()
    parquet.write_table(with_smaller_group(parquet.read_table(path)), path)
    try:
        yield
    finally:
        path.write_bytes(original)


def with_smaller_group(threads: Table) -> Table:
    """The threads, with one thread of a smallest group moved to a largest group by its query."""
    groups: dict[int, set[str]] = {}
    rows = threads.select(["thread", "group", "query"]).to_pylist()
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["thread"])
    *_, largest = ordered = sorted(groups, key=lambda group: (len(groups[group]), group))
    victim = min(groups[ordered[0]])
    other = next(row["query"] for row in rows if row["group"] == largest)
    queries = [other if row["thread"] == victim else row["query"] for row in rows]
    return threads.set_column(threads.column_names.index("query"), "query", [queries])
