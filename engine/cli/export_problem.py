"""`export-problem`: the problem that a page drew, as the npz that `influence` and `compare` read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write


def export_problem(
    source: Annotated[str, typer.Option(help="Dataset, sizes and seed as JSON, as shown on a page.",
                                        metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Output problem.", metavar="NPZ")],
) -> None:
    """Write the problem of a page, for `influence` and `compare`."""
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import parse_source
    from engine.external.rebuilt import problem_npz
    from engine.problems.source import SOFTMAX, ProblemSource

    check_output(out, ".npz", inputs=())
    sampled = ProblemSource.parse(parse_source(source))
    if sampled.model != SOFTMAX:
        raise InvalidInput("An npz does not record how a network is trained; save the source as problem.json, and "
                           "give that to `influence` or `compare` as --data.")
    atomic_write(out, problem_npz(sampled.build().problem))
