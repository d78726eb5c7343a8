"""Through the training: what approximations of its derivative get wrong, and when an example matters in it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.charts import run_errors as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import pick, toggle
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.basics.values import figures
from engine.desk import ProblemSource, commands
from engine.desk.analyses import RunErrors, RunErrorsRequest, spell_error
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Replay
from engine.scoring.scoring import ESTIMATORS

NAME, EXAMPLE = "approximated", "moment"
SCORED = 50


def show(source: ProblemSource, behavior: str, process: Replay) -> None:
    """A switch, and below it the errors, or the job that computes them."""
    if not toggle(NAME, "Approximations of this run, and influence by training time",
                  help="The exact derivative of the run compared with SOURCE and data value embeddings, with SOURCE's "
                       "error by cause. It runs as a job."):
        return
    request = RunErrorsRequest(behavior=behavior, candidates=SCORED, process=process)
    errors = job_panel.beside(desk().ask(request.of(source)))
    if errors is not None:
        _errors(errors, source, request)
        _moments(errors, source, request)


def _errors(errors: RunErrors, source: ProblemSource, request: RunErrorsRequest) -> None:
    st.subheader("Errors of the approximations of this run")
    glossary.markdown(errors.sentence)
    same = errors.methods[[not ESTIMATORS[name].departures for name in errors.methods["estimator"]]]
    frame = pd.concat([
        errors.causes.assign(label=errors.causes["title"], what="cause of SOURCE's error"),
        same.assign(label=same["title"], what="estimator as a whole")], ignore_index=True)
    spoken = ", ".join(f"{row.label} {spell_error(row.error)}" for row in frame.itertuples())
    draw(chart.causes, frame, key="run-errors", alt=f"Errors against the exact replay: {spoken}.")
    glossary.caption(f"The exact replay has error 0. Norms are over all queries and at most the first {SCORED} "
                     "candidates. Causes are added one at a time, and their errors need not sum. TracIn over all "
                     "steps and in-run data Shapley ignore how a step affects later steps, which is a different "
                     "question; *Compare* shows both.")
    downloads.chart_extras("run-errors", frame[["what", "label", "error", "so_far", "tau"]],
                           source=source, command=commands.of_request(request, source), charts=["run-errors"])


def _moments(errors: RunErrors, source: ProblemSource, request: RunErrorsRequest) -> None:
    st.subheader("Influence of one example by training time")
    candidates = list(dict.fromkeys(errors.parts["candidate"].tolist()))
    chosen = pick(EXAMPLE, "Training example", candidates, candidates[0], str, int, width=190,
                  help="One of the scored examples.")
    own = errors.parts[errors.parts["candidate"] == chosen]
    frame = own.assign(total=own["rate"].cumsum(), steps=[
        f"{first:,}" if first == last else f"{first:,} to {last:,}"
        for first, last in zip(own["first"], own["last"], strict=True)])
    unit = "epoch" if source.problem_class.stored_checkpoints else "stretch"
    strongest = own.loc[own["rate"].abs().idxmax()]
    read = BEHAVIORS[errors.behavior]
    rate = direction.mean_rate(read)
    draw(chart.stretches, frame, unit, rate, key="moments",
         alt=f"The {rate} of training example {chosen} in each {unit} alone, from "
             f"{figures(own['rate'].iloc[0])} in the first to {figures(own['rate'].iloc[-1])} in the last, "
             f"{figures(own['rate'].sum())} in all; the largest in {unit} {int(strongest['part'])}.")
    glossary.caption(f"The exact derivative with respect to the example's weight in one {unit} alone, carried through "
                     "all later steps. The values sum to the derivative with respect to its weight in the whole "
                     "training. "
                     + plain(direction.moments(read)))
    downloads.chart_extras("moments", frame[["candidate", "part", "first", "last", "rate", "total"]],
                           command=commands.of_request(request, source, "--parts", "moments.csv"), quantity=rate,
                           source=source, charts=["moments"])
