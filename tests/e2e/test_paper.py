"""Paper in a real browser: the paper's cells beside ours, the same view from its address, files to keep."""

import pytest

from engine.store.results import Store
from tests.app.widgets.results.test_published import stored

pytestmark = pytest.mark.e2e
PHONE = (390, 844)


@pytest.fixture(scope="module", autouse=True)
def results(home):
    """Both scales as if this machine had computed them."""
    digests = [stored(preset, root=home).digest for preset in ("paper", "small")]
    yield
    for digest in digests:
        Store(home).delete(digest)


def main(page):
    return page.locator('[data-testid="stMain"]')


@pytest.fixture(scope="module")
def paper(opening):
    """The page open at the scale of the paper."""
    with opening() as open_page:
        yield open_page("/paper?preset=paper")


def sign_agreement(page, settle):
    """Choose that measure, where it is not chosen yet."""
    if "measure=Sign+agreement" not in page.url:
        main(page).get_by_text("Sign agreement", exact=True).click()
        settle(page)
    assert "measure=Sign+agreement" in page.url


def test_charts_and_table_show_every_cell(paper):
    page = paper
    assert page.locator('[data-testid="stVegaLiteChart"]').count() == 2
    assert page.locator(".wf-scroll .wf-table:not(.wf-scoreboard) tbody tr").count() == 10
    assert "0.747" in main(page).inner_text() and page.console_errors == []


@pytest.mark.core
def test_a_link_reopens_the_same_view(paper, open_page, settle):
    page = paper
    sign_agreement(page, settle)
    again = open_page(page.url.split("/", 3)[3])
    assert "Sign agreement: the paper and ours" in main(again).inner_text()
    table = ".wf-scroll .wf-table:not(.wf-scoreboard)"
    assert main(again).locator(table).inner_text() == main(page).locator(table).inner_text()


def test_notes_lead_from_a_cell_to_their_text(paper, settle):
    page = paper
    sign_agreement(page, settle)
    cited = page.locator(".wf-cites a")
    numbers = {cited.nth(place).get_attribute("href") for place in range(cited.count())}
    assert numbers == {f"#note-{number}" for number in range(1, page.locator(".wf-footnotes li").count() + 1)}


def test_on_a_phone_all_columns_are_in_sight(open_page):
    """At the scale of the paper, where the table says which values lie within their tolerance. What spread there is
    stands below its value."""
    page = open_page("/paper?preset=paper", size=PHONE)
    wide = page.evaluate("() => [...document.querySelectorAll('[data-testid=stMain] *')].filter(part => "
                         "!part.closest('[data-testid=stCode]') && "
                         "part.getBoundingClientRect().right > window.innerWidth + 1).length")
    assert wide == 0
    value = page.locator(".wf-scroll .wf-table:not(.wf-scoreboard) tbody tr").first.locator("td").first
    number, spread = value.inner_text().split("\n")
    assert float(number) > 0 and spread.startswith("± ")


def test_the_table_and_the_manifest_can_be_kept(paper, settle):
    page = paper
    page.get_by_text("Table, downloads and the command that recomputes this").click()
    settle(page)
    with page.expect_download() as csv:
        page.locator('[data-testid="stDownloadButton"] button', has_text="CSV").click()
    assert csv.value.suggested_filename == "table-a6-paper.csv"
    with page.expect_download() as manifest:
        page.get_by_role("button", name="Manifest (JSON)").click()
    assert manifest.value.suggested_filename == "table-a6-paper-manifest.json"


def test_an_entry_of_the_scoreboard_leads_to_its_cells(paper, settle):
    page = paper
    page.locator(".wf-scoreboard a", has_text="Table A-14").click()
    page.wait_for_function("() => { const box = document.getElementById('cell-by-cell')?.getBoundingClientRect();"
                           " return box && box.top >= 0 && box.top < window.innerHeight; }")
    settle(page)
    assert "experiment=table-a14" in page.url and "at=" not in page.url
    assert "reproduce table-a14" in main(page).inner_text().split("Cell by cell")[1]


@pytest.mark.slow
def test_another_table_is_no_fault_of_the_address(open_page, settle, alerts):
    """What one table had chosen, a scale, a measure or a row, another may not have."""
    page = open_page("/paper?experiment=figure-4")
    for title in ("Table 5-1: noisy", "Table A-15:", "Figure 4-1:", "Table A-6: specification"):
        for chosen in ("choice-measure", "choice-preset"):
            if (options := page.locator(f".st-key-{chosen} button")).count():
                options.last.click()
                settle(page)
        box = page.locator(".st-key-choice-experiment input")
        box.fill(title)
        page.keyboard.press("Enter")
        settle(page)
        assert box.input_value().startswith(title)
    assert not [text for text in alerts(page) if "was ignored" in text] and page.console_errors == []
