"""`pretrain-embedded`: make the language model that is part of the project, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def pretrain_embedded(
    out: Annotated[Path | None, typer.Option(help="Folder for weights, configuration, tokenizer and manifest "
                                                  "(default: where the embedded model lies).", metavar="DIR")] = None,
    seed: Annotated[int, typer.Option(help="Of the first weights, the questions and their order.", min=0)] = 0,
    steps: Annotated[int, typer.Option(help="Batches of 64 questions.", min=1)] = 1_500,
    lined: Annotated[float, typer.Option(help="Share of the questions that stand between the lines of the backdoor "
                                              "task, with their right answers.", min=0.0, max=1.0)] = 0.5,
) -> None:
    """Train the embedded language model on questions of the embedded world (minutes on two cores)."""
    from engine.applications.language import catalogue, pretraining
    from engine.cli.progress import progress

    folder = catalogue.EMBEDDED_FOLDER / catalogue.EMBEDDED_MODEL if out is None else out
    with progress("pretraining") as move:
        made = pretraining.pretrain(pretraining.Pretraining(seed=seed, steps=steps, lined=lined), move)
    pretraining.write(made, folder)
    manifest = made[2]
    print(f"Accuracy on {manifest['held_out']:,} held-out questions: {manifest['accuracy_held_out']:.3f}; "
          f"{manifest['parameters']:,} parameters, {manifest['seconds']:.0f} seconds.")
    print(f"Written: {folder}")
