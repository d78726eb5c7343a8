"""The numbers that ours are compared with: the paper's tables, and its authors' stored results where these say more.

Both stand in assets/paper. The authors' files hold the same cells with more digits, cells that the paper leaves out,
and the values behind its figures. Every ± is the standard deviation (ddof 1) over `publish.PAPER_SEEDS` training seeds:
the files say so, and in Tables A-6 and A-7 it equals what the paper prints as a 95% interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.pairs import Pair
from engine.experiments.conventions import AS_PAPER
from engine.experiments.experiment import Experiment
from engine.experiments.publish import COUNTS, NUMBERS, PAPER, VALUES, read_table
from engine.models.causal.readouts import READOUTS

ORIGIN = "origin"
PRINTED, STORED = "the paper", "the authors' files"
"""Where a cell comes from: the paper prints it (with the digits of the files where they have it), or from the files."""
POOLED = " (pooled)"
"""What the files write behind a measure that is taken once over all pairs of query and candidate."""
FLAG = "pooled"
"""The column that says so of a cell; absent from tables of which nothing is known."""
RENAMED: Mapping[str, Mapping[str, str]] = {
    "behavior": {"Answer log-probability": "Answer logit"},
    "comparison": {"plain inverse vs. Newton upweight": "inverse-Hessian vs. Newton upweight"}}
"""column -> what our tables call a thing -> what the paper calls it where its authors' code computes it."""
Cell = Mapping[str, str]


def in_our_names(text: str, whose: str) -> str:
    """Words on behaviors as the paper names them, with the names that our tables have for what the authors' code
    computes, capital or not; by the paper's words they stay as they are."""
    if whose == AS_PAPER:
        return text
    for ours, papers in RENAMED["behavior"].items():
        text = text.replace(papers, ours).replace(papers.lower(), ours.lower())
    return text


@dataclass(frozen=True)
class AuthorsFile:
    """A file of the authors' results for one experiment. read: a row of it -> the columns that name the cell in our
    tables; None for a row that belongs elsewhere."""

    file: str
    read: Callable[[Cell], dict[str, str] | None]

    @property
    def cells(self) -> pd.DataFrame:
        """The cells with their mean and spread; of a pooled one and one per query by the same name, that per query."""
        rows = []
        for row in read_table(PAPER / self.file).to_dict("records"):
            named = self.read(row)
            if named is not None:
                rows.append({**named, "mean": row["mean"], "spread": row["spread"],
                             FLAG: row["metric"].endswith(POOLED)})
        frame = pd.DataFrame(rows).sort_values(FLAG, kind="stable")
        return frame.drop_duplicates([column for column in frame if column not in (*VALUES, FLAG)]).sort_index()


def _axis(comparison: str) -> str:
    if comparison.startswith("query loss vs."):
        return "B"
    return "P" if comparison.startswith("upweighting vs.") else "T"


def _mismatch(model: str) -> Callable[[Cell], dict[str, str] | None]:
    """Rows of Tables A-6 and A-7, those that the paper leaves out of A-7 too."""
    def read(row: Cell) -> dict[str, str] | None:
        left_out = row["method"] == "upweighting vs. local LOO"
        if row["model"] != model or not (row["experiment"].startswith("table-") or left_out):
            return None
        return {"axis": _axis(row["method"]), "comparison": row["method"],
                "parameter": row["x"] if row["x"].startswith("alpha") else "", "behavior": row["behavior"],
                "metric": row["metric"].removesuffix(POOLED)}
    return read


def _approximation(model: str) -> Callable[[Cell], dict[str, str] | None]:
    """Points of the curves over η and α."""
    def read(row: Cell) -> dict[str, str] | None:
        if row["model"] != model:
            return None
        return {"axis": "approximation", "comparison": row["method"], "parameter": row["x"],
                "behavior": row["behavior"], "metric": row["metric"].removesuffix(POOLED)}
    return read


def _agreement(row: Cell) -> dict[str, str] | None:
    if row["experiment"] != "figure-5-1a":
        return None
    methods, behaviors = row["method"].split(" vs. "), row["behavior"].split(" vs. ")
    a, b = (Pair(*pair).title for pair in zip(methods, behaviors, strict=True))
    return {"a": a, "b": b, "metric": row["metric"]}


def _corruption(row: Cell) -> dict[str, str] | None:
    if " vs. " in row["behavior"]:
        return None
    behavior = READOUTS[row["behavior"]].title if row["behavior"] != "none" else "none"
    return {"model": row["model"], "corruption": row["x"], "method": row["method"], "behavior": behavior,
            "metric": row["metric"]}


QUALITY = {("Exact target answer", "triggered activating"): "ASR",
           ("Correct answer", "clean activating"): "Clean acc.",
           ("Correct answer", "triggered nonactivating"): "Control acc."}


def _quality(row: Cell) -> dict[str, str] | None:
    metric = QUALITY.get((row["metric"], row["x"]))
    return {"model": row["model"], "task": "Conditional backdoor", "metric": metric} if metric else None


