import pytest

from tests.e2e import keyboard
from tests.e2e.visits import on

pytestmark = pytest.mark.e2e


@pytest.mark.core
@on("home")
def test_home_shows_a_real_disagreement_without_scrolling(visit):
    page = visit.page
    cards = page.locator(".wf-card")
    cards.first.wait_for()  # the model trains once on a fresh server
    assert cards.count() == 3 and page.locator(".wf-card img").count() == 3
    verdict = page.locator(".wf-verdict").bounding_box()
    assert verdict["y"] + verdict["height"] <= 900, "the verdict is not on the first screen"


@on("home")
def test_every_page_is_linked(visit):
    links = visit.page.locator('[data-testid="stMain"] [data-testid="stPageLink"] a')
    found = [link.get_attribute("href").split("?")[0].rsplit("/", 1)[-1] for link in links.all()]
    assert set(found) == {"compare", "approximation_error", "examples", "map", "scorecard", "noisy_labels",
                          "poison", "language_models", "learn", "paper", "library", "runs", "guide"}


@on("home")
def test_the_cards_stack_on_a_phone(visit):
    visit.at("phone", "dark")
    boxes = [visit.page.locator(".wf-card").nth(place).bounding_box() for place in range(3)]
    assert len({box["x"] for box in boxes}) == 1 and boxes[0]["width"] > 300


@pytest.mark.core
@on("home")
def test_one_key_starts_a_comparison(visit):
    page = visit.page
    keyboard.operate(page, "a:has-text('Start a first comparison')", "Enter", "/compare?")
    page.locator(".wf-cell").first.wait_for()
    visit.settle(page)
    assert page.locator(".wf-row").count() == 4 and page.url.count("s=") >= 4
    assert page.locator(".st-key-wf-dock .wf-verdict").count() == 2  # the verdict, and the way
    assert page.console_errors == []


@pytest.mark.slow
def test_the_named_methods_open(open_page, settle):
    page = open_page("/")
    links = page.locator('[data-testid="stMain"] [data-testid="stPageLink"] a')
    links.filter(has_text="Compare the named methods").click()
    page.wait_for_url("**/compare?*")
    settle(page)
    assert page.get_by_text("GradSim", exact=True).count() >= 1
