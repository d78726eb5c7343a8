"""`over-seeds`: a retraining or a replay, averaged over as many seeds as its ranking needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.program import command_line
from engine.cli.setting import Data, Setting, Spec


def over_seeds(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option(help="Scores to write, the mean over seeds; a manifest .json beside them.",
                                      metavar="NPZ")],
    stable: Annotated[float, typer.Option(help="Kendall's τ between two halves of the seeds at which the ranking "
                                               "counts as stable.", min=-1, max=1)] = 0.8,
    most: Annotated[int, typer.Option(help="Seeds to run at most.", min=4, max=1_000)] = 16,
    spread: Annotated[Path | None, typer.Option(help="Table to write: what becomes of the variance over seeds, and the "
                                                     "Wasserstein distance, a row for each query and candidate.",
                                                metavar="CSV")] = None,
    setting: Setting = Setting(),
) -> None:
    """Average a retraining or a replay over as many seeds as its ranking needs."""
    from engine.analysis import over_seeds as averaged
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output, check_scores_output, write_scores
    from engine.cli.spec_files import read_spec

    check_scores_output(out, inputs=(data, spec))
    if spread is not None:
        check_output(spread, ".csv", inputs=(data, spec))
    scoring, problem = read_spec(spec), read_problem(data, setting)
    with progress("training runs") as move:
        found = averaged.over_seeds(problem, scoring, stable, most, setting.options(move))
    if spread is not None:
        atomic_write(spread, csv_text(averaged.distribution(problem, found, setting.options())))
    also: list[str | Path] = ["--spread", spread] if spread is not None else []
    write_scores(out, found.scores, command_line("over-seeds", "--data", data, "--spec", spec, "--out", out, "--stable",
                                                 repr(stable), "--most", str(most), *also, *setting.arguments))
    for row in found.table.itertuples():
        print(f"{row.seeds:>4} seeds  τ between halves {row.stability:+.3f}  standard error {row.noise:.2f}")
    print(found.sentence)
