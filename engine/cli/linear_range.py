"""`linear-range`: how far the derivative of a training run reaches, against real trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Setting


def linear_range(
    data: Data,
    out: Annotated[Path, typer.Option(help="Table to write: a row for each candidate and change.", metavar="CSV")],
    behavior: Annotated[str, typer.Option(help="A behavior with a gradient; `list` shows them.")] = "query_loss",
    candidates: Annotated[int, typer.Option(help="How many of the candidates are tried; each is trained again ten "
                                                 "times.", min=1, max=1_000)] = 3,
    eta: Annotated[float, typer.Option(help="Of softmax regression, which descends from zero: η.")] = 1.0,
    steps: Annotated[int, typer.Option(help="Of softmax regression: how many steps.", min=1, max=10_000)] = 500,
    setting: Setting = Setting(),
) -> None:
    """Check `replay`: what the derivative of a training tells of real trainings with other weights."""
    from engine.analysis import linear_range as checked
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.question.processes import Replay

    if not 0 < eta <= 100:
        raise InvalidInput(f"--eta is {eta}; give a size of steps above 0 and at most 100.")
    check_output(out, ".csv", inputs=(data,))
    problem = read_problem(data, setting)
    with progress("trainings with other weights") as move:
        found = checked.linear_range(problem.with_candidates(problem.candidates[:candidates]), behavior,
                                     options=setting.options(move), process=Replay(eta=eta, steps=steps))
    atomic_write(out, csv_text(found.table))
    print(found.sentence)
    print(found.smoothness_sentence)
    print(found.precision_sentence)
