"""How long a reader waits in a real browser, on data that come with the program: `make bench` prints the table.

The clock of the page itself: from the act to the moment at which the app has drawn its answer and runs no more. Nothing
else may run on the machine; alongside other work the figures say little.
"""

import statistics

import pytest

from tests.e2e.conftest import IDLE, PATIENCE, browser, home, opening, server  # noqa: F401

SMALL = "data=digits&train=100&queries=20&candidates=10&seed=0&nseeds=1"
PAGES = ("", "compare", f"approximation_error?{SMALL}", "examples", "map", "scorecard", "noisy_labels",
         "language_models", "learn", "paper", "library", "runs", "guide")
ACT, LOAD = 1.0, 3.0
"""Seconds that an act and a page load take at most."""
WATCH = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  window.__ended = 0;
  new MutationObserver(() => { if (app.dataset.testScriptState === 'notRunning') window.__ended = performance.now() })
    .observe(app, {attributes: true, subtree: true, childList: true, characterData: true});
}"""
TIMES = 5
DESK = "noisy_labels?data=digits&labels=200&trusted=5&epochs=3&model=mlp"


@pytest.fixture(scope="module")
def page(opening):  # noqa: F811
    with opening() as open_:
        yield open_("/")


def opened(page, address):
    """Seconds from the request to the drawn page."""
    page.goto(f"{page.url.split('/', 3)[0]}//{page.url.split('/')[2]}/{address}")
    quiet(page)
    return page.evaluate("() => window.__idleSince") / 1000


def quiet(page):
    page.evaluate("() => { window.__idleSince = undefined }")
    page.wait_for_function(IDLE, arg=400, timeout=PATIENCE, polling=25)


def answered(page, act):
    """Seconds from an act to its drawn answer."""
    page.evaluate(WATCH)
    started = page.evaluate("() => performance.now()")
    act()
    page.wait_for_function("started => window.__ended > started", arg=started, timeout=PATIENCE)
    quiet(page)
    return (page.evaluate("() => window.__ended") - started) / 1000


def test_page_loads(page):
    found = {address.partition("?")[0] or "home": (opened(page, address), statistics.median(
        opened(page, address) for _ in range(3))) for address in PAGES}
    print("\n| page | first load, s | again |\n|---|---|---|")
    for name, (first, again) in found.items():
        print(f"| {name} | {first:.2f} | {again:.2f} |")
    assert max(again for _, again in found.values()) < LOAD


def test_acts(page):
    acts = {
        "another cell of Compare": ("compare", lambda n: page.locator(".wf-cell").nth(3 + n).click()),
        "another metric of Compare": ("compare", lambda n: page.locator(".st-key-choice-metric button").nth(
            (n + 1) % 3).click()),
        "another query of Examples": ("examples", lambda n: page.locator(f".st-key-query-{n + 2} button").click()),
        "the page behind the slider of η": (f"approximation_error?{SMALL}", lambda n: page.locator(
            ".vega-bindings input").first.press("ArrowRight")),
        "colours of the Map": ("map", lambda n: page.locator(".st-key-choice-shade button").nth((n + 1) % 3).click()),
        "a control of Learn": ("learn?step=5", lambda n: page.locator(".st-key-choice-lesson-b2 button").nth(
            (n + 1) % 4).click()),
    }
    found = {}
    for name, (address, act) in acts.items():
        opened(page, address)
        found[name] = [answered(page, lambda act=act, n=n: act(n)) for n in range(TIMES)]
    print("\n| act | median, s | longest |\n|---|---|---|")
    for name, seconds in found.items():
        print(f"| {name} | {statistics.median(seconds):.2f} | {max(seconds):.2f} |")
    assert all(statistics.median(seconds) < ACT for seconds in found.values())


def test_a_key_at_the_desk(page):
    opened(page, DESK)
    search = page.get_by_role("button", name="Find suspicious labels")
    if search.count():
        search.click()
    page.get_by_text("Methods and trusted behaviors").wait_for(timeout=PATIENCE)
    opened(page, f"{DESK}&view=desk")
    found = [answered(page, lambda: page.keyboard.press("f")) for _ in range(TIMES)]
    print(f"\na key at the desk: {statistics.median(found):.2f} s in the middle, {max(found):.2f} s at most")
    assert statistics.median(found) < ACT
