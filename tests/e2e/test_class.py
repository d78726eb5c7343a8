"""A class of eight devices beside the teacher: they answer, the teacher sees how many, and they can do nothing else."""

import csv
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from app.learn.panel import STEPS
from tests.e2e import faults
from tests.e2e.conftest import ROOT, free_port, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

DEVICES, ADDRESS = 8, "127.0.0.2"
JOINED = re.compile(r"joins at (http://\S+) with the code (\w+)")
QUESTION = STEPS["1"].prediction


@pytest.fixture(scope="module")
def opened_server(tmp_path_factory):
    """(URL of the teacher, URL of the devices, code) of a server for a class."""
    port, log = free_port(), tmp_path_factory.mktemp("class") / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine", "run", "--classroom", ADDRESS, "--port", str(port), "--",
             "--server.headless", "true", "--server.fileWatcherType", "none"], cwd=ROOT, stdout=out, stderr=out,
            env={**os.environ, "WHICHFLUENCE_HOME": str(tmp_path_factory.mktemp("home"))})
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield f"http://localhost:{port}", *JOINED.search(log.read_text()).groups()
    finally:
        process.terminate()
        process.wait(20)


def refused(url, method="GET", **headers):
    try:
        urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), timeout=10)
    except urllib.error.HTTPError as error:
        return error.code
    return 0


def test_devices_read_and_do_nothing_else(opened_server):
    teacher, devices, _ = opened_server
    assert refused(devices) == 0 and refused(teacher) == 0
    for method in ("PUT", "POST", "DELETE"):
        assert refused(f"{devices}/_stcore/upload_file/a/b", method) == 403
    assert refused(devices, Host="evil.example") == 403


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_device_asks_for_the_code_without_faults(opened_server, browser, theme):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(opened_server[1])
    page.get_by_label("Code of the class").wait_for(timeout=60_000)
    assert faults.serious(page) == []
    context.close()


def test_eight_devices_answer_before_the_result(opened_server, browser):
    teacher, devices, code = opened_server
    contexts = [browser.new_context(viewport={"width": 390, "height": 844}) for _ in range(DEVICES)]
    desk = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    try:
        screen = desk.new_page()
        screen.goto(f"{teacher}/learn?classroom=1&step=1")
        screen.get_by_text("Answers of the class: 0").wait_for(timeout=60_000)
        pages = [context.new_page() for context in contexts]
        for index, page in enumerate(pages):
            page.set_default_timeout(60_000)
            page.goto(f"{devices}/?join={code}" if index else devices)
        pages[0].get_by_label("Code of the class").fill(code.lower())
        pages[0].get_by_role("button", name="Join").click()
        for index, page in enumerate(pages):
            page.get_by_text(QUESTION.options[index % 2]).click()
            page.get_by_text("Your answer is counted").wait_for()
            assert page.locator('[data-testid="stSidebar"]').count() == 0
        screen.get_by_text(f"Answers of the class: {DEVICES}").click()
        counts = screen.locator(".wf-answers b")
        counts.first.wait_for()
        assert counts.all_inner_texts() == [str(DEVICES // 2)] * 2 + ["0"]
        pages[0].reload()
        pages[0].get_by_text("Your answer is counted").wait_for()
        screen.get_by_role("button", name="Join").click()
        assert screen.locator(".wf-join strong").inner_text() == code
        with screen.expect_download() as saved:
            screen.get_by_role("button", name="Answers (CSV)").click()
        rows = list(csv.DictReader(Path(saved.value.path()).read_text().splitlines()))
        assert [row["answers"] for row in rows if row["step"] == "1"] == ["4", "4", "0"]
        screen.get_by_role("button", name="Join").focus()
        screen.keyboard.press("Escape")  # closes this alone
        screen.locator(".wf-join").wait_for(state="detached")
        screen.keyboard.press("PageDown")
        for page in pages:
            page.get_by_text(QUESTION.why).wait_for()
    finally:
        for context in (*contexts, desk):
            context.close()
