"""Published tables of the language studies, read: RepSim at one of its layers, and a rate before and after removal."""

from __future__ import annotations

import pandas as pd

from engine.applications.language import rankings
from engine.applications.language.methods import REPSIM
from engine.metrics import seed_means


def repsim(layer: float) -> str:
    """What RepSim at a layer is called in a study's table."""
    return REPSIM.label if layer == 1.0 else rankings.at_layer(REPSIM.label, layer)


def at_layer(table: pd.DataFrame, layer: float) -> pd.DataFrame:
    """The table with RepSim at one layer, in RepSim's place; at the last one where it has no other."""
    known = list(table["method"].unique())
    wanted = repsim(layer) if repsim(layer) in known else REPSIM.label
    others = {name for name in known if name.partition(" at ")[0] == REPSIM.label} - {wanted}
    order = {**{name: index for index, name in enumerate(known)}, wanted: known.index(REPSIM.label)}
    rows = table[~table["method"].isin(others)]
    return rows.iloc[rows["method"].map(order).argsort(kind="stable")].reset_index(drop=True)


def removal_rows(table: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table A-14: (a row a ranking: label, before, after, half; a row a seed: label, value) of the attack rate."""
    labels = table["method"].where(table["behavior"] == "none", table["method"] + " · " + table["behavior"].str.lower())
    table = table.assign(label=labels)
    after = table[table["metric"] == metric].set_index("label")
    drop = table[table["metric"] == "Attack reduction"].set_index("label")
    rows = pd.DataFrame({"label": after.index, "before": (after["mean"] + drop["mean"]).to_numpy(),
                         "after": after["mean"].to_numpy(), "half": after["ci95"].to_numpy()})
    seeds = [{"label": label, "value": value} for label, cell in after["seed_means"].items()
             for value in seed_means.split(cell)]
    return rows, pd.DataFrame(seeds, columns=["label", "value"])
