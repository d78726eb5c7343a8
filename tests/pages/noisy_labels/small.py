"""A small search, its place in the address, and what the tests of Noisy labels read."""

import numpy as np

from app.widgets.jobs.desk import desk
from engine.applications.noisy_labels.source import SMALL_RECIPE, NoisySource
from engine.desk import noisy_labels as searches

SMALL = {"data": "digits", "labels": 200, "trusted": 5, "epochs": 3, "judge": "mlp"}
HEATMAP = "labels:heatmap:0"


def chosen(**changes) -> NoisySource:
    recipe = SMALL_RECIPE.model_copy(update={"epochs": 3, "checkpoints": 3})
    return NoisySource(**{"dataset": "digits", "n_train": 200, "n_test": 500, "trusted": 5, "model": "mlp",
                          "recipe": recipe, **changes})


def address(at, name):
    value = at.query_params[name]
    return value if isinstance(value, list) else [value]


def button(at, key):
    return next(one for one in at.button if one.key == key)


def noisy_flagged(drawn, home):
    scored = searches.scored(desk(), drawn.source)
    return np.argsort(-next(v for pair, v in scored.suspicion.items() if pair.title == "TracIn · target logit"))
