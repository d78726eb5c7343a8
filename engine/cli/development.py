"""`pretrain-embedded` and `extract-fashion`: make what is part of the project, the language model and the pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.folders import writable
from engine.basics.registry import unknown


def pretrain_embedded(
    name: Annotated[str, typer.Argument(help="Which: World-0.4M, World-0.4M-long with long explanations, or "
                                         "World-0.4M-concluded, whose long explanations mark their conclusion.")]
    = "World-0.4M",
    out: Annotated[Path | None, typer.Option(help="Folder for weights, configuration, tokenizer and manifest "
                                                  "(default: the embedded model's folder).", metavar="DIR")] = None,
    seed: Annotated[int, typer.Option(help="Seed of initial weights, questions and their order.", min=0)] = 0,
    steps: Annotated[int | None, typer.Option(help="Number of batches (default: the model's own).", min=1)] = None,
    lined: Annotated[float, typer.Option(help="Fraction of questions with the context lines of the backdoor task and "
                                              "the right answer.", min=0.0, max=1.0)] = 0.5,
) -> None:
    """Train an embedded language model on questions of the embedded world (minutes on two cores)."""
    from engine.applications.language import pretraining
    from engine.cli.progress import progress
    from engine.models.causal import catalogue

    if name not in catalogue.EMBEDDED:
        raise InvalidInput(unknown("embedded model", name, catalogue.EMBEDDED))
    folder = catalogue.EMBEDDED_FOLDER / name if out is None else out
    if not writable(folder):
        raise InvalidInput(f"The model cannot be written to `{folder}`; name another folder with --out.")
    chosen = {"seed": seed, "lined": lined, **({} if steps is None else {"steps": steps})}
    with progress("pretraining") as move:
        pretrained = pretraining.pretrain(pretraining.RECIPES[name].model_copy(update=chosen), move)
    pretraining.write(pretrained, folder)
    manifest = pretrained[2]
    print(f"Accuracy on {manifest['held_out']:,} held-out questions: {manifest['accuracy_held_out']:.3f}; "
          f"{manifest['parameters']:,} parameters, {manifest['seconds']:.0f} seconds.")
    print(f"Written: {folder}")


def extract_fashion(
    out: Annotated[Path | None, typer.Option(help="Folder for images and manifest (default: the extract's folder).",
                                             metavar="DIR")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.", min=0)] = 0,
) -> None:
    """Sample 2,000 training and 500 test images of FashionMNIST, balanced by class."""
    from engine.data import fashion_small

    folder = fashion_small.FOLDER if out is None else out
    sample = fashion_small.extract(seed)
    fashion_small.write(sample, folder)
    print(f"Written: {folder / fashion_small.FILE}, {(folder / fashion_small.FILE).stat().st_size:,} bytes")
