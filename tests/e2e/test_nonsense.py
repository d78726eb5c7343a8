"""Nonsense in the address of a page does no harm: it is ignored, and the page says so. All pages are asked without a
browser, in `tests.pages`."""

import pytest

pytestmark = pytest.mark.e2e

NONSENSE = ("data=nonsense&seed=-1&s=%00bad&alpha=huge&train=1e99&queries=&candidates=NaN&nseeds=0"
            "&experiment=table-99&step=99&estimator=gauss&guide=nowhere&shelf=attic")


def test_nonsense_in_the_address_gives_a_message(open_page, alerts):
    page = open_page(f"/compare?{NONSENSE}")
    assert page.locator('[data-testid="stException"]').count() == 0
    assert any("which was ignored" in alert for alert in alerts(page))  # it goes when it has been read
    assert page.locator('[data-testid="stMain"] h1').count() == 1
