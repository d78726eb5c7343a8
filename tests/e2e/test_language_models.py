"""Language models in a real browser: published heatmaps at once, a click that chooses, no complaint of the browser."""

import pytest

from engine.experiments import publish

pytestmark = pytest.mark.e2e
PUBLISHED = publish.RESULTS / "figure-5-2" / "small" / publish.TABLE


def main(page):
    return page.locator('[data-testid="stMain"]')


def test_views_open_from_their_address(open_page, settle, screenshot):
    page = open_page("/language_models")
    if PUBLISHED.is_file():
        assert page.locator('[data-testid="stVegaLiteChart"]').count() == 2
        assert "Best mean among the estimators" in main(page).inner_text()
    screenshot(page, "language-models")
    main(page).get_by_text("Conditional backdoor", exact=True).click()
    settle(page)
    assert "task=conditional_backdoor" in page.url
    main(page).get_by_text("Records", exact=True).click()
    settle(page)
    assert "show=records" in page.url and "This has not been computed yet" in main(page).inner_text()
    again = open_page(page.url.split("/", 3)[3])
    assert "Explain what the model does on" in main(again).inner_text()
    assert page.console_errors == [] and again.console_errors == []


def test_a_small_screen_in_the_dark(open_page, screenshot):
    page = open_page("/language_models?show=ablation", theme="dark", size=(390, 844))
    assert "Query ablation" in main(page).inner_text()
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth + 1")
    screenshot(page, "language-models-phone")


def test_the_records_are_one_click_from_the_heatmap(open_page, settle):
    page = open_page("/language_models?estimator=tracin&behavior=answer_margin&task=conditional_backdoor")
    assert "±" in page.locator('[data-testid="stVegaLiteChart"]').first.inner_html()
    page.get_by_role("link", name="Read the records that such a ranking puts first").click()
    settle(page)
    assert "show=records" in page.url and "task=conditional_backdoor" in page.url
    assert "estimator=tracin" in page.url and "behavior=answer_margin" in page.url
    assert page.get_by_text("Training records", exact=True).count() == 1 and page.console_errors == []
