"""Names that come with a reader's data are text: no page loads what they point at, or makes a link of it."""

import csv
import random
import urllib.request
from urllib.parse import urlencode

import pytest

from engine.data import uploads

pytestmark = pytest.mark.e2e

OUTSIDE = "leak.invalid"
NAMES = [f"![a](https://{OUTSIDE}/a.png)", f"<img src=https://{OUTSIDE}/b.png>", f"[c](https://{OUTSIDE}/c)",
         f"</script><style>body{{background:url(https://{OUTSIDE}/d)}}</style>", "$x^2$ **b** :red[c] `d`"]
HELD = f'[src*="{OUTSIDE}"], [href*="{OUTSIDE}"], [style*="{OUTSIDE}"]'
STEP = "query_loss/add_occurrence/one_step;eta=0.1"
PAGES = {
    "examples": {"s": [STEP, STEP.replace("query_loss", "query_logit")], "example": "3"},
    "compare": {"s": [STEP, STEP.replace("query_loss", "query_logit")], "example": "3"},
    "map": {"example": "3"}, "scorecard": {}, "noisy_labels": {"view": "desk"}, "library": {}, "runs": {},
    "approximation_error": {},
}
FIRST = ("examples", "compare", "noisy_labels", "runs")
"""Pages that show names most."""
SWITCHES = ('[data-testid="stMain"] :is([data-testid="stCheckbox"] label:has(input:not([disabled])), '
            '[data-testid="stExpander"] summary)')


@pytest.fixture(scope="module")
def hostile(home, tmp_path_factory):
    """A table whose classes, columns, rows and file are named so, as the server holds it."""
    path = tmp_path_factory.mktemp("own") / "![f](https:,,leak.invalid,f.png).csv"
    rng = random.Random(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", f"![x](https://{OUTSIDE}/x.png)", "width", "label"])
        for row in range(60):
            writer.writerow([f"![r{row}](https://{OUTSIDE}/r.png)", rng.random(), rng.random() + row % 5,
                             NAMES[row % 5]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(home))
        return uploads.keep_path(path)


@pytest.mark.parametrize("name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow)
                                  for name in PAGES])
def test_nothing_is_loaded_and_nothing_is_linked(open_page, settle, hostile, name):
    page = open_page(f"/{name}?{urlencode({'data': hostile, **PAGES[name]}, doseq=True)}")
    switches = page.locator(SWITCHES)
    for place in range(min(switches.count(), 6)):  # what a page shows only when it is asked to
        switches.nth(place).evaluate("one => one.click()")
        settle(page)
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.locator(HELD).count() == 0, page.locator(HELD).first.evaluate("one => one.outerHTML")
    assert [address for address in page.requests if OUTSIDE in address] == []


def test_the_browser_is_told_to_load_no_picture_from_elsewhere(server):
    with urllib.request.urlopen(server) as answer:
        policy = answer.headers["content-security-policy"]
    assert "img-src 'self' data: blob:" in policy
