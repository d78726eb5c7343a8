"""The walk of the library: compare, save with a note, find it by its words, open it on the same chart, delete it."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.visits import FIRST, SMALL

pytestmark = pytest.mark.e2e
VIEW = f"/compare?{SMALL}&{FIRST}&metric=sign"


def parameters(page):
    return parse_qs(urlsplit(page.url).query)


def cell(page):
    return page.locator(".wf-cell").first.get_attribute("aria-label")


def test_a_comparison_is_saved_found_opened_and_deleted(open_page, settle, home, screenshot):
    page = open_page(VIEW)
    before, seen = parameters(page), cell(page)
    page.get_by_text("Save, share or export this comparison").click()
    page.get_by_label("Name", exact=True).fill("Steps against removal")
    page.get_by_label("Note", exact=True).fill("For the talk in <b>March</b>")
    page.keyboard.press("Tab")
    settle(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("it is in the Library")).to_be_visible()
    page.locator(".st-key-choice-metric button").nth(1).click()
    settle(page)  # the page has moved on since
    assert parameters(page)["metric"] == ["overlap"]

    page.locator('a[href$="/library"]').first.click()
    settle(page)
    page.get_by_label("Find", exact=True).fill("march talk")
    page.keyboard.press("Enter")
    settle(page)
    card = page.locator('[class*="st-key-wf-entry-"]')
    expect(card).to_have_count(1)
    expect(card).to_contain_text("For the talk in <b>March</b>")
    expect(card.locator(".wf-mini i")).to_have_count(4)
    screenshot(page, "library-found")
    card.get_by_role("link", name="Open").click()
    expect(page.locator(".wf-cell").first).to_be_visible()
    settle(page)
    assert cell(page) == seen and parameters(page) == before

    page.go_back()
    expect(card).to_have_count(1)
    settle(page)
    card.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags, separated by commas").fill("talk, thesis")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(card.locator(".wf-tag")).to_have_text(["talk", "thesis"])
    card.get_by_role("button", name="Delete").click()
    card.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("was deleted")).to_be_visible()
    expect(card).to_have_count(0)
    assert not list((home / "saved").glob("*.json")) and page.console_errors == []
