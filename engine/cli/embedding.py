"""`map`: coordinates of all training examples by their representations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Setting


def draw_map(
    data: Data,
    out: Annotated[Path, typer.Option(help="Coordinates to write: a row for each training example.", metavar="CSV")],
    method: Annotated[str, typer.Option(help="`pca` for principal components, `tsne` or `umap`.")] = "pca",
    dimensions: Annotated[int, typer.Option(help="2 or 3.")] = 2,
    setting: Setting = Setting(),
) -> None:
    """Draw a map of the training set by what the model's last layer reads."""
    import pandas as pd

    from engine.analysis.embedding import METHODS, embedding
    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=(data,))
    chosen = METHODS[method]
    problem = read_problem(data, setting)
    found = embedding(problem, chosen.name, dimensions)
    table = pd.DataFrame(found.coordinates, columns=list("xyz")[:dimensions])
    table.insert(0, "label", problem.y.cpu().numpy())
    table.insert(0, "training_example", range(problem.n))
    atomic_write(out, csv_text(table))
    if found.kept == found.kept:
        print(f"{chosen.title}: they keep {found.kept:.1%} of the variance")
