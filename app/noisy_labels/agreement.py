"""How the rankings of suspicious labels agree with one another, as a heatmap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import heatmap
from app.charts.draw import draw
from app.noisy_labels import data, state
from app.noisy_labels.question import why
from app.widgets import downloads, glossary
from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.source import NoisySource
from engine.runs.noisy_labels import Scored


def show(source: NoisySource, scored: Scored, pair: Pair) -> None:
    """The heatmap, whose rows choose a ranking, and its table."""
    st.subheader("Do they agree?")
    tau = rankings.agreement(scored.suspicion)
    names = [other.title for other in scored.suspicion]
    own = names.index(pair.title)
    with st.container(key="wf-heatmap-wide"):
        draw(heatmap.heatmap, cells(scored.suspicion, tau, (own, own)), "kendall_tau", 0.0, key="agreement",
             on_select=lambda: state.take_row(names, _clicked()), selection_mode=[heatmap.SELECTION],
             alt=f"Kendall tau between {len(names)} rankings of the labels.")
    glossary.caption(
        "Kendall τ between two rankings of the same labels: 1 where they order alike, 0 where they have nothing "
        "in common. Outlined: the chosen ranking; click a row to choose another.")
    table = pd.DataFrame([{"first": names[i], "second": names[j], "kendall_tau": tau[i, j]}
                          for i in range(len(names)) for j in range(i + 1, len(names))])
    downloads.chart_extras("ranking-agreement", table, command=data.command(source))


def _clicked() -> int | None:
    """The row of the cell that was clicked."""
    points = st.session_state["agreement"]["selection"].get(heatmap.SELECTION, [])
    return int(points[0]["row"]) if points else None


def cells(suspicion: Mapping[Pair, np.ndarray], tau: np.ndarray, chosen: tuple[int, int] | None) -> pd.DataFrame:
    """One row a cell of the heatmap, as `app.charts.heatmap` draws it."""
    names = [pair.title for pair in suspicion]
    return pd.DataFrame([
        {"row": i, "column": j, "first": f"{i + 1}. {names[i]}", "second": f"{j + 1}. {names[j]}", "mean": tau[i, j],
         "value": f"{tau[i, j]:.2f}".replace("-", "−"), "agreement": f"{tau[i, j]:+.3f}",
         "verdict": _verdict(*(list(suspicion)[place] for place in (i, j))), "chosen": (i, j) == chosen}
        for i in range(len(names)) for j in range(len(names))])


def _verdict(first: Pair, second: Pair) -> str:
    if first == second:
        return "the same ranking"
    derived = why(first, second)
    return "one of them estimates no influence" if derived is None else derived.headline
