"""Whatever an address says, the page stands: no error, and no link or script of a stranger's on it."""

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.widgets.frame.navigation import PAGES
from tests.fuzz.test_doors import SECONDS, WORDS
from tests.pages import support

pytestmark = pytest.mark.slow
NAMES = [name for name, *_ in PAGES]
LINK = "[l](http://x.test)"
DIGEST = "0123456789abcdef" * 4
TEXTS = [word.decode("latin-1") for word in WORDS] + [
    LINK, f"`{LINK}", f"a`{LINK}", "<script>alert(1)</script>", DIGEST, f"own:{DIGEST}", f"brought:{DIGEST}", "", " ",
    "0", "1", "-1", "1.5", "nan", "inf", "1e300", "2" * 400, "9" * 5_000, "digits", "mlp", "query_loss", "exact",
    "\u202e", "\U0001f600", "%00", "a,b", "a|b|c", "../../etc/passwd", "true", "None"]
ASKED = {"compare": [{"s": ["query_loss|infinitesimal|local_response:0|exact"], "metric": "sign", "data": "digits"}],
         "learn": [{"classroom": "1", "step": "3"}], "paper": [{"start": "open"}]}
"""More addresses to begin with, beside those that the pages write themselves."""
SHORT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
"""Half of a surrogate pair reaches no page: what decodes an address replaces it."""


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch, installed_components, tmp_path):
    """A home of its own, no worker, and every unforeseen error raised."""
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: False)
    monkeypatch.setenv("WHICHFLUENCE_DEBUG", "1")
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))


def plain(markdown):
    """What stands outside of code, where a link or a tag would be one."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown, flags=re.DOTALL)


def test_a_backtick_ends_code():
    assert plain("`a [l](u)` b") == " b" and "[l](u)" in plain("`a` [l](u)` b") and "[l](u)" in plain("a `[l](u)")


def said_by(page, **address):
    """The parameters that a page writes into its address."""
    at = support.sound(support.open(page, **address))
    return {name: [values] if isinstance(values, str) else list(values) for name, values in at.query_params.items()}


@st.composite
def addresses(draw, corpus, names):
    """What a page says of itself, with values put in, overwritten, cut and doubled."""
    found = dict(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(names))
        before = found.get(name, [""])
        piece = draw(st.sampled_from(TEXTS) | SHORT)
        old = draw(st.sampled_from(list(before) or [""]))
        at = draw(st.integers(0, len(old)))
        changed = draw(st.sampled_from([piece, old[:at] + piece, old[:at] + piece + old[at:], old[:at]]))
        found[name] = draw(st.sampled_from([[changed], [*before, changed], [changed, changed]]))
    return found


@pytest.mark.parametrize("page", NAMES)
def test_no_address_is_unforeseen(page):
    corpus = [said_by(page), *(said_by(page, **one) for one in ASKED.get(page, []))]
    names = sorted({name for one in corpus for name in one} | {
        "data", "query", "run", "ranks", "seed", "model", "eta", "record", "published", "other", "metric", "s", "file",
        "candidates", "behavior", "alpha", "start", "experiment", "preset", "whole", "shelf", "step", "queries"})
    tried = 0

    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(addresses(corpus, names))
    def once(address):
        nonlocal tried
        tried += 1
        at = support.open(page, settle=False, **address)
        support.sound(at)
        for text in map(plain, support.texts(at)):
            assert "](http://x.test)" not in text.replace("\\]", "") and "<script>alert" not in text, text

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        once()
    print(page, tried, "addresses")
