"""Why one score is what it is: behavior signal, kernel and training signal of a (query, training example) pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from torch import Tensor

from app.charts import factors
from app.charts.draw import draw
from app.widgets.choices.selectors import pick
from app.widgets.examples import cards
from app.widgets.results import downloads
from app.widgets.words import chips, glossary, labels
from app.widgets.words.plain_text import plain
from engine.desk import SampledProblem
from engine.desk.analyses import Decomposition
from engine.desk.decomposed import decomposed, splitting
from engine.question import direction
from engine.question.behaviors import BEHAVIORS, reading
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

NAME = "parts"


@dataclass(frozen=True)
class Parted:
    """A score in three factors, as tables. product: −s_Bᵀ K s_ℓ; score: that of the scoring itself."""

    behavior: pd.DataFrame
    kernel: pd.DataFrame
    training: pd.DataFrame
    product: float
    score: float


def parted(sampled: SampledProblem, scores: Scores, query: int, row: int) -> Parted:
    """The factors of one score, with class names."""
    split = decomposed(sampled.problem, scores.scoring, query, row)
    names, readout = _outputs(sampled), scores.scoring.readout
    query_names = [*names, readout.title] if readout.words else names
    position = int((scores.candidates == row).argmax())
    return Parted(_bars(split.behavior_signal, query_names), _cells(split, query_names, names),
                  _bars(split.training_signal, names), split.score, float(scores.oriented[query, position]))


def _outputs(sampled: SampledProblem) -> list[str]:
    """What the columns of the model's outputs are called."""
    if sampled.problem.reads == "tokens":
        return [BEHAVIORS[name].title for name in reading("tokens")]
    if sampled.problem.reads == "targets":
        return [f"output {number}" for number in range(1, sampled.problem.classes + 1)]
    return list(sampled.dataset.class_names)


def _bars(values: Tensor, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"class": names, "value": values.cpu().numpy()})


def _cells(split: Decomposition, query_names: list[str], names: list[str]) -> pd.DataFrame:
    return pd.DataFrame([{"query_class": query_names[i], "example_class": names[j], "value": float(value)}
                         for i, row in enumerate(split.kernel.cpu()) for j, value in enumerate(row)])


def panel(sampled: SampledProblem, scored: Sequence[Scores], query: int, row: int) -> None:
    """The factors of the opened pair, under one of the specifications that split."""
    scorings = [scores.scoring for scores in scored]
    fit = splitting(sampled.problem, scorings)
    if not fit:
        chips.note("None of these specifications factorises into behavior signal, kernel and training signal here; "
                   "one step on an added occurrence of the example does.")
        return
    glossary.markdown("**Why this score?**")
    scoring = _chosen(fit)
    factors_of = parted(sampled, scored[scorings.index(scoring)], query, row)
    trained = TEXT_READ if sampled.problem.reads == "tokens" else TEXT_TRAINING
    texts = plain(direction.signal(scoring.readout)), TEXT_KERNEL, trained
    charts: tuple[tuple[str, Callable, tuple[Any, ...]], ...] = (
        ("behavior", factors.signal, (factors_of.behavior, "s_B")), ("kernel", factors.kernel, (factors_of.kernel,)),
        ("training", factors.signal, (factors_of.training, "s_ℓ")))
    for column, title, text, (name, chart, given) in zip(st.columns(3, gap="small"), TITLES, texts, charts,
                                                         strict=True):
        with column:
            glossary.markdown(f"*{title}*", help=text)
            draw(chart, *given, key=f"parts:{name}", alt=_spoken(title, given[0]))
    glossary.markdown(f"−s_Bᵀ · K · s_ℓ = **{cards.number(factors_of.product)}** {_beside(scoring, factors_of)}")
    downloads.chart_extras("decomposition", factors_of.kernel.merge(
        factors_of.behavior.rename(columns={"class": "query_class", "value": "behavior_signal"})).merge(
        factors_of.training.rename(columns={"class": "example_class", "value": "training_signal"})), [scoring],
        sampled.source,
        quantity=downloads.oriented(["−s_Bᵀ · K · s_ℓ"], [scoring]),
        charts=["parts:behavior", "parts:kernel", "parts:training"])


TITLES = ("Behavior signal s_B", "Kernel K", "Training signal s_ℓ")
TEXT_KERNEL = ("The change of each query logit per unit change of each of the example's logits, through the shared "
               "parameters and the training process.")
TEXT_TRAINING = ("The derivative of the example's own loss with respect to each of its logits: predicted probability "
                 "minus label.")
TEXT_READ = "The derivative of the example's own loss with respect to each of its outputs; its loss is minus the first."


def _chosen(fit: Sequence[Scoring]) -> Scoring:
    names = labels.short(fit)
    if len(fit) == 1:
        chips.note(f"Under: {fit[0].title}")
        return fit[0]
    return fit[pick(NAME, "Under", range(len(fit)), 0, names.__getitem__, int, width=430)]


def _beside(scoring: Scoring, split: Parted) -> str:
    """What the product is of the score above."""
    if scoring.process.kind == "local_response" or scoring.estimator == "first_order":
        return "is the score."
    return (f"is the first-order value; the exact score is **{cards.number(split.score)}**, because the response to "
            "the step is nonlinear.")


def _spoken(title: str, table: pd.DataFrame) -> str:
    """A chart in words: its largest entries."""
    top = table.reindex(table["value"].abs().sort_values(ascending=False).index).head(3)
    named = [" to ".join(map(str, row[:-1])) + f" {row[-1]:+.3g}" for row in top.itertuples(index=False, name=None)]
    return f"{title}: largest {'; '.join(named)}."
