"""A real server and a real browser: the fixtures of every end-to-end test.

    server       base URL of `python -m streamlit run app/main.py` with its own WHICHFLUENCE_HOME
    open_page    open_page(path, theme="light" | "dark", size=(1440, 900)) -> a Playwright page, once the app is idle;
                 `late` is a pattern of addresses whose answers come `LATE` seconds late
    settle       settle(page): wait until the app is idle again, after a click
    shifts       shifts(page) -> (cumulative layout shift, its largest parts with what moved)
    alerts       alerts(page) -> texts of the alerts that stood on it at any time
    opening      `with opening() as open_page`, for a page that serves several tests
    at_rest      at_rest(): wait until no run is under way
    screenshot   screenshot(page, name) keeps a full-page picture in the folder WHICHFLUENCE_SCREENSHOTS, if it is set
    visit        a view that stands open at the desk for every test, of whichever file, that `visits.on` sends to it

Each process of a test run has one server with its own home folder and one browser; test files may stand beside others.
A page opened here carries `console_errors`, the errors and warnings of its console, and `requests`, the addresses that
it asked for, as lists of texts; `shifts` reads
how far what stood on it has jumped.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from engine.jobs import JobQueue
from tests.e2e import visits

ROOT = Path(__file__).parents[2]
BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")  # the first takes a quarter less time
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--no-first-run"]
PATIENCE = 120_000  # milliseconds; the machine may be busy
LATE = 4  # seconds, more than a page waits before it shows itself
QUIET = 400  # milliseconds without work after which the app counts as idle
VISIT = re.compile(r"@([\w-]+)\]$")  # the view of a visit in the name of its test
IDLE = """quiet => {
  const app = document.querySelector('[data-testid="stApp"]');
  const busy = !app || app.dataset.testScriptState !== 'notRunning'
    || !document.querySelector('[data-testid="stMain"] h1, [data-testid="stException"]')
    || document.querySelector('[data-testid="stSkeleton"], [data-testid="stSpinner"], [data-stale="true"]');
  const now = performance.now();
  if (busy || window.__idleSince === undefined) window.__idleSince = now;
  return !busy && now - window.__idleSince > quiet;
}"""

SHIFTS = """window.__shifts = [];
new PerformanceObserver(list => list.getEntries().filter(entry => !entry.hadRecentInput).forEach(entry =>
  window.__shifts.push([entry.value, Math.round(entry.startTime), entry.sources.slice(0, 3).map(source => {
    const at = source.node && (source.node.nodeType === 1 ? source.node : source.node.parentElement);
    return at ? [at.closest('[data-testid]')?.dataset.testid, at.innerText?.slice(0, 40), source.previousRect.y,
                 source.currentRect.y].join(' ') : '?' })]))).observe({type: 'layout-shift', buffered: true});"""

ALERTS = """window.__alerts = new Set();
new MutationObserver(() => document.querySelectorAll('[data-testid="stAlert"]').forEach(alert =>
  window.__alerts.add(alert.textContent))).observe(document, {childList: true, subtree: true, characterData: true});"""


_OPEN = []  # pages, the closed ones among them
_LOGS = []  # what the server says


class ByVisit(LoadScopeScheduling):
    """What shares a page goes to one worker: the tests of a visit, and those of any other file."""

    def _split_scope(self, nodeid: str) -> str:
        found = VISIT.search(nodeid)
        return found[1] if found else nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A look at a page in another theme than the usual one of its size is slow."""
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if "theme" in given and given["theme"] != visits.WORN[given.get("size", "desk")]:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ByVisit:
    return ByVisit(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """What the open pages and the server said, and the runs, beside a failure."""
    report = yield
    if report.failed and call.when == "call":
        for page in (page for page in _OPEN if not page.is_closed()):
            report.sections += [(page.url, page.locator("body").inner_text()),
                                ("console", "\n".join(page.console_errors))]
        report.sections += [("server", _end_of(log)) for log in _LOGS]
        if "home" in item.funcargs:
            report.sections.append(("runs", "\n".join(map(repr, JobQueue(item.funcargs["home"]).jobs()))))
    return report


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """WHICHFLUENCE_HOME of the server."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def server(home, tmp_path_factory):
    """Base URL of a running dashboard."""
    port, log = free_port(), tmp_path_factory.mktemp("server") / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.port", str(port),
               "--server.headless", "true", "--server.fileWatcherType", "none", "--server.enableAgentApi", "true"]
    _LOGS.append(log)
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out,
                                   env={**os.environ, "WHICHFLUENCE_HOME": str(home), "WHICHFLUENCE_DEBUG": "1"})
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        _end([process.pid, *_workers(home)])
        process.wait(20)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium: the one that CHROMIUM names, else the first of `BROWSERS` that is here."""
    named = os.environ.get("CHROMIUM")
    found = next((path for path in ([named] if named else BROWSERS) if Path(path).exists()), None)
    if not found:
        pytest.skip(f"no browser at {named or ' or '.join(BROWSERS)}; name one with CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def settle():
    """A function that waits until the app has done what it was asked."""
    return _settle


@pytest.fixture(scope="session")
def opening(server, browser):
    """`with opening() as open_page:` pages that are closed at its end; each has its own context, so its own session."""

    @contextmanager
    def opening_():
        contexts = []

        def open_(path: str = "/", theme: str = "light", size: tuple[int, int] = (1440, 900), late: str = ""):
            contexts.append(browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme,
                                                reduced_motion="reduce", accept_downloads=True))
            if late:
                contexts[-1].route(late, _come_late)
            return _opened(contexts[-1].new_page(), f"{server}/{path.lstrip('/')}")

        try:
            yield open_
        finally:
            for context in contexts:
                context.close()

    return opening_


@pytest.fixture(scope="session")
def at_rest(home):
    """A function that waits until no run is under way, of whatever test has asked for it."""

    def wait() -> None:
        deadline = time.monotonic() + PATIENCE / 1_000
        while time.monotonic() < deadline and any(job.active for job in JobQueue(home).jobs()):
            time.sleep(0.5)

    return wait


@pytest.fixture
def open_page(opening):
    """A factory of pages that are closed after the test."""
    with opening() as open_:
        yield open_


@pytest.fixture(scope="session")
def opened_view(request, opening, settle, shifts, at_rest):
    """A view, opened once for all tests that name it; pytest lets them follow each other."""
    if request.param == "runs":
        at_rest()  # a run that goes on moves what stands below it
    with opening() as open_page:
        page = open_page(visits.ADDRESSES[request.param])
        if request.param in visits.CHARTED:  # a busy machine may first train the model for half a minute
            page.locator(visits.CHART).first.wait_for()
            settle(page)
        yield visits.Visit(request.param, page, shifts(page), settle)


@pytest.fixture
def visit(opened_view):
    """The view at the desk, in the light."""
    opened_view.at("desk", "light")
    return opened_view


@pytest.fixture(scope="session")
def shifts():
    """A function that says how far what stood on a page has jumped since it was opened, but for answers to input."""

    def read(page):
        found = page.evaluate("() => window.__shifts")
        return sum(value for value, *_ in found), sorted(found, reverse=True)[:5]

    return read


@pytest.fixture(scope="session")
def alerts():
    """A function that gives the texts of the alerts that stood on a page at any time since it was opened."""
    return lambda page: page.evaluate("() => [...window.__alerts]")


@pytest.fixture(scope="session")
def screenshot():
    """A function that keeps a picture of the whole page, where WHICHFLUENCE_SCREENSHOTS names a folder."""
    kept = os.environ.get("WHICHFLUENCE_SCREENSHOTS")

    def take(page, name: str) -> None:
        if not kept:
            return
        Path(kept).mkdir(parents=True, exist_ok=True)
        size = page.viewport_size
        height = page.evaluate("() => document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight + 60")
        page.set_viewport_size({**size, "height": max(size["height"], height)})  # the page scrolls within a frame
        page.wait_for_timeout(300)
        page.screenshot(path=Path(kept) / f"{name}.png")
        page.set_viewport_size(size)

    return take


def _opened(page, url: str):
    """The page with the app idle on it."""
    page.set_default_timeout(PATIENCE)
    _OPEN.append(page)
    page.add_init_script(SHIFTS + ALERTS)
    page.console_errors, page.requests = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda said: _is_fault(said) and page.console_errors.append(
        f"{said.text} {said.location.get('url', '')}".strip()))
    page.on("pageerror", lambda error: page.console_errors.append(str(error)))
    page.goto(url)
    _wait_until_idle(page)
    return page


def _come_late(route) -> None:
    time.sleep(LATE)
    route.continue_()


def _is_fault(said) -> bool:
    return said.type in ("error", "warning")


def _settle(page) -> None:
    page.wait_for_timeout(250)  # a click needs a moment to reach the server
    _wait_until_idle(page)


def _wait_until_idle(page) -> None:
    page.evaluate("() => { window.__idleSince = undefined }")
    page.wait_for_function(IDLE, arg=QUIET, timeout=PATIENCE, polling=50)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the dashboard did not start:\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]


def _workers(home: Path) -> list[int]:
    """Process numbers of the workers that serve this home folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if "engine.worker" in words and str(home) in words:
                found.append(int(path.parent.name))
    return found


def _end(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + 10
    for process in processes:
        while time.monotonic() < deadline and Path(f"/proc/{process}").exists():
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
            time.sleep(0.1)
        if Path(f"/proc/{process}").exists():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
