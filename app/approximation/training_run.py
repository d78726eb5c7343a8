"""Through the training: how far its derivative reaches, and whether this run is differentiable at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.approximation import behavior, over_seeds, run_errors, sweep
from app.charts import linear_range as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import number, pick
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from engine.basics.values import short
from engine.desk import ProblemSource, commands
from engine.desk.analyses import TOLERANCE, LinearRange, LinearRangeRequest
from engine.question.processes import Replay
from engine.scoring.scoring import Scoring

TRIED = (1, 2, 3, 5, 10)
ETA, STEPS = "run_eta", "run_steps"


def panel() -> None:
    """The row of choices, and the check of the first draw's training."""
    row, below = st.container(horizontal=True, vertical_alignment="bottom", gap="medium"), st.container()
    chosen_behavior = behavior.chosen(row, below)
    tried = pick("tried", "Examples tested", TRIED, 3, str, area=row, width=130,
                 help="Ten retrainings for each, with its weight raised or lowered by 0.0001 to 1.")
    source = pickers.source()
    process = Replay() if source.problem_class.stored_checkpoints else _descent(row)
    if chosen_behavior is None:
        return
    chips.question(Scoring.of(chosen_behavior, {"kind": "infinitesimal"}, process))
    glossary.caption("The derivative of the whole training with respect to an example's weight, against actual "
                     "retraining with weight 1 + ε or 1 − ε and everything else unchanged. At ε = 1 the example "
                     "counts twice, or is left out.")
    request = LinearRangeRequest(behavior=chosen_behavior, candidates=tried, process=process)
    answer = job_panel.beside(job_panel.ready(desk().ask(request.of(source))), "This run is not differentiable: ")
    if answer is not None:
        _show(answer, source, request)
        run_errors.show(source, chosen_behavior, process)
        sweep.show(source, "kendall_tau", run_errors.SCORED, [
            Scoring.of(chosen_behavior, {"kind": "infinitesimal"}, process, "source")])
        over_seeds.show(source, chosen_behavior)


def _descent(row: DeltaGenerator) -> Replay:
    """Softmax regression has no recipe: it descends from zero as chosen here."""
    return Replay(eta=number(ETA, "Training step size η", 1.0, 0.001, 100.0, short, row, width=190, format="%g",
                             step=0.5),
                  steps=number(STEPS, "Training steps", 500, 1, 10_000, area=row, width=170))


def _show(answer: LinearRange, source: ProblemSource, request: LinearRangeRequest) -> None:
    left, right = st.columns([3, 2], gap="large")
    frame = _frame(answer.errors)
    with left:
        st.subheader("ε against linear prediction")
        if len(frame):
            middle = frame.groupby(["change", "epsilon"], as_index=False)["error"].median()
            draw(chart.errors, frame, middle, TOLERANCE, key="linear-range", alt=_spoken(answer))
        glossary.caption("Error: the change of the behavior under retraining minus the derivative's prediction, "
                         "relative to the prediction, over all queries. Each mark is a training run; lines connect "
                         f"medians.{_beside(answer.errors, frame)}")
    with right:
        st.subheader("Is this run differentiable?")
        glossary.markdown(answer.sentence)
        glossary.markdown(answer.smoothness_sentence)
        glossary.markdown(answer.precision_sentence)
        knobs = pd.DataFrame([{"setting": knob.name, "here": knob.here, "worth trying": knob.smoother or "–"}
                              for knob in answer.knobs])
        st.dataframe(knobs, hide_index=True, width="stretch", key="knobs",
                     column_config=glossary.columns(knobs.columns))
    downloads.chart_extras("linear-range", answer.errors, source=source, charts=["linear-range"],
                           command=commands.of_request(request, source))


def _frame(table: pd.DataFrame) -> pd.DataFrame:
    """What can be drawn on a logarithmic scale."""
    shown = table[np.isfinite(table["error"]) & (table["error"] > 0)]
    return shown.assign(change=np.where(shown["epsilon"] > 0, chart.MORE, chart.LESS), epsilon=shown["epsilon"].abs())


def _beside(table: pd.DataFrame, frame: pd.DataFrame) -> str:
    """What is not drawn, and why."""
    diverged, unknown = int(np.isinf(table["error"]).sum()), int(table["error"].isna().sum())
    said = [f"{count} of {len(table)} trainings {why}" for count, why in (
        (diverged, "diverged"), (unknown, "changed nothing beyond rounding")) if count]
    return f" Not shown: {' and '.join(said)}." if said else ""


def _spoken(answer: LinearRange) -> str:
    ends = ", ".join(f"{100 * error:.2g}% at {short(epsilon)}" for epsilon, error in answer.middle.items())
    return ("Median error of the derivative against retraining, for increasing changes ε of an example's weight: "
            f"{ends}. Tolerance {TOLERANCE:.0%}.")
