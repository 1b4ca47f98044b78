"""Chromium and `setanon ui`, driven from Python: for tests, and for the pictures of the docs."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Page, expect, sync_playwright
from pyarrow import Table, parquet

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
"""What the system's own browser may be called; no other is ever fetched."""

STARTING: Final = 120
"""Seconds that Dagster has to serve its first page: on busy cores its imports take a minute."""

STOPPING: Final = 45
"""Seconds that it has to stop, before it is killed: a little more than `setanon ui` waits."""

RUNNING: Final = 150
"""Seconds that a run may take, from the click to its end."""

LOADING: Final = 30_000
"""Milliseconds that a page has to show what is looked for."""

DEFINITIONS: Final = "/locations/setanon_dagster.demo.code_location"
GROUP: Final = f"{DEFINITIONS}/asset-groups/demo"
JOB: Final = f"{DEFINITIONS}/jobs/demo_release_job"
CHECKED: Final = "/assets/demo/anonymized_threads?view=checks&checkDetail=every_set_has_k_users"
ENDED: Final = frozenset({"SUCCESS", "FAILURE", "CANCELED"})

QUIET: Final = "localStorage.setItem('dagster-nav-collapsed', 'true')"
"""Of the bar at the left, Dagster shows the signs alone: pictures need the room."""

CHECKS: Final = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
    ... on AssetNode { assetChecksOrError { ... on AssetChecks { checks { name } } } } } }"""
LAUNCH: Final = """mutation($asked: ExecutionParams!) { launchRun(executionParams: $asked) {
    ... on LaunchRunSuccess { run { runId } } } }"""
STATUS: Final = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
LATEST: Final = "{ runsOrError(limit: 1) { ... on Runs { results { runId } } } }"


def chromium() -> str | None:
    """The path of the system's browser, if it has one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browsing(path: str) -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        # Containers have little shared memory, and root no sandbox.
        browser = playwright.chromium.launch(
            executable_path=path, args=["--disable-dev-shm-usage"], chromium_sandbox=False
        )
        expect.set_options(timeout=LOADING)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """What a page has complained of, and what it has asked other machines for."""

    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


def watched(page: Page, own: str) -> Watched:
    """Note errors, and refuse every request whose address does not begin with `own`."""
    seen = Watched()

    def route(asked: Any) -> None:
        if asked.request.url.startswith((own, "data:", "blob:")):
            asked.continue_()
        else:
            seen.strangers.append(asked.request.url)
            asked.abort()

    page.on("console", lambda said: seen.errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.route("**/*", route)
    page.set_default_timeout(LOADING)
    return seen


@dataclass(frozen=True)
class Server:
    """Dagster's pages on the demo."""

    url: str
    folder: Path

    def asked(self, query: str, **variables: object) -> dict[str, Any]:
        """Ask Dagster as its pages do."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310 - loopback
        with urlopen(request, timeout=30) as answer:  # noqa: S310
            data: dict[str, Any] = json.load(answer)["data"]
        return data

    def latest_run(self) -> str | None:
        """The run that was started last."""
        runs = self.asked(LATEST)["runsOrError"]["results"]
        return runs[0]["runId"] if runs else None

    def started_by(self, page: Page, button: str) -> str:
        """Press a button that starts a run, and return the run."""
        before = self.latest_run()
        page.get_by_role("button", name=button).first.click()
        expect(page.get_by_text("Launched run")).to_be_visible()
        run = self.latest_run()
        assert run is not None
        assert run != before, "the button must start a run"
        return run

    def check_again(self) -> str:
        """Start the checks alone; the page offers them with a new materialization only."""
        key = {"path": ["demo", "anonymized_threads"]}
        found = self.asked(CHECKS, key=key)["assetNodeOrError"]["assetChecksOrError"]["checks"]
        selector = {
            "repositoryLocationName": "setanon_dagster.demo.code_location",
            "repositoryName": "__repository__",
            "pipelineName": "demo_release_job",
            "assetSelection": [],
            "assetCheckSelection": [{"assetKey": key, "name": each["name"]} for each in found],
        }
        asked = {"selector": selector, "mode": "default", "runConfigData": "{}"}
        run: str = self.asked(LAUNCH, asked=asked)["launchRun"]["run"]["runId"]
        return run

    def ended(self, run: str) -> str:
        """How a run has ended, once it has."""
        until = monotonic() + RUNNING
        while monotonic() < until:
            status: str = self.asked(STATUS, id=run)["runOrError"]["status"]
            if status in ENDED:
                return status
            sleep(0.5)
        raise TimeoutError(f"A run must end within {RUNNING} seconds; this one has not.")

    @property
    def certificate(self) -> dict[str, Any]:
        """What the latest release says of itself."""
        path = self.folder / "releases" / "latest" / "certificate.json"
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return read

    @property
    def report(self) -> Path:
        """The page of the latest release."""
        name = (self.folder / "releases" / "latest").resolve().name
        return self.folder / "private" / name / "report.html"


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """`setanon ui` on a free port of this machine, with a home folder of its own, until the end."""
    server = Server(f"http://127.0.0.1:{_free_port()}", folder)
    log = folder / "ui.log"
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "setanon_dagster.cli", "ui", "--port", port]
    with (
        log.open("wb") as said,
        subprocess.Popen(  # noqa: S603 - our own interpreter, and arguments of our own
            command, env=_environment(folder), cwd=folder, stdout=said, stderr=said
        ) as child,
    ):
        try:
            _wait_for(server, child, log)
            yield server
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(STOPPING)
            except subprocess.TimeoutExpired:
                child.kill()


def _environment(folder: Path) -> Mapping[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "SETANON_SECRET"}
    # Where it runs from a checkout that is not installed, the package is found from here too.
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, inherited.get("PYTHONPATH"))))
    return {**inherited, "SETANON_DEMO": str(folder), "PYTHONPATH": path}


def _free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port: int = own.getsockname()[1]
    return port


def _wait_for(server: Server, child: subprocess.Popen[bytes], log: Path) -> None:
    until = monotonic() + STARTING
    while monotonic() < until and child.poll() is None:
        with suppress(URLError, ConnectionError, TimeoutError):
            urlopen(f"{server.url}/server_info", timeout=10).close()  # noqa: S310 - loopback
            return
        sleep(0.25)
    told = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise RuntimeError(f"Dagster must serve its pages within {STARTING} seconds. It said: {told}")


@contextmanager
def spoiled(folder: Path) -> Iterator[None]:
    """Let one thread of a smallest group say what another group says; put it right at the end."""
    path = folder / "private" / "stages" / "demo" / "anonymized_threads" / "all.parquet"
    good = path.read_bytes()
    parquet.write_table(one_fewer(parquet.read_table(path)), path)
    try:
        yield
    finally:
        path.write_bytes(good)


def one_fewer(threads: Table) -> Table:
    """The threads, but for one of a smallest group, which gets a query of a largest."""
    groups: dict[int, set[str]] = {}
    rows = threads.select(["thread_id", "group", "query"]).to_pylist()
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["thread_id"])
    *_, largest = ordered = sorted(groups, key=lambda group: (len(groups[group]), group))
    victim = min(groups[ordered[0]])
    other = next(row["query"] for row in rows if row["group"] == largest)
    queries = [other if row["thread_id"] == victim else row["query"] for row in rows]
    return threads.set_column(threads.column_names.index("query"), "query", [queries])
