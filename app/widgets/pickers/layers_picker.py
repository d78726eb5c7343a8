"""Which of a model's parameters count, as a kind of selection or by the names of layers."""

from __future__ import annotations

from collections.abc import Callable

from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, text
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary
from engine.desk import ProblemSource
from engine.desk.models import ALL, LAST_BLOCK, LAST_LAYER, layers

KIND, NAMES, NAMED = "parameters", "layers", "named"
TITLES = {ALL: "all", LAST_BLOCK: "the last block and the head", LAST_LAYER: "the last layer", NAMED: "layers by name"}
HELP = ("Names of layers or parameters, separated by commas; `*` matches any letters. A layer selects all its "
        "parameters.")


def chosen(texts: bool, usual: str = ALL) -> str:
    """The selection, as a source has it; `usual` where none was chosen. texts: whether the model is a language
    model."""
    kind = choice.one(KIND, usual, str)
    if kind == NAMED:
        return layers.spelled(names) if (names := named()) else ALL
    return ALL if texts else kind


def named() -> list[str]:
    """The patterns that the reader wrote."""
    return layers.listed(choice.one(NAMES, "", str))


def show(texts: bool, source: Callable[[], ProblemSource], usual: str = ALL) -> None:
    """The choice, which begins with `usual`, and how many parameters a network has of it."""
    kinds = [ALL, NAMED] if texts else list(TITLES)
    if pick(KIND, "Differentiated parameters", kinds, usual, TITLES.get, help=(
            "Steps, gradients and Hessians are over these; the others stay fixed.")) != NAMED:
        return
    text(NAMES, "Layers", "", placeholder="model.layers.2.*, *.q_proj" if texts else "0, 2.bias", help=HELP)
    if not named():
        glossary.caption("No layer is chosen yet, so all parameters are differentiated.")
    elif not texts:
        with guarded("The choice of layers"):
            glossary.caption(f"{source().parameters():,} parameters are differentiated; all others stay fixed. This "
                             "changes the question.")
