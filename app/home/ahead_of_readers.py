"""What the pages show first, computed as soon as the server is up, while nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.examples.panel import defaults
from app.home import first_look
from app.widgets.jobs.desk import desk
from engine.desk import fitting

TRIES = 3
"""How often a task waits a moment for the model."""


def tasks() -> list[Callable[[], object]]:
    """The model of all pages, and the scores of Home, Compare and Examples; none where the server was started on other
    data."""
    source = first_look.source()
    if fitting.first_data() != source.dataset:
        return []
    trained = partial(desk().sampled, source)
    examples = partial(desk().scores, source, defaults(source.problem_class), fitting.OPTIMA_CANDIDATES[source.dataset])
    return [*[trained] * TRIES, first_look.first_look, examples]
