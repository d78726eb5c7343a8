"""“Compute them with”: scripts that compute scores of the page's own problem with another program, to run elsewhere."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import pick
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import InvalidInput
from engine.desk import Problem
from engine.desk.external import PROBLEM, SCORE_RECIPES, WEIGHTS, ScoreRecipe, problem_npz, rebuilt

NAME, OWN = "recipe", "own"


def chosen() -> ScoreRecipe | None:
    """The recipe that the address names."""
    name = choice.one(NAME, OWN, choice.from_options([OWN, *SCORE_RECIPES]))
    return None if name == OWN else SCORE_RECIPES[name]


def show(problem: Problem, model: str) -> None:
    """The list of programs, and of the chosen one the script and all that it reads. model: its name in the
    catalogue."""
    titles = {OWN: "A file that I have", **{name: f"{one.title}: {one.method}" for name, one in SCORE_RECIPES.items()}}
    pick(NAME, "Source of the scores", list(titles), OWN, titles.get,
         help="You run the chosen program yourself, where it is installed; the page provides a script and the input "
              "files for this problem.")
    recipe = chosen()
    if recipe is None:
        return
    try:
        softmax = rebuilt(problem, model)
    except InvalidInput as error:
        st.info(sentence(error), icon=":material/info:")
        return
    glossary.markdown(
        f"**1.** Unpack the files into an empty folder. **2.** There, `pip install \"{recipe.package}\"` and "
        f"`python {recipe.file}`. **3.** Upload the `{recipe.written}` that it writes below.")
    with st.container(horizontal=True):
        downloads.file_button(f"Files for {recipe.title} (zip)", partial(recipe.packed, problem, model),
                              f"{recipe.name}.zip", "application/zip", "bring:recipe", icon=":material/folder_zip:")
        downloads.file_button(PROBLEM, partial(problem_npz, problem), PROBLEM, "application/octet-stream",
                              "bring:problem")
        downloads.file_button(WEIGHTS, softmax.weights_npz, WEIGHTS, "application/octet-stream", "bring:weights")
    st.html(f"Claimed specification: {chips.html(recipe.claim)}")
    glossary.caption(f"{recipe.claim.question} {recipe.note} [{recipe.title}]({recipe.url})")
    with st.expander(f"The script, {recipe.file}", icon=":material/code:"):
        st.code(recipe.script(softmax), language="python", height=420)