CONTROLLED, CURVES = "authors_controlled_full_precision.csv", "authors_figure_a2_approximation.csv"
SOFTMAX, CNN = "softmax regression", "SimpleCNN"
FILES: Mapping[str, tuple[AuthorsFile, ...]] = {
    "table-a6": (AuthorsFile(CONTROLLED, _mismatch(SOFTMAX)),),
    "figure-4": (AuthorsFile(CONTROLLED, _mismatch(SOFTMAX)),
                 AuthorsFile("authors_figure_4_1_fashionmnist.csv", _approximation(SOFTMAX)),
                 AuthorsFile(CURVES, _approximation(SOFTMAX))),
    "table-a7": (AuthorsFile(CONTROLLED, _mismatch(CNN)),),
    "figure-a1": (AuthorsFile(CONTROLLED, _mismatch(CNN)),),
    "figure-a2": (AuthorsFile(CURVES, _approximation(CNN)),),
    "figure-5-1": (AuthorsFile("authors_figure_5_1a_noisy_label_agreement.csv", _agreement),),
    "figure-5-2": (AuthorsFile("authors_figure_5_2_a3_response_corruption.csv", _corruption),),
    "table-a11": (AuthorsFile("authors_backdoor_evaluation.csv", _quality),)}
"""Experiment -> the authors' files about it; of two that have a cell, the first counts."""


def cells(experiment: Experiment) -> pd.DataFrame | None:
    """The cells that an experiment is compared with: its keys, `mean`, `spread`, `origin`; None where there are none.

    A cell of the paper has the digits of the authors' file where that has it. Their other cells follow.
    """
    known = _cells(experiment.name, experiment.paper_table)
    return None if known is None else known.copy()


@lru_cache(maxsize=64)
def _cells(name: str, paper_table: str | None) -> pd.DataFrame | None:
    printed = read_table(PAPER / paper_table) if paper_table else None
    stored = [file.cells for file in FILES.get(name, ())]
    if not stored:
        return None if printed is None else printed.assign(**{ORIGIN: PRINTED})
    authors = pd.concat(stored, ignore_index=True)
    authors = authors.drop_duplicates([column for column in authors if column not in (*VALUES, FLAG)])
    authors = authors.assign(**{ORIGIN: STORED})
    if printed is None:
        return authors
    if "comparison" in printed:
        printed = printed.assign(behavior=[_behavior(row) for row in printed.to_dict("records")])
    return _merged(printed, authors)


def in_paper_names(results: pd.DataFrame, whose: str, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """A table of ours whose rows are named as the paper names what the authors' code computes; by the paper's words it
    stays as it is.

    Where a row by our name stands beside one by the paper's, it replaces that; so does a pooled one where the cells
    `known` are pooled.
    """
    if whose == AS_PAPER:
        return results
    for column, names in RENAMED.items():
        if column in results:
            for ours, papers in names.items():
                results = _replaced(results, column, results[column] == ours, papers)
    pooled = results["metric"].str.endswith(POOLED)
    if known is not None and FLAG in known and pooled.any():
        keys = [column for column in known if column in results and column not in VALUES]
        flagged = set(known.loc[known[FLAG].eq(True), keys].itertuples(index=False, name=None))
        plain = results.assign(metric=results["metric"].str.removesuffix(POOLED))
        wanted = np.array([key in flagged for key in plain[keys].itertuples(index=False, name=None)])
        chosen = pooled & wanted
        stay = ~pooled | chosen
        results = _replaced(results[stay], "metric", chosen[stay], "")
    return results


def _replaced(results: pd.DataFrame, column: str, chosen: pd.Series, name: str) -> pd.DataFrame:
    """With `name` (empty: theirs without `POOLED`) for the chosen rows, which take the place of those so named."""
    if not chosen.any():
        return results
    moved = results[chosen].assign(**{column: name or results.loc[chosen, column].str.removesuffix(POOLED)})
    keys = [other for other in results if other not in (*NUMBERS, *COUNTS, "seed_means")]
    taken = set(moved[keys].itertuples(index=False, name=None))
    stay = np.array([key not in taken for key in results[keys].itertuples(index=False, name=None)])
    return pd.concat([results[~chosen & stay], moved]).sort_index(kind="stable").reset_index(drop=True)


def _behavior(row: Cell) -> str:
    """What is compared with the query loss on the axis B, and the query loss itself on the others."""
    return row["comparison"].partition(" vs. ")[2].replace(" ", "_") if row["axis"] == "B" else "query_loss"


def _merged(printed: pd.DataFrame, authors: pd.DataFrame) -> pd.DataFrame:
    """The cells of the paper with more digits where there are some, and then the other ones."""
    keys = [column for column in printed if column in authors and column not in VALUES]
    digits = authors[~authors.duplicated(keys)].set_index(keys)
    rows = []
    for row in printed.assign(**{ORIGIN: PRINTED}).to_dict("records"):
        key = tuple(row[column] for column in keys)
        rows.append({**row, **digits.loc[key].to_dict(), ORIGIN: PRINTED} if key in digits.index else row)
    known = set(printed[keys].itertuples(index=False, name=None))
    others = [row for row in authors.to_dict("records") if tuple(row[column] for column in keys) not in known]
    return pd.DataFrame([*rows, *others])
