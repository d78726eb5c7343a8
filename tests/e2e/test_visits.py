"""Every page and some views more: each is opened once and then looked at by each test, at the desk in the light and, at
another size, on a phone in the dark. Slow tests open it on a phone, and put on the other theme.

It stands still while it opens, raises nothing, scrolls only downwards, axe-core finds no serious fault, charts say what
they show, and the keyboard alone reaches and operates it.

A jump is a property of the page, but a busy machine draws it in more steps and so counts more of it: where a visit
exceeds the bound, the least of five visits counts.
"""

import pytest

from tests.e2e import faults, keyboard
from tests.e2e.visits import ADDRESSES, CHART, CHARTED, OPERATED, PAGES, SIZES, STILL, THEMES, on

pytestmark = pytest.mark.e2e

LIKE_OTHERS = ("compare", "learn-second")  # axe sees a smaller view, or a later step
CHECKED = [view for view in ADDRESSES if view not in LIKE_OTHERS]
JUMP = 0.1  # cumulative layout shift up to which a page counts as standing still
TIMES = 5


def least(found):
    return min(jumped for jumped, _ in found)


@on(*PAGES)
def test_it_stands_still_while_it_opens(visit, open_page, shifts):
    found = [visit.jumped]
    while least(found) > JUMP and len(found) < TIMES:
        found.append(shifts(open_page(ADDRESSES[visit.view])))
    assert least(found) <= JUMP, found


@pytest.mark.slow
@pytest.mark.parametrize("view", PAGES)
def test_it_stands_still_while_it_opens_on_a_phone(open_page, shifts, view):
    found = []
    while not found or least(found) > JUMP and len(found) < TIMES:
        page = open_page(ADDRESSES[view], theme="dark", size=SIZES["phone"])
        found.append(shifts(page))
    assert least(found) <= JUMP, found
    can_be_read(page)


@on(*ADDRESSES)
@pytest.mark.parametrize("theme", THEMES)
def test_it_can_be_read(visit, screenshot, theme):
    read(visit, "desk", theme, screenshot)


@on(*PAGES)
@pytest.mark.parametrize(("size", "theme"), [("phone", theme) for theme in THEMES])
def test_it_can_be_read_on_a_phone(visit, screenshot, size, theme):
    read(visit, size, theme, screenshot)


def read(visit, size, theme, screenshot):
    visit.at(size, theme)
    screenshot(visit.page, f"{visit.view}-{size}-{theme}")
    can_be_read(visit.page)
    assert len(set(visit.grounds.values())) == len(visit.grounds), visit.grounds  # a theme is more than a name


def can_be_read(page):
    assert page.locator('[data-testid="stMain"] h1').count() == 1
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.console_errors == []
    scrolls = page.evaluate("() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
    main = page.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                         "return m.scrollWidth - m.clientWidth }")
    assert scrolls <= 0 and main <= 0, "the page scrolls sideways"


@on(*CHECKED)
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious(visit, theme):
    visit.at("desk", theme)
    assert not faults.serious(visit.page)


@on("map", "compare-explained")
def test_axe_finds_nothing_serious_in_what_opens_above_a_page(visit):
    visit.at("desk", "dark")
    for button in visit.page.locator('[data-testid="stMain"] [data-testid="stPopover"] button').all()[:2]:
        button.click()
        visit.page.locator('[data-testid="stPopoverBody"]').wait_for()
        visit.page.wait_for_function(STILL)
        found = faults.serious(visit.page)
        visit.page.keyboard.press("Escape")
        assert not found


@on(*ADDRESSES)
def test_charts_have_a_text_alternative(visit):
    charts = visit.page.locator(CHART)
    assert charts.count() or visit.view not in CHARTED
    for place in range(charts.count()):
        label = charts.nth(place).evaluate(
            "chart => [chart, ...chart.querySelectorAll('[aria-label], [alt]')]"
            ".map(part => part.getAttribute('aria-label') || part.getAttribute('alt') || '').join(' ')")
        assert len(label.strip()) > 20, f"chart {place} of {visit.view} says nothing to a screen reader"


