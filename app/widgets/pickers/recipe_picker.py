"""How a network is trained here: the fields of its recipe as inputs, which stand in the address.

Every page, command and file has them in the problem's source, as `recipe`, and the penalty as `l2`.
"""

from __future__ import annotations

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import number, pick
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk.models import NETWORK_RECIPE, Recipe

NAMES = {"epochs": "fit-epochs", "batch_size": "fit-batch", "learning_rate": "fit-rate", "momentum": "fit-momentum",
         "schedule": "fit-schedule", "checkpoints": "fit-checkpoints"}
"""Field of the recipe -> its choice."""
PENALTY, USUAL_PENALTY = "l2", 1e-4
BOUNDS = {"epochs": (1, 2_000), "batch_size": (1, 100_000), "learning_rate": (1e-6, 100.0), "momentum": (0.0, 0.999),
          "checkpoints": (0, 1_000)}
LABELS = {"epochs": "Epochs", "batch_size": "Batch size", "learning_rate": "Learning rate", "momentum": "Momentum",
          "checkpoints": "Checkpoints"}
HELP = {"epochs": "Passes over the training examples. Default: the paper's CNN.",
        "batch_size": "Examples a step. Default: the paper's CNN.",
        "learning_rate": "η of stochastic gradient descent. Default: the paper's CNN.",
        "momentum": "Of stochastic gradient descent. Default: the paper's CNN.",
        "checkpoints": "States that are stored, evenly spaced, at most one an epoch, for TracIn. Default: this "
                       "program."}
DECAY = ("λ of (λ/2)‖W‖² in the objective, as weight decay of a network. Default: the paper's. It is part of "
         "the question: removing an example is asked of this objective.")


def chosen(usual: Recipe | None) -> Recipe | None:
    """The chosen recipe; `usual` where nothing was chosen."""
    base = usual or NETWORK_RECIPE
    given = {field: choice.one(name, getattr(base, field), type(getattr(base, field))) for field, name in NAMES.items()}
    given["checkpoints"] = min(given["checkpoints"], given["epochs"])  # one an epoch at most
    changed = {field: value for field, value in given.items() if value != getattr(base, field)}
    return Recipe.parse({**base.model_dump(), **changed}) if changed else usual


def penalty() -> float:
    """λ of the objective."""
    return choice.one(PENALTY, USUAL_PENALTY, choice.within(1e-9, 1e3, float))


def show(usual: Recipe | None, trained: bool) -> None:
    """The inputs. usual: the recipe that they begin with; None for the program's own. trained: whether a network is
    trained here; else the penalty alone is asked for."""
    base = usual or NETWORK_RECIPE
    with st.expander("Training"):
        number(PENALTY, "Penalty λ", USUAL_PENALTY, 1e-9, 1e3, short, format="%g", step=1e-4, help=DECAY)
        if not trained:
            return
        for field, label in LABELS.items():
            start, whole = getattr(base, field), isinstance(getattr(base, field), int)
            number(NAMES[field], label, start, *BOUNDS[field], str if whole else short, help=HELP[field],
                   format="%d" if whole else "%g", step=None if whole else start / 2 or 0.1)
        pick(NAMES["schedule"], "Schedule", ["constant", "cosine"], base.schedule, str,
             help="Of the learning rate over the epochs. Default: the paper's CNN.")
        glossary.caption((chosen(usual) or base).model_copy(update={"weight_decay": penalty()}).sentence)
