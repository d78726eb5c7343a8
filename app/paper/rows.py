"""The rows of the Paper page: one measure of the join of paper and ours, labelled, and the curves of Figure 4-1 (b)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from engine.desk import datasets
from engine.metrics import seed_means
from engine.metrics.agreement import METRICS
from engine.scoring.controlled import DAMPING, ITERATIONS

VALUES = ("paper", "spread", "origin", "pooled", "ours", "ci95", "n_seeds", "n_train", "n_candidates", "difference",
          "difference_ci95", "tolerance", "within")
APPROXIMATION = "approximation"
"""The axis, as tables write it, of the points of a curve."""
CURVES = {
    "first-order vs. exact one-step": "First order against the exact step, over the step size η",
    "inverse-Hessian vs. Newton upweight": "Inverse Hessian against re-optimisation, over the weight α (undamped)",
    "inverse-Hessian vs. local L-BFGS upweight":
        f"Inverse Hessian against {ITERATIONS} iterations of L-BFGS, over the weight α (damping {DAMPING:g})"}
"""What a curve compares, as the tables write it and as a title."""
OURS = {"normalization": "Leave-one-out with the mean over n: removal without re-normalising",
        "drift": "Relative to a model after as many iterations without intervention: this removes the drift of the "
                 "model"}
"""Rows that the paper does not have, by what tables write in the column `curve`."""
MARKS = {"rho": "ρ = ", "architecture": "", "width": "", "topk": "top "}
UNNAMED = (*VALUES, "metric", "dataset", "model", "table", "preferred", "best", "signal", "signal_normalization")
"""Columns that do not tell one row of a table of methods from another."""
SIZES = {"n_candidates": "{:,.0f} candidates", "n_train": "n = {:,.0f}"}
SYMBOLS = {"eta": "step size η", "alpha": "weight α"}


@dataclass(frozen=True)
class Tally:
    """How the compared cells fare: with a tolerance, outside it, without a value of ours."""

    judged: int
    outside: int
    missing: int


def measures(joined: pd.DataFrame) -> list[str]:
    """The metrics that the paper's table has, in its order."""
    return list(joined["metric"].unique())


def of_tables(joined: pd.DataFrame) -> pd.DataFrame:
    """The join without the points of curves, which have their own charts."""
    return joined[joined["axis"] != APPROXIMATION] if "axis" in joined else joined


def of_curve(joined: pd.DataFrame, kind: str, measure: str, dataset: str) -> pd.DataFrame:
    """The points of a curve over η or α, with their behavior in the name of what is compared."""
    here = joined["dataset"].isna() | (joined["dataset"] == dataset)
    points = joined[(joined["axis"] == APPROXIMATION) & (joined["metric"] == measure) & here
                    & joined["parameter"].str.startswith(kind)]
    return points.assign(comparison=points["behavior"].str.replace("_", " "), axis="").reset_index(drop=True)


def rise(points: pd.DataFrame, symbol: str, measure: str) -> str:
    """A sentence where the authors' values of a nonlinear behavior end above where they begin, which the paper's text
    has fall; else empty."""
    said = []
    for behavior, own in points[points["comparison"] != "query logit"].groupby("comparison", sort=False):
        ends = own.assign(x=own["parameter"].str.partition("=")[2].astype(float)).sort_values("x").iloc[[0, -1]]
        first, last = ends["paper"]
        if last > first:
            x = ends["x"].map("{:g}".format).tolist()
            said.append(f"{behavior}: {first:.3f} at {x[0]}, {last:.3f} at {x[1]}")
    if not said:
        return ""
    return (f"According to the text, agreement falls as the {symbol} grows; in the authors' stored values {measure} "
            f"ends higher than it begins ({'; '.join(said)}).")


def rows_of(joined: pd.DataFrame, measure: str, judge: bool) -> pd.DataFrame:
    """The rows of one measure with a `label` of two lines; without `judge` no cell is inside or outside."""
    rows = joined[joined["metric"] == measure].reset_index(drop=True)
    if not judge:
        rows = rows.assign(tolerance=float("nan"), within=pd.array([pd.NA] * len(rows), dtype="boolean"))
    pieces = [named(row) for row in rows.to_dict("records")] if "comparison" not in rows else []
    if pieces:
        rows = rows.assign(comparison=[first for first, _ in pieces], parameter=[rest for _, rest in pieces])
    several = "dataset" in rows and rows["dataset"].nunique() > 1
    second = [" · ".join(text for text in (parameter(row), datasets.title(row["dataset"]) if several else "",
                                           own_size(row, rows)) if text) for row in rows.to_dict("records")]
    labels = [f"{row}|{text}" if text else row for row, text in zip(rows["comparison"], second, strict=True)]
    return rows.assign(label=labels, second=second)


