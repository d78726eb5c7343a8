"""How a model is trained here: inputs for what its recipe declares, which stand in the address.

Every page, command and file has them in the problem's source, as `recipe`, and a network's decay as `l2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import number
from app.widgets.pickers import declared_input
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import InvalidInput
from engine.basics.settings import Declared, declared
from engine.basics.values import short
from engine.desk.models import FineTuning, Recipe, TrainingRecipe

NETWORK, TEXTS = "fit", "tune"
"""What the names of choices begin with, for a network and for a language model."""
RECIPES: dict[str, type[TrainingRecipe]] = {NETWORK: Recipe, TEXTS: FineTuning}
SHORT = {"batch_size": "batch", "learning_rate": "rate"}
PENALTY = "l2"
DECAY = ("λ of (λ/2)‖W‖² in the objective; for a network, its weight decay. Default: the paper's. It is part of the "
         "question, because the question refers to this objective. AdamW's decoupled decay is not part of any "
         "objective.")
PICTURES = ("flip", "crop")
NO_PICTURES = " Only images can be mirrored and shifted."


def _name(family: str, field: str) -> str:
    return f"{family}-{SHORT.get(field, field)}"


def _settings(family: str, base: TrainingRecipe) -> Mapping[str, Declared]:
    """What is asked for; a network's decay is the penalty."""
    return {field: setting for field, setting in declared(type(base)).items()
            if (family, field) != (NETWORK, "weight_decay")}


def _given(family: str, base: TrainingRecipe) -> dict[str, Any]:
    """The chosen values, without momentum where the optimizer has none."""
    given = {field: choice.one(_name(family, field), getattr(base, field), declared_input.parser(setting))
             for field, setting in _settings(family, base).items()}
    if family == NETWORK:
        given["checkpoints"] = min(given["checkpoints"], given["epochs"])  # one an epoch at most
        given["momentum"] = 0.0 if given["optimizer"].startswith("adam") else given["momentum"]
    return given


def is_set(family: str) -> bool:
    """Whether anything of a recipe was chosen."""
    return any(choice.is_set(_name(family, field)) for field in declared(RECIPES[family]))


Chosen = TypeVar("Chosen", bound=TrainingRecipe)


def chosen(family: str, base: Chosen) -> Chosen:
    """The chosen recipe. base: what the choices begin with, and what holds while they do not go together."""
    try:
        return type(base).parse({**base.model_dump(), **_given(family, base)})
    except InvalidInput:
        return base


def penalty(begin: float) -> float:
    """λ of the objective. begin: where none was chosen."""
    return choice.one(PENALTY, begin, choice.within(*_range(begin), float))


def show_penalty(begin: float) -> None:
    """The input for λ of the objective."""
    number(PENALTY, "Penalty λ", begin, *_range(begin), short, format="%g", step=1e-4, help=DECAY)


def _range(begin: float) -> tuple[float, float]:
    """0 only where the recipe that the program was started with states it."""
    return min(begin, 1e-9), 1e3


def show(family: str, base: TrainingRecipe, examples: int, pictures: bool = False, columns: int = 1,
         decay: float = 0.0) -> None:
    """The inputs, so many beside each other, with what they make of a training on so many examples in words. pictures:
    whether these are pictures. decay: λ of a network's objective. A reason stands there where the choices do not go
    together."""
    values: dict[str, Any] = {}
    areas = st.columns(columns) if columns > 1 else [st]
    for index, (field, setting) in enumerate(_settings(family, base).items()):
        name, begin = _name(family, field), getattr(base, field)
        idle = field in PICTURES and not pictures and choice.one(name, begin, declared_input.parser(setting)) == begin
        unread = field == "momentum" and values["optimizer"].startswith("adam")
        values[field] = declared_input.bound(name, setting, begin, idle or unread, areas[index % len(areas)],
                                             NO_PICTURES if idle else "")
    try:
        recipe = type(base).parse({**base.model_dump(), **_given(family, base)})
    except InvalidInput as error:
        st.warning(f"{sentence(error)} Until then: {base.sentence}", icon=":material/tune:")
        return
    trained = recipe.model_copy(update={"weight_decay": decay}) if family == NETWORK else recipe
    steps = recipe.epochs * recipe.per_epoch(examples)
    glossary.caption(f"{trained.sentence} On {examples:,} examples that is {steps:,} steps, and "
                     f"{recipe.epochs * examples:,} examples processed.")
