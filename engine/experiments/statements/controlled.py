"""What the paper concludes from the controlled comparisons: Figures 4-1, A-1 and A-2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine import data
from engine.experiments.agreements import words
from engine.experiments.statements.rows import TableRows
from engine.experiments.statements.statement import Clause, Statement
from engine.scoring.controlled import ETA

CURVED = ("query_loss", "hard_margin")
"""Behaviors that are no linear function of the step, so that a first-order term errs."""


def _each_dataset(experiments: Mapping[str, TableRows]) -> Iterator[tuple[str, TableRows]]:
    """Kendall τ on each dataset, with ` on Digits` to say which; empty where there is but one."""
    rows = TableRows(sum((own.where(metric="Kendall tau").rows for own in experiments.values()), ()))
    several = len(rows.names("dataset")) > 1
    for dataset, own in rows.split("dataset"):
        yield f" on {data.title(dataset)}" if several else "", own


def mismatch_exceeds_error(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Of each axis: τ of approximations of one specification − τ of specifications that differ there.

    B and T beside the first-order term at their step η, P beside the inverse Hessian over the same α.
    """
    clauses = []
    for where, rows in _each_dataset(experiments):
        mismatch, curves = rows.where(curve=""), rows.where(axis="approximation")
        steps = curves.where(curve="eta", parameter=f"eta={ETA!r}", behavior="query_loss").mean()
        responses = [curves.where(curve="alpha", parameter=weight, behavior="query_loss").mean()
                     for weight in mismatch.where(axis="P").names("parameter")]
        for axis, close in (("B", steps), ("P", np.mean(responses, axis=0)), ("T", steps)):
            clauses.append(Clause.of(f"{axis}{where}", close - mismatch.where(axis=axis).mean()))
    return clauses


def error_grows(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Of each approximation and curved behavior: τ at the nearest point − τ at the farthest."""
    clauses = []
    for where, rows in _each_dataset(experiments):
        for curve, sign in (("eta", "η"), ("alpha", "α")):
            for behavior in CURVED:
                line = rows.where(axis="approximation", curve=curve, behavior=behavior)
                clauses.append(Clause.of(f"{words(behavior)} over {sign}{where}", _fall(line)))
    return clauses


def _fall(line: TableRows) -> np.ndarray:
    """(seeds,): the value at the smallest parameter − at the largest. Raises `Missing` for a curve without points."""
    order = sorted(line.names("parameter"), key=lambda text: float(text.partition("=")[2])) or [""]
    return line.where(parameter=order[0]).mean() - line.where(parameter=order[-1]).mean()


_MISMATCH = ("Rankings that differ in B, in P or in T disagree more on average than an approximation and the exact "
             "answer of one specification do ({model}).")
_GROWS = ("An approximation agrees less with the exact answer at the largest step or weight than at the smallest "
          "({model}).")
_SCALES = {"softmax": ("softmax regression", ("figure-4",)), "cnn": ("a CNN", ("figure-a1", "figure-a2"))}

STATEMENTS = tuple(
    Statement(f"{name}-{short}", sentence.format(model=model), needs, figure, clauses)
    for short, (model, needs) in _SCALES.items()
    for name, sentence, figure, clauses in (
        ("mismatch-exceeds-error", _MISMATCH, "Kendall τ, approximations − different specifications",
         mismatch_exceeds_error),
        ("error-grows", _GROWS, "Kendall τ, nearest − farthest point", error_grows)))
