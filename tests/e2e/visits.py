"""What is visited: every page and further views of some, each opened once at the desk, and what keys do there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

PAGES = ("home", "compare", "approximation_error", "examples", "map", "scorecard", "noisy_labels", "poison",
         "language_models", "learn", "paper", "library", "runs", "guide")
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
WORN = {"desk": "light", "phone": "dark"}  # the theme in which a page is looked at; in the other one by slow tests
THEMES = ("light", "dark")

SMALL = "data=digits&train=100&queries=20&candidates=10&seed=0&nseeds=1"
FIRST = "s=query_loss%2Fadd_occurrence%2Fone_step%3Beta%3D0.1&s=query_loss%2Fremove%2Freoptimize&pair=1-2"
FURTHER = {
    "compare-explained": f"/compare?{SMALL}&{FIRST}&explain=1",
    "learn-second": "/learn?step=2",
    "learn-play": "/learn?step=play",
    "guide-recipes": "/guide?guide=other-libraries",
    "guide-found": "/guide?find=npz",
}
OPERATED = {  # view: (control to operate, keys, what then holds in the address)
    "compare-explained": (".st-key-choice-metric button", "ArrowRight Enter", "metric=overlap"),
    "approximation_error": (".st-key-choice-panel button", "ArrowRight Enter", "panel=alpha"),
    "examples": (".st-key-query-3 button", "Enter", "query=3"),
    "map": (".st-key-choice-shade button", "ArrowRight Enter", "shade=said"),
    "scorecard": (".st-key-card-settings summary", "Enter Tab Tab Tab Tab Tab ArrowRight", "cardmodels=40"),
    "noisy_labels": (".st-key-choice-noise input", "ArrowRight", "noise=0.25"),
    "language_models": (".st-key-choice-task button[data-selected=true]", "ArrowRight Enter", "task=conditional"),
    "learn-second": (".st-key-choice-step button[data-selected=true]", "ArrowRight Enter", "step=3"),
    "paper": (".st-key-choice-measure button", "ArrowRight Enter", "measure=Top"),
    "guide": (".st-key-wf-guide button:has-text('Next')", "Enter", "guide=explaining"),
    "library": (".st-key-choice-find input", "p a p e r Enter", "find=paper"),
    "runs": (".st-key-choice-preset button", "ArrowRight Enter", "preset=paper"),
}

STILL = """() => !document.getAnimations().some(
  each => each.playState === 'running' && each.effect.getComputedTiming().endTime < Infinity)"""


def address(page: str) -> str:
    """Where a page lies as a reader first opens it."""
    return "/" if page == "home" else f"/{page}"


ADDRESSES = {**{page: address(page) for page in PAGES}, **FURTHER,
             "approximation_error": f"/approximation_error?{SMALL}",  # fewer candidates are re-optimised
             "examples": f"/examples?{SMALL}", "runs": "/runs?start=open"}
CHARTED = ("compare", "approximation_error", "paper", "learn-play", "compare-explained")
CHART = '[data-testid="stVegaLiteChart"]'


def on(*views: str) -> pytest.MarkDecorator:
    """A test of these views, through the fixture `visit`."""
    return pytest.mark.parametrize("opened_view", views, indirect=True, ids=[f"@{view}" for view in views])


@dataclass
class Visit:
    """A view that stands open in a browser of its own for several tests.

    `jumped` is how far it jumped while it opened, and its largest parts; `grounds` the colours below it, by theme.
    """

    view: str
    page: Any
    jumped: tuple[float, list]
    settle: Callable[[Any], None]
    size: str = "desk"
    theme: str = "light"
    grounds: dict[str, str] = field(default_factory=dict)

    def at(self, size: str, theme: str) -> None:
        """Look at it at another size and in another theme, without opening the page again."""
        if (size, theme) != (self.size, self.theme):
            self.page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
            self.page.emulate_media(color_scheme=theme)
            self.settle(self.page)
            self.page.wait_for_function(STILL)
        self.size, self.theme = size, theme
        self.grounds[theme] = self.page.evaluate(
            "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
