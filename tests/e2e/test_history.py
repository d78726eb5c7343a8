"""One entry of the browser's history for one act, Back undoes it, and what was not applied leaves no trace."""

import pytest

pytestmark = pytest.mark.e2e

ADDRESS = "/examples?data=digits&train=100&queries=20&candidates=10&s=query_loss/add_occurrence/one_step;eta%3D0.1&n=5"
CHOSEN = '[class*="st-key-pick-chosen-query-{}"]'
ENTRIES = "() => history.length"


@pytest.fixture(scope="module")
def few(opening):
    """Few examples, open for all tests."""
    with opening() as open_page:
        yield open_page(ADDRESS)


def test_back_leads_to_the_page_before(few, settle):
    page = few
    opened = page.evaluate(ENTRIES)
    assert opened <= 2  # the page, and what the browser showed before it
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Guide").click()
    page.locator("h1", has_text="Guide").wait_for()
    settle(page)
    assert page.evaluate(ENTRIES) == opened + 1 and page.title() == "Guide · Whichfluence"
    page.go_back()
    page.locator("h1", has_text="Examples").wait_for()
    settle(page)
    assert page.locator(CHOSEN.format(0)).count() == 1 and "train=100" in page.url


def test_back_undoes_one_choice_and_forward_makes_it_again(few, settle):
    page = few
    opened = page.evaluate(ENTRIES) - 1  # without the guide, which lies ahead
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


def test_fields_that_were_not_applied_show_what_the_column_shows_once_another_query_is_chosen(few, settle):
    page = few

    def behavior():
        page.locator('[class*="st-key-change-0"] button').first.click()
        field = page.locator('[data-testid="stPopoverBody"]').get_by_role("combobox").first
        field.wait_for()
        return field

    begun = behavior()
    shown = begun.input_value()
    begun.click()
    page.get_by_role("option", name="hard margin").click()
    settle(page)
    assert begun.input_value() != shown
    page.keyboard.press("Escape")
    page.locator(".st-key-pick-query-7 button").click()
    page.locator('[class*="st-key-pick-chosen-query-7"]').wait_for()
    settle(page)
    assert behavior().input_value() == shown and page.console_errors == []
