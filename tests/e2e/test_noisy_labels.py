"""The way of an engineer: search, look at what is flagged, decide by key, undo, download, and train again."""

import csv

import pytest

pytestmark = pytest.mark.e2e

ADDRESS = "/noisy_labels?data=digits&labels=200&trusted=5&epochs=3&model=mlp"
MAIN = '[data-testid="stMain"]'


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
    assert "view=desk" in page.url and "1 of 10 flagged" in page.locator(MAIN).inner_text()
    page.keyboard.press("w")
    page.get_by_text("2 of 10 flagged").wait_for()
    settle(page)
    page.keyboard.press("f")
    page.get_by_text("3 of 10 flagged").wait_for()
    settle(page)
    page.keyboard.press("z")
    page.get_by_text("2 of 10 flagged").wait_for()
    settle(page)
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
    again.locator('[class*="st-key-pick-"] button').nth(3).click()
    settle(again)
    assert "4 of 10 flagged" in again.locator(MAIN).inner_text()
    assert page.console_errors == again.console_errors == []

    for key in "fwfzuuf":  # on the fourth, faster than the page is drawn
        again.keyboard.press(key)
        again.wait_for_timeout(50)
    again.keyboard.press("ArrowLeft")
    again.keyboard.press("ArrowLeft")
    again.get_by_text("7 of 10 flagged").wait_for()
    settle(again)
    found = again.locator(MAIN).inner_text()
    assert "decided so far in these data: 2 wrong label · 2 fine · 2 unsure" in found and "Recording" not in found
    assert page.console_errors == again.console_errors == []

    again.set_viewport_size({"width": 390, "height": 844})  # the desk fits a phone
    settle(again)
    assert again.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                          "return m.scrollWidth - m.clientWidth }") <= 0
