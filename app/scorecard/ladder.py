"""Why a linear datamodeling score is low: a waterfall from the score to the models themselves."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from app.charts import way
from app.charts.draw import draw
from app.scorecard.state import ScorecardChoice
from app.widgets.choices.selectors import pick
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.basics.values import signed
from engine.desk import commands
from engine.desk.analyses import LINEARITY, SCORE, Ladder, LadderRequest, Request, card, card_method, card_methods
from engine.scoring import codes
from engine.scoring.scoring import Scoring

METHOD = "laddermethod"
RUNGS = {SCORE: "the score", "seed": "training seed of the models", "question": "intervention and process",
         "dimension": "dimension of the projection", "rank": "rank of the projection", "models": "number of models",
         "size": "removal instead of a derivative", LINEARITY: "sums of single effects"}
"""As the chart says it; others, such as settings, as they are called."""


def show(chosen: ScorecardChoice) -> None:
    """Whose LDS, and the ladder once it is measured."""
    st.subheader("Why is my LDS low?", anchor="lds-ladder")
    if (model := chosen.source.problem_class).reads == "targets":
        st.info(f"There is no LDS of {model.noun}.")
        return
    glossary.caption("One factor changes at a time, from the score to the models that it is compared "
                     "with; all bars are measured on the same subsets.")
    imported = {codes.encode(scoring): scoring.route.title for scoring in chosen.scores}
    names = [name for name in card_methods(chosen.source.problem_class) if _scoring(name, chosen) is not None]
    name = pick(METHOD, "Method", [*names, *imported], "gradsim",
                lambda one: imported.get(one) or card_method(one).title)
    request = of_choice(chosen, name)
    answer = desk().known(request)
    if answer is None:
        st.button("Measure the ladder", icon=":material/play_arrow:", key="card:ladder", on_click=job_panel.act,
                  args=(desk().start, request), disabled=bool(chosen.source.no_training))
        glossary.caption(f"Takes {guesses.expected(request)}.")
        job_panel.untrained(chosen.source)
        return
    ladder = job_panel.beside(answer)
    if ladder is not None:
        _ladder(ladder, request, chosen)


def of_choice(chosen: ScorecardChoice, method: str) -> Request:
    """What determines the ladder of a method."""
    scoring = _scoring(method, chosen)
    assert scoring is not None, "it was listed"
    return LadderRequest(scoring=scoring, behavior=chosen.behavior,
                         candidates=chosen.sizes.candidates, models=chosen.sizes.models,
                         protocol=chosen.sizes.protocol, among=chosen.sizes.among).of(chosen.source)


def _scoring(method: str, chosen: ScorecardChoice) -> Scoring | None:
    """That of a method, or of scores of another program by their code; None for one that answers no question."""
    for own in chosen.scores:
        if codes.encode(own) == method:
            return own
    scoring = card_method(method).scoring(chosen.behavior)
    return scoring if scoring is not None and scoring.route.implies else None


def _ladder(ladder: Ladder, request: Request, chosen: ScorecardChoice) -> None:
    measured = ladder.rungs.dropna(subset=["bar"])
    spoken = "; ".join(f"{called(row.rung)} {signed(row.bar, 2, '+')}" for row in measured.itertuples())
    draw(way.waterfall, steps(measured), "linear datamodeling score", key="card:ladder-chart",
         alt=f"Waterfall from 0 to 1: {spoken}.")
    for row in ladder.rungs[ladder.rungs["note"] != ""].itertuples():
        glossary.caption(f"Left out: {called(row.rung)}. {plain(row.note)}")
    chips.note(f"± 95% over queries of the paired differences; sampling the subsets adds ± {ladder.subsets:.2f} to the "
               "first bar")
    downloads.chart_extras("lds-ladder", ladder.rungs, [request.computed[0]], charts=["card:ladder-chart"],
                           command=commands.of_problem("lds-ladder", chosen.source, *request.words, "--out",
                                                       "lds-ladder.csv", scoring=request.computed[0]))


def called(rung: str) -> str:
    return RUNGS.get(rung, rung.replace("_", " "))


def steps(rungs: pd.DataFrame) -> pd.DataFrame:
    """The rows of the waterfall: a bar a rung, and the models themselves from 0."""
    rows, at = [], 0.0
    for index, row in enumerate(rungs.itertuples()):
        rows.append({"title": called(row.rung), "start": at, "end": at + row.bar, "change": row.bar, "letter": "",
                     "said": card.with_half(row.bar, row.bar_ci95), "half": row.bar_ci95,
                     "color": way.WHOLE if index == 0 else way.MIXED})
        at += row.bar
    return pd.DataFrame([*rows, {"title": "the models themselves", "start": 0.0, "end": at, "change": at,
                                 "said": f"{at:.2f}", "letter": "", "half": math.nan, "color": way.WHOLE}])
