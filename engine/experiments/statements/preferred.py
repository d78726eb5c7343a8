"""How often ours prefers, of each method and metric, the behavior that the paper shades as its best."""

from __future__ import annotations

import numpy as np

from engine.experiments import publish
from engine.experiments.statements.rows import Missing, TableRows
from engine.experiments.statements.statement import Clause

LOWER_IS_BETTER = ("BT-FPR",)
MOST = 0.5


def same_preference(rows: TableRows, paper_table: str) -> Clause:
    """The share of (method, metric) groups of each seed in which our best behavior is one that the paper shades.

    It has to exceed one half. Groups are those of the paper's table that ours has too, with two behaviors at least.
    Raises `Missing` where there is none.
    """
    paper = publish.read_table(publish.PAPER / paper_table)
    if "model" in paper:
        paper = paper[paper["model"] == paper["model"].iloc[0]]
    shaded = paper[paper["preferred"] == "true"]
    hits, means = [], []
    for (method, metric), group in shaded.groupby(["method", "metric"], sort=False):
        ours, sign = rows.where(method=method, metric=metric), -1.0 if metric in LOWER_IS_BETTER else 1.0
        behaviors = ours.names("behavior")
        if len(behaviors) < 2:
            continue
        values = sign * np.stack([ours.seeds(behavior=behavior) for behavior in behaviors])
        wanted = np.array([behavior in set(group["behavior"]) for behavior in behaviors])
        hits.append(wanted[values.argmax(0)])
        means.append(bool(wanted[values.mean(1).argmax()]))
    if not hits:
        raise Missing("This scale lacks the methods whose preferred behaviors the paper names.")
    return Clause.of("", np.mean(hits, axis=0), MOST,
                     f"by their means {sum(means)} of {len(means)} groups do", grain=1 / len(hits))
