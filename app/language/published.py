"""Language studies that came with the program or were computed here: which scales there are, and their tables."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from app.widgets.results import published
from app.widgets.results.published import Published
from engine.experiments import EXPERIMENTS
from engine.models.causal.readouts import READOUTS

NO_BEHAVIOR = "no behavior"
COLUMNS = [behavior.title for behavior in READOUTS.values()]
CROSSINGS = {("triggered", "harmful"): "triggered harmful", ("triggered", "clean"): "triggered right",
             ("clean", "harmful"): "clean harmful", ("clean", "clean"): "clean right"}
LOWER_IS_BETTER = ("BT-FPR",)
WIDE = 0.25
"""Half of an interval that reaches over half of the scale from 0 to 1."""
FEW = 3
"""Fewer seeds have no interval, or with two of them one of 6.4 times their difference to either side."""


@dataclass(frozen=True)
class Scale:
    """One result of an experiment: the name of its folder or preset, the model that ran, and in words what it is."""

    name: str
    found: Published

    @property
    def model(self) -> str:
        return str(self.found.table["model"].iloc[0])

    @property
    def seeds(self) -> int:
        return int(self.found.table["n_seeds"].max())

    @property
    def title(self) -> str:
        place = ", computed on this machine" if self.found.here else ""
        return f"{self.model} · {self.name.partition('-')[0]}{place}"


def scales(experiment: str) -> list[Scale]:
    """Every result of an experiment: the paper's scale first, quick checks last, and few seeds after more."""
    def order(scale: Scale) -> tuple[bool, bool, bool, str]:
        preset = EXPERIMENTS[experiment].presets[scale.found.manifest["preset"]]
        return not scale.name.startswith("paper"), preset.is_quick_check, scale.seeds < FEW, scale.name

    return sorted((Scale(name, result) for name, result in published.scales(experiment).items()), key=order)


def unbounded(table: pd.DataFrame, metric: str) -> bool:
    """Whether no value of a metric has an interval."""
    return bool(table.loc[table["metric"] == metric, "ci95"].isna().all())


def wide(table: pd.DataFrame, metric: str) -> str:
    """A sentence on the cells whose interval says nothing, or on all where there is one seed; else empty."""
    if unbounded(table, metric):
        return "One seed has no interval."
    halves = table.loc[table["metric"] == metric, "ci95"]
    count = int((halves > WIDE).sum())
    return (f"{count} of {len(halves)} intervals reach over more than half of the scale: those cells say next to "
            "nothing.") if count else ""


def leading(rows: pd.DataFrame, metric: str) -> tuple[pd.Series, pd.DataFrame | None]:
    """The row of the best mean, and the rows whose difference from it lies within both half widths together,
    √(a² + b²); None where a row has one seed and so no interval."""
    best = rows.loc[rows["mean"].idxmin() if metric in LOWER_IS_BETTER else rows["mean"].idxmax()]
    if rows["ci95"].isna().any():
        return best, None
    others = rows.drop(index=best.name)
    apart = (others["mean"] - best["mean"]).abs()
    return best, others[apart <= (others["ci95"] ** 2 + best["ci95"] ** 2) ** 0.5]


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
        "half": part["ci95"].map("{:.3f}".format, na_action="ignore").fillna("one seed"),
        "spread": part["ci95"].map("±{:.2f}".format, na_action="ignore").fillna(""), "n_seeds": part["n_seeds"],
        "best": part["mean"] == best, "method": part["method"], "behavior": behavior})
    return found.assign(chosen=[(row, name) == chosen for row, name in zip(found["method"], found["behavior"],
                                                                           strict=True)])
