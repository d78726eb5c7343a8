"""`path-integral`: both sides of Eq. 7 for one training example, as a check of the re-optimising process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Fit, Setting


def path_integral(
    data: Data,
    example: Annotated[int, typer.Option(help="The training example that gains weight, counted from 0.")],
    out: Annotated[Path, typer.Option(help="Table to write: a row for each query.", metavar="CSV")],
    alpha: Annotated[float, typer.Option(help="The weight at the end of the path.")] = 0.1,
    behavior: Annotated[str, typer.Option(help="A behavior with a gradient; `list` shows them.")] = "query_loss",
    nodes: Annotated[int, typer.Option(help="Re-optimised points in between.", min=1, max=200)] = 8,
    fit: Fit = Fit(),
) -> None:
    """Check re-optimisation: the rate integrated along an upweighting path against the difference of its ends."""
    import pandas as pd

    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_output
    from engine.exact import path_integral
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS

    check_output(out, ".csv", inputs=(data,))
    if not 0 < alpha < float("inf"):
        raise InvalidInput(f"--alpha is {alpha}; give a positive weight, such as 0.1.")
    readout = BEHAVIORS[behavior]
    if not readout.differentiable:
        raise InvalidInput(f"The behavior `{behavior}` has no gradient, so it has no rate along a path; use another.")
    problem = read_problem(data, Setting(fit))
    found = path_integral.path_integral(problem, example, alpha, readout, nodes=nodes)
    table = pd.DataFrame({"query": range(len(found.integral)), "integral": found.integral.cpu(),
                          "difference": found.difference.cpu(), "first_rate": found.first.cpu(),
                          "last_rate": found.last.cpu(), direction.QUANTITY: direction.named({
                              "integral, difference": direction.change(readout),
                              "first_rate, last_rate": direction.rate(readout)})})
    atomic_write(out, csv_text(table))
    print(f"largest gap between integral and difference {found.gap:.1e}, largest gradient norm on the path "
          f"{found.gradient_norm:.1e}", file=sys.stderr)
