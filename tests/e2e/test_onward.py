"""Whoever goes on to the next guide or lesson begins at its beginning, though the button stood at the foot."""

import pytest

from tests.e2e.visits import on

pytestmark = pytest.mark.e2e

SCROLLED = "() => document.querySelector('[data-testid=stMain]').scrollTop"
ONWARD = {"guide": ("Next: ", "guide="), "learn": ("Next step", "step=2")}


@on(*ONWARD)
def test_the_next_one_begins_at_its_top(visit):
    page, (button, told) = visit.page, ONWARD[visit.view]
    page.set_viewport_size({"width": 1280, "height": 720})
    for shown in page.get_by_role("button", name="Show the result").all():
        shown.click()
        page.get_by_text("Take away").wait_for()
    onward = page.locator('[data-testid="stMain"] button:visible', has_text=button)
    onward.wait_for()
    visit.settle(page)  # the first lesson has trained its model
    onward.scroll_into_view_if_needed()
    assert page.evaluate(SCROLLED) > 300  # the way on stands at the foot
    before, title = page.url, onward.inner_text().partition("Next: ")[2].strip() or "2. "
    onward.click()
    page.wait_for_url(lambda url: url != before and told in url)
    page.locator('[data-testid="stMain"] :is(h2, h3)', has_text=title).first.wait_for()
    page.wait_for_function(f"() => ({SCROLLED})() === 0", timeout=30_000)
    visit.settle(page)
    assert page.evaluate(SCROLLED) == 0 and page.console_errors == []
