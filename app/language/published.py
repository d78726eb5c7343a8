"""Language studies that came with the program or were computed here: which scales there are, and their tables."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from engine.desk import published
from engine.desk.published import EXPERIMENTS, ONE_SEED, Published

NO_BEHAVIOR = "no behavior"
CROSSINGS = {("triggered", "harmful"): "triggered harmful", ("triggered", "clean"): "triggered right",
             ("clean", "harmful"): "clean harmful", ("clean", "clean"): "clean right"}
LOWER_IS_BETTER = ("BT-FPR",)
WIDE = 0.25
"""Half of an interval that reaches over half of the scale from 0 to 1."""
FEW = 3
"""Fewer seeds have no interval, or with two of them one of 6.4 times their difference to either side."""


@dataclass(frozen=True)
class PublishedScale:
    """One result of an experiment: the name of its folder or preset, the model that ran, and in words what it is."""

    name: str
    result: Published

    @property
    def model(self) -> str:
        return str(self.result.table["model"].iloc[0])

    @property
    def seeds(self) -> int:
        return int(self.result.table["n_seeds"].max())

    @property
    def title(self) -> str:
        origin = ", computed on this machine" if self.result.here else ""
        return f"{self.model} · {self.name.partition('-')[0]}{origin}"


def scales(experiment: str) -> list[PublishedScale]:
    """Every result of an experiment: the paper's scale first, quick checks last, and few seeds after more."""
    def order(scale: PublishedScale) -> tuple[bool, bool, bool, str]:
        preset = EXPERIMENTS[experiment].presets[scale.result.manifest["preset"]]
        return not scale.name.startswith("paper"), preset.is_quick_check, scale.seeds < FEW, scale.name

    return sorted((PublishedScale(name, result) for name, result in published.scales(experiment).items()), key=order)


def unbounded(table: pd.DataFrame, metric: str) -> bool:
    """Whether no value of a metric has an interval."""
    return bool(table.loc[table["metric"] == metric, "ci95"].isna().all())


def wide(table: pd.DataFrame, metric: str) -> str:
    """A sentence on the cells whose interval says nothing, or on all where there is one seed; else empty."""
    if unbounded(table, metric):
        return ONE_SEED
    halves = table.loc[table["metric"] == metric, "ci95"]
    count = int((halves > WIDE).sum())
    return (f"{count} of {len(halves)} intervals reach over more than half of the scale: those cells are "
            "inconclusive.") if count else ""


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
    selected = table[table["metric"] == metric].reset_index(drop=True)
    best = selected["mean"].min() if metric in LOWER_IS_BETTER else selected["mean"].max()
    behavior = selected["behavior"].replace("none", NO_BEHAVIOR)
    rows = selected["method"] if column == "behavior" else selected["method"].where(
        selected["behavior"] == "none", selected["method"] + " · " + selected["behavior"].str.lower())
    columns = behavior if column == "behavior" else [
        CROSSINGS[key] for key in zip(selected["query_trigger"], selected["target"], strict=True)]
    table_cells = pd.DataFrame({
        "row": rows, "column": columns, "mean": selected["mean"], "value": selected["mean"].map("{:.2f}".format),
        "half": selected["ci95"].map("{:.3f}".format, na_action="ignore").fillna("one seed"),
        "spread": selected["ci95"].map("±{:.2f}".format, na_action="ignore").fillna(""), "n_seeds": selected["n_seeds"],
        "best": selected["mean"] == best, "method": selected["method"], "behavior": behavior})
    pairs = zip(table_cells["method"], table_cells["behavior"], strict=True)
    return table_cells.assign(chosen=[pair == chosen for pair in pairs])
