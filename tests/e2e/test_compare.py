import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pandas as pd
import pytest

from app.widgets.pickers.specification_list import address
from tests.e2e.visits import on

pytestmark = pytest.mark.e2e
MATRIX = "**/BidiComponent*.js"


def link(preset="first", **more):
    return "/compare?" + urlencode({**address(preset), **more}, doseq=True)


def chosen(page, name):
    return parse_qs(urlsplit(page.url).query).get(name)


def cell(page, first, second):
    """A cell of the matrix, by the labels of its specifications."""
    return page.locator(f'.wf-cell[aria-label^="{first}"][aria-label*="and {second}"]').first


def answered(page):
    """The page once its matrix is there: the model of a first visit is trained meanwhile."""
    page.locator(".wf-cell").first.wait_for()
    page.locator(".st-key-wf-dock .wf-verdict").first.wait_for()
    return page


def words(page):
    return page.locator('[data-testid="stMain"]').inner_text()


@pytest.fixture(scope="module")
def four(opening, shifts):
    """The first four specifications, open for several tests; the script of the matrix came late."""
    with opening() as open_page:
        page = open_page(link(), late=MATRIX)
        page.locator(".wf-matrix").wait_for()
        page.wait_for_timeout(500)
        page.jumped = shifts(page)
        yield answered(page)


def test_nothing_jumps_where_the_script_of_the_matrix_comes_late(four):
    assert four.jumped[0] <= 0.1, four.jumped


def test_a_clicked_cell_opens_the_pair_everywhere(four, settle):
    page = four
    assert "the intervention and training process differ" in words(page)
    started = time.perf_counter()
    cell(page, "1. query loss", "3. query logit").click()
    page.wait_for_url(re.compile("pair=1-3"))
    page.locator(".wf-verdict", has_text="Different question: the behavior differs").wait_for()
    print(f"click to verdict {time.perf_counter() - started:.2f} s")
    settle(page)
    assert chosen(page, "pair") == ["1-3"]
    assert page.locator(".wf-mark.B").count() == 2 and page.locator(".wf-mark.T").count() == 0
    assert page.console_errors == []


def test_the_arrow_keys_walk_the_cells_and_enter_opens_one(four, settle):
    page = four
    cell(page, "2. hard margin", "1. query loss").focus()
    for key in ("ArrowDown", "ArrowRight"):  # to 3 and 1, then to 3 and 2
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("pair=2-3"))
    settle(page)
    assert page.evaluate("() => document.activeElement.dataset.key") == "2 1"
    assert page.locator('.wf-cell[aria-pressed="true"]').count() == 2
    assert page.locator('.wf-cell[tabindex="0"]').count() == 1


@pytest.mark.core
@on("compare")  # nothing is chosen: the first look
def test_the_first_screen_holds_matrix_verdict_and_way(visit):
    page = visit.page
    page.locator(".st-key-wf-dock").get_by_test_id("stVegaLiteChart").wait_for()
    for part in (".wf-matrix", ".st-key-wf-dock .wf-verdict >> nth=0", ".st-key-wf-dock .wf-verdict >> nth=1",
                 '.st-key-wf-dock [data-testid="stVegaLiteChart"]'):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900, (part, box)
    assert page.console_errors == []


@pytest.mark.core
@on("compare")
def test_a_figure_is_saved_by_the_keyboard(visit):
    page = visit.page
    page.locator(".st-key-wf-dock").get_by_test_id("stVegaLiteChart").wait_for()
    page.get_by_role("button", name="Save figure").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="SVG", exact=True).focus()
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "kendall-tau-of-4-specifications.svg"
    text = saved.value.path().read_text()
    assert "seed 0" in text and "python -m engine compare" in text and "whichfluence" in text
    assert page.console_errors == []


def test_on_a_phone_the_verdict_follows_the_matrix(open_page, settle):
    page = answered(open_page(link(), size=(390, 844)))
    assert page.locator('[data-testid="stSidebar"][aria-expanded="true"]').count() == 0, "the phone is the page's"
    sheet = page.locator(".wf-sheet")
    box = sheet.bounding_box()
    assert "the intervention and training process differ" in sheet.inner_text()
    assert box["y"] + box["height"] <= 844
    cell(page, "1. query loss", "2. hard margin").click()
    page.locator(".wf-sheet", has_text="the behavior differs").wait_for()
    sheet.click()
    page.wait_for_function("() => document.querySelector('.st-key-wf-dock').getBoundingClientRect().top < 500")
    assert page.console_errors == []