@on("home")
def test_the_pages_stand_above_the_data_in_the_sidebar(visit):
    navigation = visit.page.locator('[data-testid="stSidebarNav"]').bounding_box()
    picker = visit.page.locator('[data-testid="stSidebarUserContent"]').bounding_box()
    assert navigation["y"] + navigation["height"] <= picker["y"] + 1
    assert visit.page.locator('[data-testid="stSidebarNavLink"]').count() == len(PAGES)
    assert visit.page.locator("#wf-place").count() == 0, "its rules slow every change of a page"


@on("learn")
def test_the_keyboard_reaches_every_step_and_answers(visit):
    visit.page.locator(".wf-specimens").wait_for()  # the set-up has been drawn
    reached = {}
    for _ in range(40):
        visit.page.keyboard.press("Tab")
        name, visible = visit.page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e); return ["
            "e.tagName + ' ' + (e.innerText || e.getAttribute('aria-label') || '').trim().slice(0, 60), "
            "s.outlineStyle !== 'none' || s.boxShadow !== 'none'] }")
        reached[name] = visible
    for words in ("Compare", "counterfactual", "Show the result", "For teachers", "Next", "Glossary"):
        assert any(words in name for name in reached), (words, list(reached))
    unseen = [name for name, visible in reached.items() if not visible and not name.startswith(("MAIN", "BODY"))]
    assert not unseen, unseen


@on("learn")
def test_a_word_explains_itself_to_the_keyboard(visit):
    word = visit.page.locator(".wf-term").first
    word.focus()
    shown = word.evaluate("word => getComputedStyle(word, '::after').content")
    assert word.get_attribute("data-line") in shown and word.get_attribute("aria-label")


@on("home", *OPERATED)
def test_the_keyboard_alone_reaches_everything(visit):
    missed, unseen = keyboard.walk(visit)
    assert not missed
    assert not unseen


@on(*OPERATED)
def test_the_keyboard_alone_operates(visit, open_page, settle, shifts, at_rest):
    def jumped(page):
        if visit.view == "runs":
            at_rest()  # a run of another visit that ends moves what stands below it
        page.set_default_timeout(30_000)
        before = shifts(page)[0]
        keyboard.operate(page, *OPERATED[visit.view])
        settle(page)
        return shifts(page)[0] - before, shifts(page)[1]

    found = [jumped(visit.page)]
    while least(found) > JUMP and len(found) < TIMES:
        found.append(jumped(open_page(ADDRESSES[visit.view])))
    assert least(found) <= JUMP, found
    assert visit.page.console_errors == []


FOCUS = "where => Boolean(document.activeElement.closest(where))"


@on("map")
def test_the_keyboard_enters_what_opens_and_comes_back(visit):
    visit.page.locator('[data-testid="stMain"] [data-testid="stPopover"] button').first.focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_function(FOCUS, arg='[data-testid="stPopoverBody"]')
    visit.page.keyboard.press("Escape")
    visit.page.wait_for_function(FOCUS, arg='[data-testid="stPopover"]')


def press_until_gone(page, name, area):
    """Press a button by the keyboard that goes with it; the focus is in the area then."""
    button = page.get_by_role("button", name=name)
    button.focus()
    page.keyboard.press("Enter")
    button.wait_for(state="detached")
    page.wait_for_function(FOCUS, arg=f'[data-testid="{area}"]')


@on("learn")
def test_the_keyboard_stays_on_a_page_whose_button_has_gone(visit):
    press_until_gone(visit.page, "Show the result", "stMain")


@on("poison")
def test_the_keyboard_stays_in_a_sidebar_whose_button_has_gone(visit):
    press_until_gone(visit.page, "Try images with a planted backdoor", "stSidebarContent")
