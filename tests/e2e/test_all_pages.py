"""What holds for every page: it opens at every size and theme, and nonsense in its address does no harm."""

import pytest

pytestmark = pytest.mark.e2e

PAGES = ("home", "compare", "approximation_error", "examples", "noisy_labels", "language_models", "learn",
         "paper", "runs", "guide")
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
JUMP = 0.1  # cumulative layout shift up to which a page counts as standing still
NONSENSE = ("data=nonsense&seed=-1&s=%00bad&alpha=huge&train=1e99&queries=&candidates=NaN&nseeds=0"
            "&experiment=table-99&step=99&estimator=gauss&guide=nowhere")


def address(page: str) -> str:
    return "/" if page == "home" else f"/{page}"


@pytest.mark.serial
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens(open_page, screenshot, shifts, name, size, theme):
    page = open_page(address(name), theme=theme, size=SIZES[size])
    jumped, parts = shifts(page)
    assert jumped <= JUMP, parts
    screenshot(page, f"{name}-{size}-{theme}")
    assert page.locator('[data-testid="stMain"] h1').count() == 1
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.console_errors == []
    scrolls = page.evaluate("() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
    main = page.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                         "return m.scrollWidth - m.clientWidth }")
    assert scrolls <= 0 and main <= 0, "the page scrolls sideways"


@pytest.mark.parametrize("name", PAGES)
def test_charts_have_a_text_alternative(open_page, name):
    page = open_page(address(name))
    charts = page.locator('[data-testid="stVegaLiteChart"]')
    for place in range(charts.count()):
        label = charts.nth(place).evaluate(
            "chart => [chart, ...chart.querySelectorAll('[aria-label], [alt]')]"
            ".map(part => part.getAttribute('aria-label') || part.getAttribute('alt') || '').join(' ')")
        assert len(label.strip()) > 20, f"chart {place} of {name} says nothing to a screen reader"


@pytest.mark.parametrize("name", PAGES)
def test_nonsense_in_the_address_gives_a_message(open_page, name):
    page = open_page(f"{address(name)}?{NONSENSE}")
    assert page.locator('[data-testid="stException"]').count() == 0
    assert "which was ignored" in page.locator("body").inner_text()
    assert page.locator('[data-testid="stMain"] h1').count() == 1


def test_a_closed_sidebar_leaves_the_phone_to_the_page(open_page):
    page = open_page("/compare", size=SIZES["phone"])
    assert page.locator('[data-testid="stSidebar"][aria-expanded="true"]').count() == 0


def test_the_pages_stand_above_the_data_in_the_sidebar(open_page):
    page = open_page("/")
    navigation = page.locator('[data-testid="stSidebarNav"]').bounding_box()
    picker = page.locator('[data-testid="stSidebarUserContent"]').bounding_box()
    assert navigation["y"] + navigation["height"] <= picker["y"] + 1
    assert page.locator('[data-testid="stSidebarNavLink"]').count() == len(PAGES)