def test_a_row_is_moved_edited_and_removed_at_its_menu(four, settle):
    page, listed = four, chosen(four, "s")
    page.get_by_label("Change number 2").click()
    page.locator(".wf-menu button:visible", has_text="Move up").click()
    settle(page)
    assert chosen(page, "s") == [listed[1], listed[0], *listed[2:]]
    page.get_by_label("Change number 1").click()
    page.locator(".wf-menu button:visible", has_text="Edit").click()
    page.get_by_role("dialog").get_by_text("Replace number 1").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    settle(page)
    assert chosen(page, "s")[0] == listed[1] and page.console_errors == []


ON_ANOTHER = """() => { const list = document.activeElement.getAttribute('aria-activedescendant');
  const at = list && document.getElementById(list);
  return Boolean(at) && at.getAttribute('aria-selected') === 'false' }"""


def test_the_keyboard_reaches_a_pair(four, settle):
    page, before = four, chosen(four, "pair")
    box = page.get_by_label("Second specification", exact=False).first
    box.focus()
    for _ in range(6):  # the first opens the list, at whichever entry, a moment after the key
        page.keyboard.press("ArrowUp")
        page.wait_for_timeout(500)
        if page.evaluate(ON_ANOTHER):
            break
    page.keyboard.press("Enter")
    settle(page)
    after = chosen(page, "pair")
    assert after != before and re.fullmatch("1-[234]", after[0])
    assert box.input_value().startswith(f"{after[0][-1]}. ")
    assert page.console_errors == []


def test_the_downloaded_table_holds_every_pair_and_metric(four, settle, tmp_path):
    page = four
    panel = page.get_by_test_id("stExpander").filter(has_text="Table, downloads and the command").first
    panel.get_by_text("Table, downloads and the command").click()
    settle(page)
    with page.expect_download() as waited:
        panel.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV").click()
    path = Path(tmp_path / "agreement.csv")
    waited.value.save_as(path)
    table = pd.read_csv(path)
    assert len(table) == 6 * 3 and set(table.columns) >= {"a", "b", "metric", "mean", "ci95", "verdict", "n_dropped"}


def test_removing_and_presets(four, settle):
    page = four
    page.get_by_label("Change number 1").click()
    page.locator(".wf-menu button:visible", has_text="Remove").click()
    settle(page)
    assert page.locator(".wf-row").count() == 3 and len(chosen(page, "s")) == 3
    page.get_by_role("radio", name="Vary B", exact=True).or_(page.get_by_role("button", name="Vary B")).first.click()
    settle(page)
    assert page.locator(".wf-row").count() == 5 and len(chosen(page, "s")) == 5


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["table-a6", "vary-p"])
def test_the_longest_presets_open(open_page, screenshot, preset):
    """Every one is opened without a browser in tests/pages."""
    page = open_page(link(preset))
    answered(page)
    page.locator('[data-testid="stPlotlyChart"]').first.wait_for()
    screenshot(page, f"compare-{preset}")
    assert page.locator('[data-testid="stPlotlyChart"]').count() == 1
    assert page.console_errors == []


@pytest.mark.slow
def test_a_phone_shows_twelve_without_scrolling_the_page(open_page, settle, screenshot):
    page = open_page(link("table-a6"), size=(390, 844))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        settle(page)
        answered(page)
        screenshot(page, f"compare-phone-{theme}")
        assert page.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                             "return m.scrollWidth - m.clientWidth }") <= 0


@pytest.mark.slow
def test_nothing_jumps_on_a_phone_where_the_script_of_the_matrix_comes_late(open_page, shifts):
    page = open_page("/compare", size=(390, 844), late=MATRIX)
    page.locator(".wf-matrix").wait_for()
    page.wait_for_timeout(500)
    assert shifts(page)[0] <= 0.1, shifts(page)
