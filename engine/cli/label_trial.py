"""`label-trial` says which method finds wrong labels in the data at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.noisy_labels import SearchedData
from engine.cli.reading import say
from engine.cli.setting import Machine


def label_trial(
    out: Annotated[Path, typer.Option(help="Detection of the flipped labels by each method, and its weight in the "
                                           "consensus.", metavar="CSV")],
    searched: SearchedData = SearchedData(),
    machine: Machine = Machine(),
) -> None:
    """Flip 5% of the labels that look right, and measure how each method detects them (resumable)."""
    from engine.applications.noisy_labels.drawing import draw_cached
    from engine.applications.noisy_labels.trial import TrialRequest
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=searched.inputs)
    request = TrialRequest(source=searched.chosen())
    say(draw_cached(request.source).dataset)
    tried = request.loaded(run_shown("label trial", request.name, request.payload, machine))
    atomic_write(out, csv_text(tried.table))
    print(tried.table.to_string(index=False, float_format="{:.3f}".format))
    print(f"Recommended: {tried.best.title}: {tried.why}.")
    print(f"Written: {out}")
