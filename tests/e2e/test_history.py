"""One entry of the browser's history for one act, and Back undoes it."""

import pytest

pytestmark = pytest.mark.e2e

ADDRESS = "/examples?data=digits&train=100&queries=20&candidates=10&s=query_loss/add_occurrence/one_step;eta%3D0.1&n=5"
CHOSEN = '[class*="st-key-pick-chosen-query-{}"]'
ENTRIES = "() => history.length"


def test_back_undoes_one_choice_and_forward_makes_it_again(open_page, settle):
    page = open_page(ADDRESS)
    opened = page.evaluate(ENTRIES)
    assert opened <= 2  # the page, and what the browser showed before it
    for query in (3, 4):
        page.locator(f".st-key-pick-query-{query} button").click()
        page.locator(CHOSEN.format(query)).wait_for()
        settle(page)
    assert page.evaluate(ENTRIES) == opened + 2
    page.go_back()
    page.locator(CHOSEN.format(3)).wait_for()
    settle(page)
    assert "query=3" in page.url and "gone" not in page.url
    page.go_back()
    page.locator(CHOSEN.format(0)).wait_for()
    settle(page)
    assert "query=" not in page.url.replace("queries=", "")
    page.go_forward()
    page.locator(CHOSEN.format(3)).wait_for()
    settle(page)
    assert page.locator(CHOSEN.format("")).count() == 1 and page.console_errors == []


def test_back_leads_to_the_page_before(open_page, settle):
    page = open_page(ADDRESS)
    opened = page.evaluate(ENTRIES)
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Guide").click()
    page.locator("h1", has_text="Guide").wait_for()
    settle(page)
    assert page.evaluate(ENTRIES) == opened + 1 and page.title() == "Guide · Whichfluence"
    page.go_back()
    page.locator("h1", has_text="Examples").wait_for()
    settle(page)
    assert page.locator(CHOSEN.format(0)).count() == 1 and "train=100" in page.url
