"""`extract-fashion`: draw the FashionMNIST extract that is part of the project from the whole dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def extract_fashion(
    out: Annotated[Path | None, typer.Option(help="Folder for pictures and manifest (default: where the extract "
                                                  "lies).", metavar="DIR")] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
) -> None:
    """Draw 2,000 training and 500 test pictures of FashionMNIST, as many of each class."""
    from engine.data import fashion_small

    folder = fashion_small.FOLDER if out is None else out
    made = fashion_small.extract(seed)
    fashion_small.write(made, folder)
    print(f"Written: {folder / fashion_small.FILE}, {(folder / fashion_small.FILE).stat().st_size:,} bytes")
