"""How the rankings of suspicious labels agree with one another, as a heatmap whose cells open a pair."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import heatmap
from app.charts.draw import draw
from app.noisy_labels import opened_pair, state
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.values import signed
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisyData, NoisySource, Pair, Scored, rankings, scoring_of, why


def show(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """The heatmap with its table, and the pair that it has opened."""
    st.subheader("Agreement of the rankings")
    tau = rankings.agreement(scored.suspicion)
    known = list(scored.suspicion)
    names = [other.title for other in known]
    opened = state.OPENED.chosen(len(known), first_opened(known, tau, pair))
    with st.container(key="wf-heatmap-rankings"):
        draw(heatmap.heatmap, cells(scored.suspicion, tau, opened), "kendall_tau", 0.0, key=state.OPENED.chart_key,
             on_select="rerun", selection_mode=[heatmap.SELECTION],
             alt=f"Kendall tau between {len(names)} rankings of the labels.")
    glossary.caption(
        "Kendall τ between two rankings of the same labels: 1 for the same order, 0 for as many concordant as "
        "discordant pairs. Click a cell to open that pair below, or one of the diagonal to choose "
        "its ranking.")
    table = pd.DataFrame([{"first": names[i], "second": names[j], "kendall_tau": tau[i, j]}
                          for i in range(len(names)) for j in range(i + 1, len(names))])
    downloads.chart_extras("ranking-agreement", table, command=searches.command(source),
                           charts=[state.OPENED.chart_key])
    state.OPENED.boxes([f"{index + 1}. {name}" for index, name in enumerate(names)], opened, "ranking")
    opened_pair.show(source, sample, scored, known[opened[0]], known[opened[1]])


def first_opened(known: list[Pair], tau: np.ndarray, pair: Pair) -> tuple[int, int]:
    """Before a cell is clicked: the chosen ranking, and that which agrees with it least among those that ask
    something."""
    own = known.index(pair)
    others = [index for index in range(len(known)) if index != own]
    asking = [index for index in others if scoring_of(known[index])] or others
    return own, min(asking, key=lambda index: (tau[own, index], index))


def cells(suspicion: Mapping[Pair, np.ndarray], tau: np.ndarray, opened: tuple[int, int]) -> pd.DataFrame:
    """One row a cell of the heatmap, as `app.charts.heatmap` draws it; those of the opened pair are outlined."""
    pairs = list(suspicion)
    names = [pair.title for pair in pairs]
    return pd.DataFrame([
        {"row": i, "column": j, "first": f"{i + 1}. {names[i]}", "second": f"{j + 1}. {names[j]}", "mean": tau[i, j],
         "value": signed(tau[i, j], 2), "agreement": signed(tau[i, j], 3, "+"),
         "verdict": why(pairs[i], pairs[j]).headline, "chosen": (i, j) in (opened, opened[::-1])}
        for i in range(len(names)) for j in range(len(names))])
