"""What the pages show first, computed as soon as the server is up, while nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.examples.panel import defaults
from app.home import first_look
from app.widgets.jobs.desk import desk
from engine.desk import error_curves, fitting
from engine.desk.analyses import ETAS

TRIES = 3
"""How often a task waits a moment for the model."""


def tasks() -> list[Callable[[], object]]:
    """Of Home and Compare, Examples and Approximation error, each a second or less; none where the server was started
    on other data."""
    source = first_look.source()
    if fitting.first_data() != source.dataset:
        return []
    trained = partial(desk().sampled, source)
    examples = partial(desk().scores, source, defaults(source.problem_class), fitting.OPTIMA_CANDIDATES[source.dataset])
    steps = [partial(error_curves.step_numbers, desk(), source, eta) for eta in ETAS]
    return [*[trained] * TRIES, first_look.first_look, examples, *steps]
