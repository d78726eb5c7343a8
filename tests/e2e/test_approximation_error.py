import re

import pytest

from tests.e2e import faults

pytestmark = pytest.mark.e2e

SMALL = "train=400&queries=50&draws=1"


def value(page, label):
    metric = page.locator('[data-testid="stMetric"]', has_text=label)
    return float(metric.locator('[data-testid="stMetricValue"]').inner_text())


def complete(page):
    """Until the curves have stopped growing."""
    page.wait_for_function("() => !document.querySelector('[data-testid=\"stProgress\"]')", timeout=120_000)


SPOKEN = """text => { const chart = document.querySelector('[data-testid="stVegaLiteChart"]');
  return chart && [chart, ...chart.querySelectorAll('[aria-label]')]
    .some(part => (part.getAttribute('aria-label') || '').includes(text)); }"""
"""Whether the text alternative of the first chart says it; the chart is drawn a moment after the page is idle."""


@pytest.fixture(scope="module")
def curves(opening):
    with opening() as open_page:
        yield open_page(f"/approximation_error?{SMALL}&eta=0.9&data=digits")


def test_curves_grow_to_the_end_and_have_a_text_alternative(curves, settle, screenshot):
    page = curves
    complete(page)
    settle(page)
    screenshot(page, "approximation-error-eta")
    page.wait_for_function(SPOKEN, arg="query logit: 1.000 at 0.01, 1.000 at 1;", timeout=60_000)


def test_a_published_run_on_the_same_data_is_drawn_on_demand_and_named(curves, settle):
    named = curves.locator("svg text", has_text="published run on Handwritten digits")
    assert named.count() == 0 and "published=0" in curves.url
    curves.get_by_text("Published run, small scale").click()
    named.first.wait_for()
    settle(curves)
    assert "published=1" in curves.url and "FashionMNIST" not in curves.locator('[data-testid="stMain"]').inner_text()


SLID = """(slider, place) => new Promise(done => {
  const chart = slider.closest('[data-testid="stVegaLiteChart"]'), began = performance.now();
  const said = () => [...chart.querySelectorAll('.role-legend-label text')].map(text => text.textContent);
  const before = said().join();
  slider.value = place;
  slider.dispatchEvent(new Event('input'));
  const look = () => said().join() !== before ? done([performance.now() - began, said(), location.search])
    : performance.now() - began < 5000 ? requestAnimationFrame(look) : done([Infinity, said(), '']);
  look();
})"""
"""Milliseconds until the legend says other values, what it says then, and the address at that moment."""


def test_the_slider_answers_in_the_browser_and_the_page_follows(curves, settle):
    page = curves
    complete(page)
    slider = page.get_by_role("slider", name="step size η")
    slider.wait_for()
    before = value(page, "Kendall tau")
    milliseconds, said, address = slider.evaluate(SLID, 30)
    assert milliseconds < 500 and "eta=0.9" in address  # no run of the page has been needed
    read = float(next(text for text in said if text.startswith("query loss")).split()[-1])
    page.wait_for_function("() => !location.search.includes('eta=0.9&')", timeout=60_000)
    settle(page)
    assert value(page, "Kendall tau") == pytest.approx(read, abs=0.005) and value(page, "Kendall tau") > before
    chosen = page.get_by_role("spinbutton", name="Step size η").input_value()
    assert f"eta={chosen}" in page.url


def test_keys_move_the_slider_and_keep_hold_of_it(curves, settle):
    slider = curves.get_by_role("slider", name="step size η")
    slider.focus()
    for _ in range(3):
        curves.keyboard.press("ArrowRight")
        settle(curves)
    assert slider.input_value() == "33" and slider.evaluate("slider => slider === document.activeElement")


def test_the_box_is_the_twin_of_the_slider(curves, settle):
    box = curves.get_by_role("spinbutton", name="Step size η")
    box.fill("0.5")
    curves.keyboard.press("Enter")
    curves.wait_for_function("() => location.search.includes('eta=0.5')")
    settle(curves)
    assert curves.locator("svg .role-mark text", has_text=re.compile("^0.5$")).count() == 1
    assert curves.console_errors == []


@pytest.mark.slow
def test_alpha_curves_come_from_a_job(open_page, settle, screenshot):
    page = open_page(f"/approximation_error?{SMALL}&panel=alpha&candidates=20&alpha=0.01")
    assert 0 < value(page, "Kendall tau") <= 1
    page.wait_for_function("() => document.querySelectorAll('[data-testid=\"stDataFrame\"]').length >= 2 && "
                           "!document.querySelector('[data-testid=\"stProgress\"]')", timeout=240_000)
    settle(page)
    screenshot(page, "approximation-error-alpha")
    assert "seeds are ready" not in page.locator('[data-testid="stMain"]').inner_text()


@pytest.mark.slow  # a real training, and others with other weights
def test_the_derivative_of_a_training_is_checked_by_a_job(open_page, settle, screenshot):
    page = open_page("/approximation_error?data=digits&train=100&queries=20&panel=run&tried=1&run_steps=40",
                     size=(390, 844))
    chart = page.locator('[data-testid="stVegaLiteChart"]')
    chart.wait_for(timeout=120_000)
    settle(page)
    said = page.locator('[data-testid="stMain"]').inner_text()
    assert "Is this run differentiable?" in said and "of actual retraining" in said and "float64 throughout" in said
    spoken = chart.evaluate("chart => [chart, ...chart.querySelectorAll('[aria-label]')]"
                            ".map(part => part.getAttribute('aria-label') || '').join()")
    assert re.search(r"median: [\d.e-]+% at 0.0001", spoken)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        settle(page)
        assert not faults.serious(page)
        screenshot(page, f"approximation-error-run-{theme}")
    page.get_by_label("Training steps").fill("60")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('run_steps=60')")
    assert page.console_errors == []


@pytest.mark.core
def test_a_link_reopens_the_same_view(open_page):
    page = open_page(f"/approximation_error?{SMALL}&eta=0.42&metric=sign&behavior=hard_margin&query=7")
    for part in ("eta=0.42", "metric=sign", "behavior=hard_margin", "query=7", "draws=1"):
        assert part in page.url
    main = page.locator('[data-testid="stMain"]')
    main.get_by_text("The chosen point, η = 0.42").first.wait_for()  # once its model is trained
    assert "query 7" in main.inner_text()


@pytest.mark.slow  # all curves of the digits take a minute
def test_the_first_view_stands_still_while_its_curves_grow(open_page, settle, shifts):
    page = open_page("/approximation_error?data=digits", size=(390, 844))  # at rest while they grow, or when all are
    complete(page)
    settle(page)
    assert shifts(page)[0] <= 0.1, shifts(page)
    assert page.locator('[data-testid="stException"]').count() == 0 and page.console_errors == []
