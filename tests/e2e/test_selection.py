"""Dots in a real browser: a click chooses one, a lasso a group, and both hold on other pages."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from app.widgets.examples import dot_pictures
from app.widgets.pickers.specification_list import address

pytestmark = pytest.mark.e2e
SMALL = {"data": "digits", "train": 200, "queries": 20, "candidates": 10, "seed": 0, "nseeds": 1}
DOTS = ".stPlotlyChart .points path"


def said(page, name):
    return parse_qs(urlsplit(page.url).query).get(name)


def lasso(page):
    """Around everything in the upper left part of the first chart of dots."""
    page.locator('.modebar-btn[data-title="Lasso Select"]').first.click()
    box = page.locator(".stPlotlyChart .nsewdrag").first.bounding_box()
    corners = [(0.05, 0.05), (0.6, 0.05), (0.6, 0.6), (0.05, 0.6), (0.05, 0.05)]
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


@pytest.fixture(scope="module")
def compared(opening):
    """Five behaviors at the queries of a pair, open for all tests."""
    with opening() as open_page:
        yield open_page("/compare?" + urlencode(
            {**SMALL, **address("vary-b"), "pair": "2-4", "ranks": 3, "detail": "queries"}, doseq=True))


def test_a_range_over_the_histogram_lists_its_queries_and_stands_in_the_address(compared, open_page, settle):
    page = compared
    assert page.get_by_text("Select a range in the histogram").count() == 1
    bars = page.locator('[class*="st-key-compare-spread"] svg .mark-rect.role-mark').first
    bars.scroll_into_view_if_needed()
    box = page.locator('[class*="st-key-compare-spread"] svg.marks').first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.97, box["y"] + 60, steps=5)
    page.mouse.up()
    told = page.get_by_text(re.compile(r"\d+ of 20, those between 0\.\d+ and [01]\.\d+"))
    told.wait_for()
    settle(page)
    words, (chosen,) = told.inner_text(), said(page, "between")
    assert 0 < int(re.search(r"(\d+) of 20", words)[1]) <= 20 and page.console_errors == []
    assert re.fullmatch(r"kendall:0\.\d\d:[01]\.\d\d", chosen)
    again = open_page(page.url.split("/", 3)[3])
    again.locator(".st-key-wf-dock .wf-verdict").first.wait_for()
    settle(again)
    assert again.get_by_text(words).count() == 1 and said(again, "between") == [chosen]
    shown = [one.locator('[data-testid="stMain"]').inner_text() for one in (page, again)]
    assert shown[0] == shown[1] and said(again, "ranks") == ["3"] and said(again, "pair") == ["2-4"]
    ends = page.locator('[class*="st-key-compare-between"] input')
    assert [end.get_attribute("aria-valuetext") for end in ends.all()] == chosen.split(":")[1:]
    for end, key in zip(ends.all(), ("Home", "End"), strict=True):
        end.press(key)
        settle(page)
    page.get_by_text("Select a range in the histogram").wait_for()
    assert said(page, "between") is None and page.console_errors == []


def test_a_dot_of_the_top_list_shows_its_picture_on_hover(compared, settle):
    page = compared
    page.locator(".st-key-choice-detail button").filter(has_text="Top").click()
    settle(page)
    dot = page.locator(".st-key-compare-changes svg .mark-symbol path").first
    dot.scroll_into_view_if_needed()
    dot.hover(force=True)
    picture = page.locator("#vg-tooltip-element img")
    picture.wait_for()
    assert picture.evaluate("image => image.naturalWidth") == 8 and picture.bounding_box()["width"] == 84
    assert page.console_errors == []


def test_a_click_opens_the_card_and_a_lasso_makes_a_group_that_the_map_shows_too(compared, settle):
    page = compared
    page.locator(".st-key-choice-detail button").filter(has_text="Scatter").click()
    settle(page)
    page.locator(DOTS).first.scroll_into_view_if_needed()
    page.locator(DOTS).nth(20).hover(force=True)
    pointed = int(re.search(r"training example (\d+)", page.locator("g.hovertext").first.text_content())[1])
    picture = page.locator(".wf-hovered")
    picture.wait_for()
    across = dot_pictures.across(SMALL["train"])
    assert picture.evaluate("it => it.style.backgroundPosition") == (
        f"{-84 * (pointed % across)}px {-84 * (pointed // across)}px".replace("-0px", "0px"))
    page.mouse.move(5, 5)
    picture.wait_for(state="hidden")
    page.locator(DOTS).nth(20).click(force=True)
    page.wait_for_url(re.compile("example="))
    settle(page)
    row = said(page, "example")[0]
    assert f"training example {row} (row" in page.locator(".st-key-compare-card").inner_text()
    lasso(page)
    page.wait_for_url(re.compile("group="))
    settle(page)
    group = said(page, "group")
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Map").click()
    page.wait_for_url(re.compile("/map"))
    settle(page)
    assert said(page, "group") == group and said(page, "example") == [row]
    assert page.locator(".st-key-selection-group input").input_value() == group[0]
    assert page.locator(".st-key-selection-example input").input_value() == row
    assert page.console_errors == []
