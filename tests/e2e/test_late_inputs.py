"""An input whose code reaches the browser after the page has run again shows what was chosen, and changes nothing."""

from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = pytest.mark.e2e

CHOSEN = "data=digits&train=124&queries=8&candidates=10&seed=3&nseeds=2&metric=overlap&ranks=2&pair=1-2"
LISTED = "&".join(f"s=query_loss%2Fadd_occurrence%2Fone_step%3Beta%3D{eta}" for eta in (0.3, 0.7, 0.9))
LATE = ("NumberInput", "Selectbox", "ButtonGroup")


@pytest.mark.slow
def test_inputs_that_arrive_late_keep_what_was_chosen(browser, server, settle):
    context = browser.new_context()
    page, held, free = context.new_page(), [], []
    for part in LATE:
        page.route(f"**/{part}.*.js", lambda route: route.continue_() if free else held.append(route))
    page.goto(f"{server}/compare?{CHOSEN}&{LISTED}")
    page.locator(".wf-matrix .wf-row").nth(2).wait_for()
    page.locator(".wf-matrix summary").nth(2).click()
    page.locator(".wf-matrix button[data-act=remove]").nth(2).click()
    page.wait_for_function("() => document.querySelectorAll('.wf-matrix .wf-row').length == 2")
    free.append(True)
    for route in held:
        route.continue_()
    settle(page)
    page.get_by_text("Explain this disagreement").click()
    page.wait_for_url("**explain=**")
    settle(page)
    assert len(held) == len(LATE)
    chosen = {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}
    assert {name: chosen.get(name) for name in parse_qs(CHOSEN)} == {
        name: values[0] for name, values in parse_qs(CHOSEN).items()}
    context.close()
