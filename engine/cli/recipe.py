"""`recipe`: a script that computes scores of the problem with another program, and all that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.setting import Data, ProblemOptions


def recipe(
    program: Annotated[str, typer.Option(help="captum, trak, kronfluence, dattri or pydvl.", metavar="NAME")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Output zip: the script, problem.npz, weights.npz and claim.json.",
                                      metavar="ZIP")],
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Write a script for another program that computes scores of this problem, for `bring`."""
    from engine.basics.files import atomic_write
    from engine.cli.problem import Inputs
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import read_source
    from engine.external.score_recipes import SCORE_RECIPES

    check_output(out, ".zip", inputs=(data, *setting.reading.inputs))
    chosen = SCORE_RECIPES[program]
    model = read_source(data).model if data.suffix.lower() == ".json" else setting.network.model
    atomic_write(out, chosen.packed(Inputs(data, setting).problem, model))
    print(f"{chosen.method} of {chosen.title} ({chosen.url}): unpack {out.name}, `pip install \"{chosen.package}\"`, "
          f"run {chosen.file} there, and import the {chosen.written} that it writes.\n"
          f"It claims: {chosen.claim.question}\n{chosen.note}")
