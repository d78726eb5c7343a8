"""What a chosen model cannot be asked, before anything is trained for it."""

import pytest

from engine.desk.refusals import refusal, unfit_processes
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring

NETWORK = ProblemSource(model="mlp", recipe=Recipe(epochs=4, batch_size=50, learning_rate=0.05, checkpoints=3))
STRANGER = ProblemSource(model="mlp", weights="own-0123456789abcdef")


def scoring(process, route="exact", **settings):
    return Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": process, **settings}, route)


@pytest.mark.parametrize(("source", "asked", "sentence"), [
    (ProblemSource(), scoring("trajectory", eta=0.1), ""),
    (NETWORK, scoring("trajectory", eta=0.1, checkpoints=3), ""),
    (NETWORK, scoring("trajectory", eta=0.1, fractions="0.5,1"), ""),
    (NETWORK, scoring("trajectory", eta=0.1), "The training stores 3 checkpoints, but the trajectory visits 5"),
    (STRANGER, scoring("trajectory", "first_order", eta=0.1), "A trajectory needs checkpoints"),
    (STRANGER, scoring("one_step", eta=0.1), ""),
    (STRANGER, Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"}, "exact"),
     "It is unknown how these weights were trained"),
])
def test_what_a_model_cannot_be_asked_is_said_beforehand(source, asked, sentence):
    said = refusal(source, asked)
    assert said.startswith(sentence) and bool(said) == bool(sentence)


def test_a_kind_of_process_is_unfit_where_no_checkpoint_is_stored():
    assert list(unfit_processes(STRANGER)) == ["trajectory"]
    assert unfit_processes(NETWORK) == unfit_processes(ProblemSource()) == {}
