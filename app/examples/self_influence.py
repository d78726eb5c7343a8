"""Self-influence on the Examples page: the training examples that the model knows from themselves alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import histogram
from app.charts.draw import draw
from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import pick
from app.widgets.examples import cards, drawn_examples, predictions
from app.widgets.examples.selection import EXAMPLE
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain, sentence
from engine.analysis.self_influence import SelfInfluenceRequest
from engine.basics.errors import WhichfluenceError
from engine.desk import Waiting
from engine.problems import DrawnProblem, ProblemSource
from engine.question import direction
from engine.scoring.scoring import Scoring

NAME, UNDER = "self", "selfspec"
BINS = 40


def show(drawn: DrawnProblem, source: ProblemSource, scorings: Sequence[Scoring], names: Sequence[str],
         candidates: int | None, n: int) -> None:
    """The switch, and below it the n candidates with the largest self-influence, and how all of them spread."""
    key = choice.bound(NAME, False, choice.on_off)
    on = inputs.toggle("Self-influence: examples that the model knows from themselves alone", key=key,
                       help=glossary.hint("Self-influence"))
    choice.keep(NAME, int(on))
    if not on:
        return
    place = pick(UNDER, "Under", range(1, len(scorings) + 1), 1, lambda number: names[number - 1], width=430) - 1
    scoring = scorings[place]
    chips.question(scoring)
    glossary.caption("Here every training example is its own query.")
    try:
        with st.spinner("Computing self-influence"):
            answer = desk().ask(source, SelfInfluenceRequest(scoring=scoring, candidates=candidates))
        if isinstance(answer, Waiting):
            job_panel.watch(answer)
        else:
            _shown(drawn, source, scoring, answer.values, n)
    except WhichfluenceError as error:
        st.error(sentence(error), icon=":material/error:")


def _shown(drawn: DrawnProblem, source: ProblemSource, scoring: Scoring, values: np.ndarray, n: int) -> None:
    rows = drawn.problem.candidates[:len(values)].cpu().numpy()
    table = ranking(drawn, rows, values)
    if not len(table):
        st.info("No candidate has a usable score under this specification: each did not converge, or has an error "
                "bound that exceeds its distance to half of the others. So none has a self-influence.")
        return
    top = table.head(n)
    largest = float(np.nanmax(np.abs(values)))
    with st.container(horizontal=True, gap="xsmall", key="cards-self"):
        for number, row, value in zip(range(1, n + 1), top["training example"], top["self-influence"], strict=False):
            _card(drawn, number, int(row), float(value), largest)
    threshold = float(top["self-influence"].min())
    if scoring.route.implies:
        chips.note(f"Self-influence: {direction.itself(scoring)}.")
    draw(histogram.histogram, histogram.binned(table["self-influence"], BINS), threshold, "self-influence",
         key="self:spread", alt=f"Histogram of the self-influence of {len(table):,} candidates, from "
         f"{cards.number(float(table['self-influence'].min()))} to {cards.number(float(top['self-influence'].max()))}; "
         f"the {len(top)} largest begin at {cards.number(threshold)}.")
    wrong = int((top[drawn_examples.noun(drawn)] != top["the model says"]).sum())
    lost = len(values) - len(table)
    chips.note(f"{'exact' if scoring.exact else 'approximate'} · {len(table):,} candidates · seed {source.seed} · "
               f"right of the line: the {len(top)} shown above, of which the model gets {wrong} wrong"
               + (f" · {lost} without a value: not converged, or no position within the error bound" if lost else ""))
    narrowed = source.model_copy(update={"n_candidates": len(values)})
    downloads.chart_extras("self-influence", table, [scoring], command=command(narrowed, scoring),
                           quantity=direction.itself(scoring) if scoring.route.implies else "")


def ranking(drawn: DrawnProblem, rows: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    """One row a candidate that has a value, the largest first."""
    kept = np.isfinite(values)
    said = predictions.of_training(drawn, rows[kept].tolist())
    frame = pd.DataFrame({
        "training example": rows[kept], "row in dataset": drawn.sample.train_index[rows[kept]],
        drawn_examples.noun(drawn): [drawn_examples.label(drawn, int(row)) for row in rows[kept]],
        "the model says": [one.said for one in said], predictions.measure(drawn): [one.value for one in said],
        "self-influence": values[kept]})
    return frame.sort_values("self-influence", ascending=False, kind="stable", ignore_index=True)


def _card(drawn: DrawnProblem, number: int, row: int, value: float, largest: float) -> None:
    label = drawn_examples.label(drawn, row)
    said = predictions.of_training(drawn, [row])[0]
    with st.container(key=f"pick-self-{row}", width=112 if drawn.dataset.records is None else 260, gap=None):
        st.html(cards.itself(drawn_examples.train_html(drawn, row, drawn_examples.SMALL), number, label, value, largest,
                             said.said, said.measured))
        st.button(plain(f"Open training example {row}, {drawn_examples.noun(drawn)} {label}, self-influence rank "
                        f"{number}"),
                  key=f"open:self:{row}", on_click=choice.keep, args=(EXAMPLE, row))


def command(source: ProblemSource, scoring: Scoring) -> str:
    """The commands that recompute the table."""
    file, written = downloads.problem_file(source)
    spec = shlex.quote(json.dumps(scoring.model_dump(mode="json"), ensure_ascii=False))
    return "\n".join([written, f"echo {spec} > spec.json",
                      f"python -m engine self-influence --data {file} --spec spec.json --out self-influence.csv"])
