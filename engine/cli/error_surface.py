"""`error-surface`: agreement of an approximation with the truth over two parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Setting


def error_surface(
    data: Data,
    out: Annotated[Path, typer.Option(help="Table to write: a row for each point and metric.", metavar="CSV")],
    surface: Annotated[str, typer.Option(help="`steps`: step size and number of steps; `damping`: weight and "
                                              "damping.")] = "steps",
    behavior: Annotated[str, typer.Option(help="A behavior with a gradient; `list` shows them.")] = "query_loss",
    setting: Setting = Setting(),
) -> None:
    """Compare first-order steps, or the damped inverse Hessian, with the exact answer over two parameters."""
    import numpy as np

    from engine.analysis.error_surfaces import SURFACES, summarized, surface_row
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=(data,))
    asked = SURFACES[surface]
    problem = read_problem(data, setting)
    with progress(f"{len(asked.rows)} rows of the surface") as move:
        options = setting.options(move)
        rows = [surface_row(problem, surface, behavior, value, options.share(place, len(asked.rows)))
                for place, value in enumerate(asked.rows)]
    found = {metric: np.stack([row[metric] for row in rows]) for metric in rows[0]}
    atomic_write(out, csv_text(summarized(surface, found)))
