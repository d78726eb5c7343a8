"""Classroom mode on a projector of 1280×720: one screen a stage, letters of 20 pixels, keys, the hand, the theme."""

import pytest

from app.learn.panel import STEPS
from app.learn.stages import STAGES

pytestmark = pytest.mark.e2e

PROJECTOR = (1280, 720)
SLIDER = ".st-key-choice-lesson-p input, .st-key-choice-toy-x input"
SEEN = """() => {
  const small = [], letters = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (letters.nextNode()) {
    const text = letters.currentNode, at = text.parentElement, box = at.getBoundingClientRect();
    if (!text.data.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(at.tagName)) continue;
    if (!box.width || !box.height || box.width <= 1 || !at.checkVisibility({visibilityProperty: true})) continue;
    const size = parseFloat(getComputedStyle(at).fontSize);
    if (size < 20) small.push([size, text.data.trim().slice(0, 40)]);
  }
  const main = document.querySelector('[data-testid="stMain"]');
  return {small, above: main.scrollHeight - main.clientHeight, wide: main.scrollWidth - main.clientWidth,
          sidebar: !!document.querySelector('[data-testid="stSidebar"]')?.checkVisibility()};
}"""


def told(page, step, stage):
    """Wait until the address tells a stage of a step and the page shows it."""
    page.wait_for_function("([step, stage]) => { const told = new URL(location).searchParams;"
                           " return (told.get('step') ?? '1') === step && told.get('stage') === stage }",
                           arg=[step, stage])
    page.locator(".wf-stages [aria-current]", has_text=STAGES[stage]).wait_for()


@pytest.mark.parametrize("first", [-3, pytest.param(0, marks=pytest.mark.slow)], ids=["last three", "all"])
def test_every_stage_of_lessons_is_one_large_screen(open_page, settle, screenshot, first):
    """By the keys of a presenter alone."""
    steps = list(STEPS)[first:]
    page = open_page(f"/learn?classroom=1&stage=predict&step={steps[0]}", size=PROJECTOR)
    order = [(step, stage) for step in steps for stage in STAGES]
    for place, (step, stage) in enumerate(order):
        told(page, step, stage)
        settle(page)
        if stage == "reveal":
            page.locator('[data-testid="stVegaLiteChart"] svg, .wf-specimens').first.wait_for()
        seen = page.evaluate(SEEN)
        assert seen == {"small": [], "above": 0, "wide": 0, "sidebar": False}, (step, stage, seen)
        screenshot(page, f"classroom-{step}-{stage}")
        if place + 1 < len(order):
            page.keyboard.press(("ArrowRight", "PageDown", "Space")[place % 3])
    page.keyboard.press("PageUp")
    told(page, order[-2][0], order[-2][1])
    assert page.console_errors == []
    page.keyboard.press("Escape")
    page.locator("h1", has_text="Learn").wait_for()
    assert "classroom" not in page.url and "stage" not in page.url


def test_keys_that_move_a_control_do_not_leave_the_stage(open_page, settle):
    page = open_page("/learn?classroom=1&stage=reveal&step=3", size=PROJECTOR)
    page.locator(SLIDER).first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**lesson-p=0.01**")
    settle(page)
    assert "stage=reveal" in page.url


@pytest.mark.parametrize("address", ["/learn?step=play", pytest.param(
    "/learn?classroom=1&stage=reveal&step=play", marks=pytest.mark.slow)])
def test_the_point_of_the_plane_follows_the_hand(open_page, settle, address):
    page = open_page(address, size=PROJECTOR)
    chart = page.locator('[data-testid="stVegaLiteChart"]')
    chart.locator("svg").wait_for()
    settle(page)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = page.locator("strong").all_inner_texts()
    page.mouse.move(x, y)
    page.mouse.down()
    for part in range(10):
        page.mouse.move(x + 12 * part, y - 5 * part)
    page.mouse.up()
    page.wait_for_function("() => new URL(location).searchParams.get('toy-x') > '0.2'")
    settle(page)
    held = page.url
    assert page.locator("strong").all_inner_texts() != before
    page.mouse.move(x - 150, y + 40)  # the hand is off
    page.wait_for_timeout(600)
    assert page.url == held and page.console_errors == []
    page.locator(SLIDER).first.focus()
    page.keyboard.press("Home")
    page.wait_for_url("**toy-x=-3**")


@pytest.mark.parametrize("address", ["/learn?classroom=1&step=2", pytest.param(
    "/guide?guide=explaining", marks=pytest.mark.slow)])
def test_light_and_dark_by_one_button_and_for_the_next_page(open_page, settle, address):
    page = open_page(address, size=PROJECTOR)
    background = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Use the dark theme").click()
    page.get_by_role("button", name="Use the light theme").wait_for()
    settle(page)
    assert page.evaluate(background) != light
    assert address in page.url
    page.goto(page.url.partition(address)[0] + "/paper")
    page.get_by_role("button", name="Use the light theme").click()
    page.get_by_role("button", name="Use the dark theme").wait_for()
    assert page.evaluate(background) == light
