"""`near-duplicates` lists examples that are in the data twice, or nearly, and those on both sides of a split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.noisy_labels import SearchedData
from engine.cli.setting import Machine


def near_duplicates(
    out: Annotated[Path, typer.Option(help="The pairs to write.", metavar="CSV")],
    threshold: Annotated[float, typer.Option(help="Threshold, as a fraction of the median nearest-neighbour "
                                                "distance.")] = 0.13,
    searched: SearchedData = SearchedData(),
    machine: Machine = Machine(),
) -> None:
    """Find duplicates and near-duplicates in the data, and those on both sides of a split (resumable)."""
    from engine.applications.noisy_labels.drawing import draw_cached
    from engine.applications.noisy_labels.duplicates import DuplicatesRequest
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=searched.inputs)
    request = DuplicatesRequest(source=searched.chosen(), threshold=threshold)
    duplicates = request.loaded(run_shown("near-duplicates", request.name, request.payload, machine))
    atomic_write(out, csv_text(duplicates.named(draw_cached(request.source))))
    print(duplicates.sentence)
    print(f"Written: {out}")
