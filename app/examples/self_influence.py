"""Self-influence on the Examples page: the training examples that the model knows from themselves alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import histogram
from app.charts.draw import draw
from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, toggle
from app.widgets.examples import cards, predictions, sampled_examples
from app.widgets.examples.selection import EXAMPLE
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.desk import ProblemSource, SampledProblem, commands
from engine.desk.analyses import SelfInfluenceRequest
from engine.question import direction
from engine.scoring.scoring import Scoring

NAME, UNDER = "self", "selfspec"
BINS = 40


def show(sampled: SampledProblem, source: ProblemSource, scorings: Sequence[Scoring], names: Sequence[str],
         candidates: int | None, n: int) -> None:
    """The switch, and below it the n candidates with the largest self-influence, and how all of them spread."""
    if not toggle(NAME, "Self-influence: memorised or mislabelled examples", help=glossary.hint("Self-influence")):
        return
    index = pick(UNDER, "Under", range(1, len(scorings) + 1), 1, lambda number: names[number - 1], width=430) - 1
    scoring = scorings[index]
    chips.question(scoring)
    glossary.caption("Every training example is its own query.")
    with st.spinner("Computing self-influence"):
        answer = desk().ask(SelfInfluenceRequest(scoring=scoring, candidates=candidates).of(source))
    if (answer := job_panel.beside(answer)) is not None:
        _shown(sampled, source, scoring, answer.values, n)


def _shown(sampled: SampledProblem, source: ProblemSource, scoring: Scoring, values: np.ndarray, n: int) -> None:
    rows = sampled.problem.candidates[:len(values)].cpu().numpy()
    table = ranking(sampled, rows, values)
    if not len(table):
        st.info("No candidate has a usable score under this specification: each did not converge, or its error bound "
                "exceeds the distance to half of the others. So none has a self-influence.")
        return
    top = table.head(n)
    largest = float(np.nanmax(np.abs(values)))
    with st.container(horizontal=True, gap="xsmall", key="cards-self"):
        for number, row, value in zip(range(1, n + 1), top["training example"], top["self-influence"], strict=False):
            _card(sampled, number, int(row), float(value), largest)
    threshold = float(top["self-influence"].min())
    if scoring.route.implies:
        chips.note(f"Self-influence: {direction.itself(scoring)}.")
    draw(histogram.histogram, histogram.binned(table["self-influence"], BINS), threshold, "self-influence",
         key="self:spread", alt=f"Histogram of the self-influence of {len(table):,} candidates, from "
         f"{cards.number(float(table['self-influence'].min()))} to {cards.number(float(top['self-influence'].max()))}; "
         f"the {len(top)} largest begin at {cards.number(threshold)}.")
    wrong = int((top[sampled_examples.noun(sampled)] != top["predicted"]).sum())
    lost = len(values) - len(table)
    chips.note(f"{'exact' if scoring.exact else 'approximate'} · {len(table):,} candidates · seed {source.seed} · "
               f"right of the line: the {len(top)} shown above, of which the model misclassifies {wrong}"
               + (f" · {lost} without a value: not converged, or unranked within the error bound" if lost else ""))
    narrowed = source.model_copy(update={"n_candidates": len(values)})
    downloads.chart_extras("self-influence", table, [scoring], command=commands.of_problem(
        "self-influence", narrowed, "--out", "self-influence.csv", scoring=scoring),
                           quantity=direction.itself(scoring) if scoring.route.implies else "",
                           source=source, charts=["self:spread"])


def ranking(sampled: SampledProblem, rows: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    """One row a candidate that has a value, the largest first."""
    known = np.isfinite(values)
    said = predictions.of_training(sampled, rows[known].tolist())
    frame = pd.DataFrame({
        **sampled_examples.identified(sampled, rows[known]),
        sampled_examples.noun(sampled): [sampled_examples.label(sampled, int(row)) for row in rows[known]],
        "predicted": [one.said for one in said], **predictions.columns(said),
        "self-influence": values[known]})
    return frame.sort_values("self-influence", ascending=False, kind="stable", ignore_index=True)


def _card(sampled: SampledProblem, number: int, row: int, value: float, largest: float) -> None:
    label = sampled_examples.label(sampled, row)
    said = predictions.of_training(sampled, [row])[0]
    with st.container(key=f"pick-self-{row}", width=112 if sampled.dataset.records is None else 260, gap=None):
        st.html(cards.itself(sampled_examples.train_html(sampled, row, sampled_examples.SMALL), number, label, value,
                             largest,
                             said.said, said.measured))
        st.button(plain(f"Open training example {row}, {sampled_examples.noun(sampled)} {label}, self-influence rank "
                        f"{number}"),
                  key=f"open:self:{row}", on_click=choice.keep, args=(EXAMPLE, row))
