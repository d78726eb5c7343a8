"""Classroom mode on a projector of 1280×720: one screen a stage, letters of 20 pixels, keys, the hand, the theme."""

import pytest

from app.learn.panel import STEPS
from app.learn.stages import STAGES
from tests.e2e.visits import on

pytestmark = pytest.mark.e2e

PROJECTOR = (1280, 720)
SLIDER = ".st-key-choice-lesson-p input, .st-key-choice-toy-x input"
BACKGROUND = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
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
        if stage != "takeaway":
            page.locator('[data-testid="stVegaLiteChart"] .marks, .wf-specimens').first.wait_for()
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
    page = open_page("/learn?classroom=1&step=3", size=PROJECTOR)
    page.keyboard.press("PageDown")
    told(page, "3", "reveal")
    page.locator(SLIDER).first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**lesson-p=0.01**")
    settle(page)
    assert "stage=reveal" in page.url
    page.get_by_role("link", name="Workbench").click()
    page.get_by_role("link", name="Back to the lesson").wait_for()
    page.get_by_role("combobox", name="Dataset").wait_for()  # in the sidebar, which has no pages there


@on("learn-play")
def test_the_point_of_the_plane_follows_the_hand(visit, settle):
    visit.page.set_viewport_size(dict(zip(("width", "height"), PROJECTOR, strict=True)))
    follows_the_hand(visit.page, settle, "Show the result")


@pytest.mark.slow
def test_the_point_of_the_plane_follows_the_hand_in_class(open_page, settle):
    follows_the_hand(open_page("/learn?classroom=1&step=play", size=PROJECTOR), settle, "Reveal")


def follows_the_hand(page, settle, button):
    page.get_by_role("button", name=button, exact=True).click()
    page.locator(SLIDER).first.wait_for()
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


@pytest.mark.core
def test_keys_go_on_from_an_answer_and_a_reload_keeps_it(open_page, settle):
    """→ with the focus on an option leaves the option as it is; T begins a new session of the same browser."""
    page = open_page("/learn?classroom=1&step=9", size=PROJECTOR)
    light = page.evaluate(BACKGROUND)
    page.get_by_text("For both").click()
    settle(page)
    page.keyboard.press("ArrowRight")
    told(page, "9", "reveal")
    page.get_by_text("You expected: For both.").wait_for()
    page.keyboard.press("t")
    page.get_by_role("button", name="Use the light theme").wait_for()
    page.get_by_text("You expected: For both.").wait_for()
    assert "stage=reveal" in page.url and page.evaluate(BACKGROUND) != light and page.console_errors == []
    back_in_the_light(page, light)


@pytest.mark.slow
def test_a_finger_moves_the_point_and_not_the_page(browser, server, settle):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        page.goto(f"{server}/learn?step=play")
        page.get_by_role("button", name="Show the result").click()
        chart = page.locator('.st-key-learn-plane [data-testid="stVegaLiteChart"]')
        chart.locator(".marks").wait_for()
        settle(page)
        chart.scroll_into_view_if_needed()
        box, finger = chart.bounding_box(), context.new_cdp_session(page)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        scrolled = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollTop")
        for kind, steps in (("touchStart", [0]), ("touchMove", range(10))):
            for step in steps:
                finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [
                    {"x": x + 6 * step, "y": y - 6 * step}]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function("() => new URL(location).searchParams.get('toy-x') > '0.2'")
        assert page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollTop") == scrolled
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1920, 1080), (390, 844)])
def test_letters_and_charts_follow_the_screen(open_page, settle, size):
    page = open_page("/learn?classroom=1&step=9", size=size)
    page.keyboard.press("ArrowRight")
    told(page, "9", "reveal")
    page.locator('[data-testid="stVegaLiteChart"] .marks').wait_for()
    settle(page)
    main = '[data-testid="stMain"]'
    wide = page.locator(main).evaluate("main => main.scrollWidth - main.clientWidth")
    assert wide == 0
    height = page.locator('[data-testid="stVegaLiteChart"]').bounding_box()["height"]
    assert height > 600 if size[0] > 1000 else height < 400


@pytest.mark.slow
@pytest.mark.parametrize("address", ["/learn?classroom=1&step=2", "/guide?guide=explaining"])
def test_light_and_dark_by_one_button_and_for_the_next_page(open_page, settle, address):
    page = open_page(address, size=PROJECTOR)
    light = page.evaluate(BACKGROUND)
    page.get_by_role("button", name="Use the dark theme").click()
    page.get_by_role("button", name="Use the light theme").wait_for()
    settle(page)
    assert page.evaluate(BACKGROUND) != light
    assert address in page.url
    back_in_the_light(page, light)


def back_in_the_light(page, light):
    """By the button, on another page, which opens in the dark as the one before was left."""
    page.goto("/".join(page.url.split("/")[:3]) + "/paper")
    page.get_by_role("button", name="Use the light theme").click()
    page.get_by_role("button", name="Use the dark theme").wait_for()
    assert page.evaluate(BACKGROUND) == light
