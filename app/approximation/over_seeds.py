"""Through the training: this run, the mean over runs, and how the runs are spread."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import over_seeds as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import pick, segments, toggle
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.desk import ProblemSource, commands
from engine.desk.analyses import STABLE, OverSeeds, SeedRunsRequest, of_runs, spread
from engine.question import direction
from engine.question.interventions import Infinitesimal, Remove
from engine.question.processes import Replay, Retrain
from engine.scoring.scoring import Scoring

NAME, MANY, QUESTION = "runs", "nruns", "runs_of"
SCORED = 20
COUNTS = (4, 8, 16)
DERIVATIVE, REMOVAL = "derivative", "removal"
TITLES = {DERIVATIVE: "derivative", REMOVAL: "leave-one-out"}


def show(source: ProblemSource, behavior: str) -> None:
    """A switch, and below it what several runs say, or the job that asks them."""
    random = source.problem_class.stored_checkpoints
    on = toggle(NAME, "This run against other runs of the same training", disabled=not random,
                help="The same question for training runs with other seeds: whether the mean ranking is stable, and "
                     "how well one run predicts the others." if random else
                     "Training softmax regression is deterministic, so all runs are the same; choose a network.")
    if not on or not random:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind = segments(QUESTION, "Question for each run", (DERIVATIVE, REMOVAL), DERIVATIVE, TITLES.__getitem__)
        seeds = pick(MANY, "Runs", COUNTS, COUNTS[0], str, int, width=110)
    scoring = (Scoring.of(behavior, Infinitesimal(), Replay(seeds=seeds)) if kind == DERIVATIVE
               else Scoring.of(behavior, Remove(), Retrain(seeds=seeds)))
    chips.question(scoring)
    request = SeedRunsRequest(scoring=scoring, candidates=SCORED, seeds=seeds)
    answer = job_panel.beside(desk().ask(request.of(source)))
    if answer is not None:
        _show(of_runs(answer.single, scoring, source.seed), answer.outcomes, source)


def _show(runs: OverSeeds, outcomes: np.ndarray, source: ProblemSource) -> None:
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.subheader("Is the mean over runs stable?")
        glossary.markdown(runs.sentence)
        steps = ", ".join(f"{row.stability:.2f} with {row.seeds}" for row in runs.table.itertuples())
        draw(chart.growth, runs.table, STABLE, key="over-seeds",
             alt=f"Kendall's τ between two halves of the runs: {steps}. Stable from {STABLE:g}.")
    with right:
        st.subheader("How well does one run predict the mean?")
        glossary.markdown(runs.run_sentence)
        frame, raw = _examples(runs, outcomes), direction.raw(runs.scores.scoring)
        st.dataframe(frame, hide_index=True, width="stretch", key="over-seeds-table",
                     column_config={name: st.column_config.NumberColumn(format="%.3g") for name in frame.columns[1:]})
        glossary.caption(f"Means over all queries, for the first {len(frame)} candidates; “this run” is seed "
                         f"{next(iter(runs.single))}. The variance is that of the behavior over "
                         f"runs.{_distance(runs.scores.scoring)} Scores: {plain(raw)}.")
    downloads.chart_extras("over-seeds", frame, command=_command(runs.scores.scoring, source, len(runs.single)),
                           quantity=raw, source=source, charts=["over-seeds"])


def _examples(over_seeds: OverSeeds, outcomes: np.ndarray) -> pd.DataFrame:
    """A row a candidate, the strongest mean first."""
    runs = np.stack([one.values.mean(0) for one in over_seeds.single.values()])  # (s, k)
    apart = spread(over_seeds, outcomes).groupby("candidate", sort=False)[["variance", "wasserstein"]].mean()
    frame = pd.DataFrame({"training example": over_seeds.scores.candidates, "this run": runs[0], "mean": runs.mean(0),
                          "± standard error": runs.std(0, ddof=1) / len(runs) ** 0.5,
                          "variance, change": apart["variance"].to_numpy(),
                          "Wasserstein": apart["wasserstein"].to_numpy()})
    frame = frame.dropna(axis=1, how="all")
    return frame.iloc[np.argsort(-frame["mean"].abs().to_numpy(), kind="stable")]


def _distance(scoring: Scoring) -> str:
    return "" if scoring.process.derivative else (" The Wasserstein distance compares the behavior's values over runs "
                                                  "with the change and over runs without it.")


def _command(scoring: Scoring, source: ProblemSource, seeds: int) -> str:
    one = Scoring.of(scoring.behavior, scoring.intervention, scoring.process.model_copy(update={"seeds": 1}))
    return commands.of_problem("over-seeds", source.model_copy(update={"n_candidates": SCORED}), "--most", seeds,
                               "--stable", 1, "--out", "over-seeds.npz", "--spread", "spread.csv", scoring=one)
