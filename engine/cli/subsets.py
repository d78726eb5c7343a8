"""`subsets` and `data-values`: models on drawn subsets as a file, and the values of candidates read off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.basics.values import figures
from engine.cli.program import command_line
from engine.cli.sampling import SubsetOptions
from engine.cli.setting import Data, ProblemOptions

if TYPE_CHECKING:
    from engine.analysis.datamodels import Retrained
    from engine.analysis.subset_bank import Draw
    from engine.problems import Problem

Bank = Annotated[Path, typer.Option(help="Models on subsets, written by `subsets` for this problem.", metavar="NPZ")]


def subsets(
    data: Data,
    out: Annotated[Path, typer.Option(help="The bank to write, with its manifest beside it.", metavar="NPZ")],
    sampling: SubsetOptions = SubsetOptions(),
    kind: Annotated[str, typer.Option(help="share (subsets of one size), halves (each candidate with probability ½, "
                                           "for Banzhaf values) or shapley.")] = "share",
    retrain: Annotated[int, typer.Option(help="Check: retrain this many of the models and print the largest "
                                              "difference of their logits.", min=0)] = 0,
    later: Annotated[int, typer.Option(help="How many training seeds after the problem's own; under the protocol seeds "
                                            "the number of the set of seeds.", min=0, max=1_000)] = 0,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Train models on random subsets, or reuse stored ones, and write them as a bank."""
    from engine.analysis.subset_bank import bank
    from engine.cli.bank_files import write_bank
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_scores_output
    from engine.store.results import Store

    check_scores_output(out, inputs=(data, *setting.reading.inputs))
    draw = sampling.draw(kind=kind, later=later)
    problem = read_problem(data, setting)
    with progress(f"{draw.count} models on subsets") as move:
        models = bank(problem, draw, Store(), setting.options(move))
    print(f"Each model is trained on {draw.description(problem.n, len(problem.candidates))} "
          f"(protocol `{draw.protocol}`).")
    if retrain:
        _check_same(problem, draw, models, range(0, draw.count, -(-draw.count // retrain)), setting)
    command = command_line("subsets", {"data": data, "out": out, **asdict(sampling), "kind": kind, "later": later},
                           setting.arguments)
    write_bank(out, models, draw, problem, command)


def _check_same(problem: Problem, draw: Draw, models: Retrained, rows: Sequence[int], setting: ProblemOptions) -> None:
    """Train some of the models once more, and print how far their logits are from those that were kept."""
    from engine.analysis.subset_bank import retrained_rows

    apart = (retrained_rows(problem, draw, rows, setting.options()) - models.logits[list(rows)]).abs().max().item()
    print(f"{len(rows)} of {len(models.members)} models trained again: logits differ by {figures(apart, 2)} at most.")


def data_values(
    data: Data,
    bank: Bank,
    out: Annotated[Path, typer.Option(help="Values to write: a row for each query and candidate.", metavar="CSV")],
    behavior: Annotated[str, typer.Option(help="Behavior whose value is attributed; see `list`.")] = "query_loss",
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Banzhaf or Shapley values of the candidates for a behavior, from models on subsets."""
    import numpy as np
    import pandas as pd

    from engine.analysis.data_values import values_of
    from engine.cli.bank_files import read_bank
    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_output
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS

    check_output(out, ".csv", inputs=(data, bank, *setting.reading.inputs))
    problem = read_problem(data, setting)
    problem.check_behavior(BEHAVIORS[behavior])
    draw, models = read_bank(bank, problem, [BEHAVIORS[behavior]])
    name, shared_out = values_of(draw.kind, models.outcomes(behavior), models.members)
    queries, k = shared_out.values.shape
    table = pd.DataFrame({
        "query": np.repeat(np.arange(queries), k), "candidate": np.tile(models.candidates, queries), "value": name,
        "behavior": behavior, "mean": shared_out.values.ravel(), "standard_error": shared_out.error.ravel(),
        "subsets": len(models.members), direction.QUANTITY: direction.contribution(BEHAVIORS[behavior])})
    atomic_write(out, csv_text(table))
