import re

import pytest

pytestmark = pytest.mark.e2e

SPECIFICATIONS = "s=query_loss/add_occurrence/one_step;eta%3D0.1&s=query_logit/add_occurrence/one_step;eta%3D0.1"
CARDS = '[class*="st-key-pick-top-"]'


@pytest.fixture(scope="module")
def two(opening):
    """Examples under two specifications, open for several tests."""
    with opening() as open_page:
        yield open_page(f"/examples?{SPECIFICATIONS}&n=5")


@pytest.mark.core
def test_a_query_is_chosen_by_its_picture(two, settle):
    page = two
    page.locator(".st-key-pick-query-3 button").click()
    settle(page)
    assert "query=3" in page.url
    assert page.locator('[class*="st-key-pick-chosen-query-"]').count() == 1
    assert "Query 3" in page.locator('[data-testid="stMain"]').inner_text()


@pytest.mark.core
def test_a_link_reopens_the_same_view(two, open_page, settle):
    two.locator(".st-key-pick-query-4 button").click()
    settle(two)
    again = open_page(two.url.split("/", 3)[3])
    assert "query=4" in again.url
    again.locator(".wf-example .ranks").first.wait_for()  # hidden while the browser still loads a chart beside it
    cards = [page.locator(".wf-example .ranks").all_inner_texts() for page in (two, again)]
    assert cards[0] == cards[1] and len(cards[0]) == 2 * 2 * 5


def test_a_card_opens_the_example_under_every_specification(open_page, settle, screenshot):
    page = open_page(f"/examples?{SPECIFICATIONS}&s=query_loss/infinitesimal/local_response"
                     "&s=hard_margin/add_occurrence/one_step;eta%3D0.1&n=5")
    page.locator(f"{CARDS} button").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".wf-detail").wait_for()
    assert dialog.locator(".wf-detail tbody tr").count() == 4
    assert dialog.locator("img").count() == 2
    assert re.search(r"example=\d+", page.url)
    screenshot(page, "examples-detail")
    page.keyboard.press("Escape")
    settle(page)
    assert "example=" not in page.url and page.get_by_role("dialog").count() == 0


def test_pictures_are_named_and_pixels_stay_sharp(two):
    page = two
    pictures = page.locator("img.wf-picture")
    assert pictures.count() >= 9 + 2 * 2 * 5
    for place in (0, 20, pictures.count() - 1):
        assert re.match(r"(query|training example) \d+, label ", pictures.nth(place).get_attribute("alt"))
    assert pictures.first.evaluate("image => getComputedStyle(image).imageRendering") == "pixelated"


def test_cards_fit_a_phone(two, settle):
    page = two
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    boxes = [page.locator(CARDS).nth(place).bounding_box() for place in range(page.locator(CARDS).count())]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_a_card_can_be_opened_from_the_keyboard(two):
    page = two
    page.locator(f"{CARDS} button").nth(1).focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").locator(".wf-detail").wait_for()
