"""`run-errors`: approximations of a training's derivative against it, by cause, and when examples matter in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Setting


def run_errors(
    data: Data,
    out: Annotated[Path, typer.Option(help="Table to write: a row for each cause of SOURCE's error and each estimator.",
                                      metavar="CSV")],
    parts: Annotated[Path | None, typer.Option(help="Table to write besides: when each candidate matters, a row for "
                                                    "each epoch, or stretch of a descent.", metavar="CSV")] = None,
    behavior: Annotated[str, typer.Option(help="A behavior with a gradient; `list` shows them.")] = "query_loss",
    eta: Annotated[float, typer.Option(help="Of softmax regression, which descends from zero: η.")] = 1.0,
    steps: Annotated[int, typer.Option(help="Of softmax regression: how many steps.", min=1, max=10_000)] = 500,
    setting: Setting = Setting(),
) -> None:
    """Compare approximations of `replay` with it, and split SOURCE's error by cause."""
    import pandas as pd

    from engine.analysis import run_errors as compared
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS
    from engine.question.processes import Replay

    if not 0 < eta <= 100:
        raise InvalidInput(f"--eta is {eta}; give a size of steps above 0 and at most 100.")
    for path in [out, *([parts] if parts else [])]:
        check_output(path, ".csv", inputs=(data,))
    problem = read_problem(data, setting)
    with progress("the training, differentiated") as move:
        found = compared.run_errors(problem, behavior, Replay(eta=eta, steps=steps), setting.options(move))
    causes = found.causes.rename(columns={"cause": "name"}).assign(what="cause")
    methods = found.methods.rename(columns={"estimator": "name"}).assign(
        what="estimator", so_far=found.methods["error"])
    atomic_write(out, csv_text(pd.concat([causes, methods])[["what", "name", "error", "so_far", "tau"]]))
    if parts:
        atomic_write(parts, csv_text(found.parts.assign(
            **{direction.QUANTITY: direction.mean_rate(BEHAVIORS[behavior])})))
    print(found.sentence.replace("*", ""))