def own_size(row: Mapping[str, object], rows: pd.DataFrame, sizes: Mapping[str, str] = SIZES) -> str:
    """`12 candidates · n = 1,000`, as far as a row has fewer of them than others do."""
    return " · ".join(said.format(row[column]) for column, said in sizes.items()
                      if column in rows and row[column] < rows[column].max())


def sizes_sentence(rows: pd.DataFrame) -> str:
    """What n is, where some rows have their own."""
    if "n_train" not in rows or not rows["n_train"].nunique() > 1:
        return ""
    return f"n is the number of training examples, {rows['n_train'].max():,.0f} unless stated."


def named(row: Mapping[str, object]) -> tuple[str, str]:
    """What a row of a table without comparisons is: (`TracIn · Target logit`, `ρ = 0.2`), the method with its behavior,
    and all else that tells it apart, the width of a network after its name."""
    texts = {column: value for column, value in row.items()
             if column not in (*UNNAMED, *MARKS) and isinstance(value, str) and value not in ("", "none")}
    first = ("method",) if "corruption" in texts else ("method", "behavior") if "method" in texts else ("task",)
    marked = [f"{mark}{row[column]}" for column, mark in MARKS.items() if pd.notna(row.get(column)) and row[column]]
    rest = [*(texts[name] for name in texts if name not in first), *marked]
    return " · ".join(texts[name] for name in first if name in texts), " · ".join(rest)


def written(row: dict) -> str:
    """The parameter as the table holds it, empty where there is none."""
    value = row.get("parameter", "")
    return value if isinstance(value, str) else ""


def parameter(row: dict) -> str:
    """`α = 0.001` for `alpha=0.001`."""
    name, equals, value = written(row).partition("=")
    return f"{ {'alpha': 'α', 'eta': 'η'}.get(name, name.strip())} = {value.strip()}" if equals else name


def tally(rows: pd.DataFrame) -> Tally:
    judged = rows["within"].dropna().astype(bool)
    return Tally(len(judged), int((~judged).sum()), int(rows["ours"].isna().sum()))


def curve_title(table: pd.DataFrame, kind: str) -> str:
    """What a curve compares; empty where the table has none of this kind."""
    compared = table.loc[table["curve"] == kind, "comparison"]
    return "" if compared.empty else CURVES[compared.iloc[0]]


def curve_size(table: pd.DataFrame, kind: str) -> str:
    """`10 candidates · 1,000 training examples`, as far as a curve has fewer of them than other rows."""
    rows, sizes = table[table["curve"] == kind], {**SIZES, "n_train": "{:,.0f} training examples"}
    return "" if rows.empty else own_size(rows.iloc[0].to_dict(), table, sizes)


def curve(table: pd.DataFrame, kind: str, measure: str, dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(means, seed points) of one curve, as `app.charts.curves` draws them."""
    chosen = table[(table["curve"] == kind) & (table["metric"] == measure) & (table["dataset"] == dataset)]
    x = chosen["parameter"].str.replace(r"^.*=", "", regex=True).astype(float)
    series = chosen["behavior"].str.replace("_", " ")
    means = pd.DataFrame({"series": series, "x": x, "mean": chosen["mean"], "ci95": chosen["ci95"],
                          "low": chosen["mean"] - chosen["ci95"], "high": chosen["mean"] + chosen["ci95"],
                          "n_seeds": chosen["n_seeds"]})
    points = [{"series": name, "x": at, "seed": seed, "mean": value}
              for name, at, cell in zip(series, x, chosen["seed_means"], strict=True)
              for seed, value in enumerate(seed_means.split(cell))]
    return means.reset_index(drop=True), pd.DataFrame(points, columns=["series", "x", "seed", "mean"])


def of_ours(table: pd.DataFrame, group: str, measure: str) -> pd.DataFrame:
    """The rows of a group of `OURS`, which the paper does not have; empty where the experiment has none."""
    if "curve" not in table:
        return table.head(0)
    return table[(table["curve"] == group) & (table["metric"] == measure)]


def chance(measure: str) -> float | None:
    """What unrelated scores would give; None for a measure that is no agreement."""
    metric = next((metric for metric in METRICS.values() if metric.title == measure), None)
    return metric.chance(1000, 0.05) if metric else None
