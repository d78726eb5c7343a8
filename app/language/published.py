"""Language studies that came with the program or were computed here: which scales there are, and their tables."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from app.widgets import published
from app.widgets.published import Published
from engine.applications.language import rankings
from engine.applications.language.behaviors import LANGUAGE_BEHAVIORS
from engine.applications.language.estimators import REPSIM

NO_BEHAVIOR = "no behavior"
COLUMNS = [behavior.title for behavior in LANGUAGE_BEHAVIORS.values()]
CROSSINGS = {("triggered", "harmful"): "triggered harmful", ("triggered", "clean"): "triggered right",
             ("clean", "harmful"): "clean harmful", ("clean", "clean"): "clean right"}
LOWER_IS_BETTER = ("BT-FPR",)


@dataclass(frozen=True)
class Scale:
    """One result of an experiment: the name of its folder or preset, the model that ran, and in words what it is."""

    name: str
    found: Published

    @property
    def model(self) -> str:
        return str(self.found.table["model"].iloc[0])

    @property
    def title(self) -> str:
        place = ", computed on this machine" if self.found.here else ""
        return f"{self.model} · {self.name.partition('-')[0]}{place}"


def scales(experiment: str) -> list[Scale]:
    """Every result of an experiment, the paper's scale first."""
    found = [Scale(name, result) for name, result in published.scales(experiment).items()]
    return sorted(found, key=lambda scale: (not scale.name.startswith("paper"), scale.name))


def repsim(layer: float) -> str:
    """What RepSim at a layer is called in a study's table."""
    return REPSIM.label if layer == 1.0 else rankings.at_layer(REPSIM.label, layer)


def at_layer(table: pd.DataFrame, layer: float) -> pd.DataFrame:
    """The table with RepSim at one layer, in RepSim's place; at the last one where it has no other."""
    known = list(table["method"].unique())
    wanted = repsim(layer) if repsim(layer) in known else REPSIM.label
    others = {name for name in known if name.partition(" at ")[0] == REPSIM.label} - {wanted}
    order = {**{name: place for place, name in enumerate(known)}, wanted: known.index(REPSIM.label)}
    kept = table[~table["method"].isin(others)]
    return kept.iloc[kept["method"].map(order).argsort(kind="stable")].reset_index(drop=True)


def cells(table: pd.DataFrame, metric: str, column: str, chosen: tuple[str, str] | None = None) -> pd.DataFrame:
    """Rows of one metric as `score_heatmap` draws them; `column` names what the columns are."""
    part = table[table["metric"] == metric].reset_index(drop=True)
    best = part["mean"].min() if metric in LOWER_IS_BETTER else part["mean"].max()
    behavior = part["behavior"].replace("none", NO_BEHAVIOR)
    rows = part["method"] if column == "behavior" else part["method"].where(
        part["behavior"] == "none", part["method"] + " · " + part["behavior"].str.lower())
    columns = behavior if column == "behavior" else [
        CROSSINGS[key] for key in zip(part["query_trigger"], part["target"], strict=True)]
    found = pd.DataFrame({
        "row": rows, "column": columns, "mean": part["mean"], "value": part["mean"].map("{:.2f}".format),
        "half": part["ci95"].map("{:.3f}".format, na_action="ignore").fillna("one seed"), "n_seeds": part["n_seeds"],
        "best": part["mean"] == best, "method": part["method"], "behavior": behavior})
    return found.assign(chosen=[(row, name) == chosen for row, name in zip(found["method"], found["behavior"],
                                                                           strict=True)])


def removal_rows(table: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows, seeds) of Table A-14 as `before_after` draws them: the attack rate, before and after."""
    labels = table["method"].where(table["behavior"] == "none", table["method"] + " · " + table["behavior"].str.lower())
    table = table.assign(label=labels)
    after = table[table["metric"] == metric].set_index("label")
    drop = table[table["metric"] == "Attack reduction"].set_index("label")
    rows = pd.DataFrame({"label": after.index, "before": (after["mean"] + drop["mean"]).to_numpy(),
                         "after": after["mean"].to_numpy(), "half": after["ci95"].to_numpy()})
    seeds = [{"label": label, "value": float(value)} for label, text in after["seed_means"].items()
             for value in str(text).split()]
    return rows, pd.DataFrame(seeds, columns=["label", "value"])
