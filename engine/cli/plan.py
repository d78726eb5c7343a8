"""`plan`: what attribution in a language model would cost, before anybody pays for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write


def plan(
    records: Annotated[float, typer.Option(help="Training records.")] = 1e6,
    parameters: Annotated[float, typer.Option(help="Frozen weights of the model.")] = 8.2e9,
    adapters: Annotated[float, typer.Option(help="Adapter weights.")] = 43.6e6,
    tokens: Annotated[float, typer.Option(help="Mean number of tokens per record.")] = 200,
    width: Annotated[float, typer.Option(help="Dimension of a representation.")] = 4096,
    projection: Annotated[float, typer.Option(help="Dimension of a projected gradient.")] = 4096,
    checkpoints: Annotated[float, typer.Option(help="Checkpoints whose gradients are stored.")] = 4,
    queries: Annotated[float, typer.Option(help="Queries.")] = 100,
    behaviors: Annotated[float, typer.Option(help="Behaviors of each.")] = 4,
    epochs: Annotated[float, typer.Option(help="Training epochs.")] = 1,
    rate: Annotated[float, typer.Option(help="Operations per second of a device.")] = 2e13,
    measure: Annotated[str, typer.Option(help="A language model that fits on this machine: its passes are timed to "
                                              "obtain the rate.", metavar="NAME_OR_PATH")] = "",
    device: Annotated[str, typer.Option(help="Device for the timing: auto, cpu or cuda.")] = "auto",
    devices: Annotated[float, typer.Option(help="Number of devices.")] = 1,
    batch: Annotated[float, typer.Option(help="Records per pass.")] = 8,
    price: Annotated[float, typer.Option(help="Price per device hour.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The table.", metavar="CSV")] = None,
) -> None:
    """Plan attribution in a language model: operations, disk, memory, hours and money, by each method."""
    from engine.applications.language.at_scale import StudyScale, table
    from engine.applications.language.rates import measured_rate
    from engine.cli.score_files import check_output
    from engine.problems.problem import pick_device

    if out is not None:
        check_output(out, ".csv", inputs=())
    if measure:
        rate = measured_rate(measure, int(tokens), str(pick_device(device)))
    scale = StudyScale(records, parameters, adapters, tokens, width, projection, checkpoints, queries, behaviors,
                       epochs, rate, devices, batch, price)
    costs = table(scale)
    print(*map(_said, costs.itertuples()), sep="\n")
    print(f"Counted; hours on {devices:g} {'device' if devices == 1 else 'devices'} that do {rate:.1e} operations per "
          f"second each{f', as measured here with {measure}' if measure else ''}, not counting reads from disk.")
    if out is not None:
        atomic_write(out, csv_text(costs))
        print(f"Written: {out}")


def _said(row: Any) -> str:
    """A part of a study in a line."""
    more = [f", {title} {value:.1e} bytes" for title, value in (
        ("stores", row.kept_bytes), ("reads", row.read_bytes), ("holds", row.memory_bytes)) if value]
    paid = f", costs {row.money:,.2f}" if row.money else ""
    return f"{row.part:<38}{row.operations:.1e} operations, {row.hours:,.3g} hours{''.join(more)}{paid}"
