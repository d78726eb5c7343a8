"""`reproduce`: run a study to its end from wherever it stands, publish its table, compare it with the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.folders import writable
from engine.basics.registry import unknown
from engine.cli.setting import Machine


def reproduce(
    name: Annotated[str, typer.Argument(help="An experiment; see `list`.")],
    preset: Annotated[str, typer.Option(help="The scale: small (a quick check), desk (two cores, hours), "
                                              "paper (a GPU), or another that `list` shows.")] = "small",
    seeds: Annotated[int | None, typer.Option(help="Number of seeds (default: that of the preset).", min=1,
                                              max=1000)] = None,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0, max=100_000)] = 0,
    add: Annotated[bool, typer.Option("--add", help="Add these seeds to those published in the folder instead of "
                                                    "replacing them.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for NAME/PRESET/results.csv and manifest.json (default: "
                                                  "assets/results).", metavar="DIR")] = None,
    machine: Machine = Machine(),
    model: Annotated[str | None, typer.Option(help="For studies of language models: a folder, a name under "
                                                   "WHICHFLUENCE_MODELS, or a name on the Hugging Face hub.",
                                              metavar="NAME_OR_PATH")] = None,
    reading: Annotated[str, typer.Option("--as", help="Whose conventions to follow: `paper` (what its text says) or "
                                                      "`authors` (what their code does).")] = "paper",
) -> None:
    """Recompute a table or figure of the paper (resumable)."""
    from engine.cli.progress import run_shown
    from engine.cli.reproduce_text import collinearity, report, truncation
    from engine.experiments import EXPERIMENTS, publish
    from engine.experiments.contents import gather

    experiment = EXPERIMENTS[name]
    if preset not in experiment.presets:
        raise InvalidInput(unknown(f"preset of `{name}`", preset, experiment.presets))
    folder = publish.RESULTS if out is None else out
    if not writable(folder):  # refused before the run, and not after it
        raise InvalidInput(f"Results cannot be written to `{folder}`; name another folder with --out.")
    payload = experiment.payload(preset, seeds, model, first_seed, reading)
    machine.options()  # refused before data are read or downloaded
    gather(experiment.presets[preset].settings)
    if add:
        publish.check_addable(experiment, payload, preset, folder)
    result = run_shown(f"{name}, {preset}", experiment.study, payload, machine)
    target = publish.publish(experiment, result, preset, folder, add=add)
    print(report(publish.read_table(target / publish.TABLE), experiment, preset, reading))
    print(collinearity(result.manifest), truncation(result.manifest), sep="", end="")
    print(f"\nWritten: {target / publish.TABLE}, {target / publish.MANIFEST}")
