"""`at-scale`: what attribution in a language model would cost, before anybody pays for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write


def at_scale(
    records: Annotated[float, typer.Option(help="Training records.")] = 1e6,
    parameters: Annotated[float, typer.Option(help="Frozen weights of the model.")] = 8.2e9,
    adapters: Annotated[float, typer.Option(help="Weights of its adapters.")] = 43.6e6,
    tokens: Annotated[float, typer.Option(help="Mean number of tokens per record.")] = 200,
    width: Annotated[float, typer.Option(help="Dimension of a representation.")] = 4096,
    projection: Annotated[float, typer.Option(help="Dimension of a projected gradient.")] = 4096,
    checkpoints: Annotated[float, typer.Option(help="Checkpoints whose gradients are stored.")] = 4,
    queries: Annotated[float, typer.Option(help="Queries.")] = 100,
    behaviors: Annotated[float, typer.Option(help="Behaviors of each.")] = 4,
    epochs: Annotated[float, typer.Option(help="Epochs of the training.")] = 1,
    rate: Annotated[float, typer.Option(help="Operations per second of a device, as measured.")] = 2e13,
    devices: Annotated[float, typer.Option(help="Number of devices.")] = 1,
    out: Annotated[Path | None, typer.Option(help="The table.", metavar="CSV")] = None,
) -> None:
    """Compute the cost of attribution in a language model: operations, bytes, hours."""
    from engine.applications.language.at_scale import StudyScale, table
    from engine.cli.score_files import check_output

    if out is not None:
        check_output(out, ".csv", inputs=())
    costs = table(StudyScale(records, parameters, adapters, tokens, width, projection, checkpoints, queries, behaviors,
                             epochs, rate, devices))
    for row in costs.itertuples():
        disk = f", stores {row.kept_bytes:.1e} bytes" if row.kept_bytes else ""
        read = f", reads {row.read_bytes:.1e}" if row.read_bytes else ""
        print(f"{row.part:<38}{row.operations:.1e} operations, {row.hours:,.3g} hours{disk}{read}")
    print(f"Computed, not measured; hours on {devices:g} {'device' if devices == 1 else 'devices'} that do {rate:.1e} "
          "operations a second each, without what is read from disk.")
    if out is not None:
        atomic_write(out, csv_text(costs))
        print(f"Written: {out}")
