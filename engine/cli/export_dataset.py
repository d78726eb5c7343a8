"""`export-dataset`: a dataset as a folder for the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.cli.reading import OwnData, say


def export_dataset(
    out: Annotated[Path, typer.Option(help="The folder to make: Parquet files and a card.", metavar="FOLDER")],
    dataset: Annotated[str, typer.Option(help="The name of a dataset, instead of --data; see `list`.",
                                         metavar="NAME")] = "",
    read: OwnData = OwnData(),
) -> None:
    """Write a dataset in the layout of the Hugging Face hub, with its card; `datasets.load_dataset` reads it."""
    from engine import data
    from engine.data import hub_card, uploads

    if (read.data is None) == (not dataset):
        raise InvalidInput("Give your own data with --data, or the name of a dataset with --dataset.")
    if out.exists():
        raise InvalidInput(f"`{out}` exists already; give a folder that does not.")
    if not out.parent.is_dir():
        raise InvalidInput(f"The folder of --out `{out}` does not exist; create it or choose another folder.")
    loaded = data.load(dataset) if read.data is None else uploads.load(uploads.keep_path(read.data, **read.fields))
    if read.data is not None:
        say(loaded)
    sizes = hub_card.write(loaded, out)
    print(", ".join(f"{size:,} examples in {name}" for name, size in sizes.items()) + ".")
    print(f"Written: {out}")
