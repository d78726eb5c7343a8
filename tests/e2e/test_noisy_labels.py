"""The way of an engineer: search, look at what is flagged, decide by key, undo, download, and train again."""

import csv
import os
import re
import subprocess
import sys
import time

import pytest

from engine.applications.noisy_labels.review import Review
from engine.applications.noisy_labels.source import NoisySource

pytestmark = pytest.mark.e2e

ADDRESS = "/noisy_labels?data=digits&labels=200&trusted=5&epochs=3&judge=mlp"
DESK = "/noisy_labels?data=digits&labels={labels}&trusted=5&epochs=3&judge=mlp&k=20%25&view=desk&mask={mask}"
MAIN = '[data-testid="stMain"]'
SPY = """() => { window.__typed = []; document.addEventListener('keydown', event => window.__typed.push(
  [event.key, document.querySelector('.wf-review-name').textContent]), true); }"""
KEYS = "wf1u2w3fu4"
MANY = 1_200
VERDICTS = {"w": "wrong", "f": "fine", "u": "unsure"}
SHOWN = re.compile(r"training example ([\d,]+)")


def saved(page, settle):
    """Wait until the store has what was decided."""
    page.wait_for_function("document.querySelector('.wf-review-status')?.textContent.startsWith('Every')")
    page.wait_for_timeout(300)
    settle(page)


def at_desk(open_page, settle, mask, labels):
    """The review desk on data of its own, a fifth of which is flagged."""
    page = open_page(DESK.format(mask=mask, labels=labels))
    if page.get_by_role("button", name="Find suspicious labels").count():
        page.get_by_role("button", name="Find suspicious labels").click()
    page.locator(".wf-review-example").wait_for()
    settle(page)
    page.evaluate(SPY)
    return page


def decided(home, mask, labels):
    """(row, verdict) of what holds, in the order in which it was decided."""
    review = Review(NoisySource(dataset="digits", n_train=labels, trusted=5, n_test=500, mask=mask).draw(), home)
    return [(one.row, one.verdict) for one in review.decisions().values()]


def typed(page, count):
    """Press so many keys, ten a second."""
    began = time.monotonic()
    for number in range(count):
        page.keyboard.press(KEYS[number % len(KEYS)])
        page.wait_for_timeout(max(0.0, 1_000 * (began + 0.1 * (number + 1) - time.monotonic())))


def agree(presses, found):
    """Every key decided the row whose name was on the screen when it was pressed, and nothing while none was."""
    presses = [(key, name) for key, name in presses if SHOWN.search(name)]
    shown = [int(SHOWN.search(name)[1].replace(",", "")) for _, name in presses]
    assert shown == [row for row, _ in found]
    assert all(VERDICTS[key] == verdict for (key, _), (_, verdict) in zip(presses, found, strict=True)
               if key in VERDICTS)


def test_each_key_decides_the_row_on_the_screen(open_page, settle, home):
    page = at_desk(open_page, settle, 1, 700)
    typed(page, 40)
    saved(page, settle)
    agree(page.evaluate("window.__typed"), decided(home, 1, 700))
    assert re.search(r"(39|40|41) of 140 flagged", page.locator(MAIN).inner_text()) and not page.console_errors


@pytest.mark.slow
def test_no_key_is_misplaced_on_a_busy_machine_in_two_tabs_and_over_a_reload(open_page, settle, home):
    first, second = (at_desk(open_page, settle, 2, MANY) for _ in range(2))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        presses = []
        for _ in range(3):  # each reload while keys are on their way
            typed(first, 40)
            presses += first.evaluate("window.__typed")
            first.reload()
            first.locator(".wf-review-example").wait_for()
            first.evaluate(SPY)
        saved(first, settle)
        agree(presses, decided(home, 2, MANY))
        typed(second, 1)
        second.get_by_role("button", name="Keep theirs").click()
        saved(second, settle)
        agree(presses, decided(home, 2, MANY))
        for _ in range(120):
            first.keyboard.press("z")
        saved(first, settle)
        assert decided(home, 2, MANY) == [], "all is taken back, also what was decided before a reload"
        first.evaluate("window.__typed = []")
        typed(first, 300 - len(presses))
        saved(first, settle)
        again = decided(home, 2, MANY)
        agree(first.evaluate("window.__typed"), again)
        assert len(again) == 300 - len(presses) < MANY // 5, "every key came while something was to be decided"
    finally:
        for process in busy:
            process.kill()


@pytest.mark.core
def test_from_the_search_to_the_decision(open_page, settle, screenshot):
    page = open_page(ADDRESS)
    if page.get_by_role("button", name="Find suspicious labels").count():
        page.get_by_role("button", name="Find suspicious labels").click()
    page.get_by_text("Methods and trusted behaviors").wait_for()
    settle(page)
    screenshot(page, "noisy-labels-detection")
    page.locator('path[aria-label*="column: 11; first: 9."]').first.click()  # TracIn and LiSSA, of the hard margin
    page.wait_for_url("**rankings=9-12**")
    settle(page)
    assert "the intervention and training process differ" in page.locator(".wf-verdict").inner_text()
    assert page.get_by_label("First ranking").count() and page.get_by_text("Flagged by only one of them").count()
    page.get_by_text("Review desk", exact=True).click()
    settle(page)
    page.locator(MAIN).get_by_text("1 of 10 flagged").wait_for()  # the desk draws itself once its rows are there
    assert "view=desk" in page.url
    for key in "wfz":
        page.keyboard.press(key)
    assert "2 of 10 flagged" in page.locator(MAIN).inner_text(), "at once, before the page knows"
    saved(page, settle)
    assert "1 wrong label" in page.locator(MAIN).inner_text()
    screenshot(page, "noisy-labels-desk")
    page.get_by_text("downloads and import").click()
    settle(page)
    with page.expect_download() as review:
        page.get_by_role("button", name="Review (CSV)").click()
    rows = list(csv.DictReader(review.value.path().open(encoding="utf-8")))
    assert review.value.suggested_filename == "review.csv" and [row["verdict"] for row in rows] == ["wrong"]

    again = open_page(page.url.split("/", 3)[3])  # another session: the decision was saved
    again.locator(MAIN).get_by_text("✗ wrong").first.wait_for()
    settle(again)
    again.locator('[class*="st-key-pick-"] button').nth(3).click()
    settle(again)
    assert "4 of 10 flagged" in again.locator(MAIN).inner_text()
    assert page.console_errors == again.console_errors == []

    again.keyboard.press("ArrowLeft")
    assert "3 of 10 flagged" in again.locator(MAIN).inner_text()
    again.locator(".wf-review-classes button").first.click()
    saved(again, settle)
    assert page.console_errors == again.console_errors == []

    again.set_viewport_size({"width": 390, "height": 844})  # the desk fits a phone
    settle(again)
    assert again.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                          "return m.scrollWidth - m.clientWidth }") <= 0
