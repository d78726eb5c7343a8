"""`export-scores`: scores of `influence` as a file of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write


def export_scores(
    scores: Annotated[Path, typer.Option(help="Scores of `influence`, with the manifest next to them.", metavar="NPZ")],
    out: Annotated[Path, typer.Option(help="The file to write; its suffix gives the format: .zip (bergson), .pt "
                                           "(dattri), .safetensors (kronfluence) or .npy.", metavar="FILE")],
) -> None:
    """Write scores as another program does: a larger score supports the behavior."""
    from engine.cli.score_files import check_output, read_any_scores
    from engine.external.writing import FORMATS

    ending = out.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInput(f"--out is `{out}`; give a file name that ends in {', '.join(FORMATS)}.")
    check_output(out, ending, inputs=(scores,))
    atomic_write(out, FORMATS[ending](read_any_scores(scores).trusted))
