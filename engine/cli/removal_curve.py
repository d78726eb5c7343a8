"""`removal-curve`: what becomes of a behavior as the top of a ranking is removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.setting import Data, ProblemOptions, ScoreFiles


def removal_curve(
    data: Data,
    specs: Annotated[Path, typer.Option(help='Rankings: a JSON list of {"name": …, "spec": {…}}.', metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Curve to write: a row for each ranking and number.", metavar="CSV")],
    scores: ScoreFiles = None,
    behavior: Annotated[str, typer.Option(help="Behavior; see `list`.")] = "query_loss",
    query: Annotated[list[int] | None, typer.Option(help="A query to rank for and to evaluate; repeat for several "
                                                         "(default: the mean over all).", min=0)] = None,
    remove: Annotated[list[int] | None, typer.Option(help="Number to remove; repeat it (default: 1, 2, 5, 10, … up "
                                                          "to half of the candidates).", min=1)] = None,
    random: Annotated[int, typer.Option(help="Random groups of each size.", min=2, max=1_000)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random groups.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Training seeds to average over.", min=1, max=1_000)] = 1,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Remove the top k of rankings and retrain: the change of a behavior, against random groups of the same size."""
    from engine.analysis import removal_curve as curves
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output, read_scores
    from engine.cli.spec_files import read_specs
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS
    from engine.scoring.compute import compute

    check_output(out, ".csv", inputs=(data, specs, *(scores or ()), *setting.reading.inputs))
    named, problem = read_specs(specs, least=1), read_problem(data, setting)
    if query and max(query) >= len(problem.queries):
        raise InvalidInput(f"There is no query {max(query)}; give 0 to {len(problem.queries) - 1}.")
    computed = compute(problem, list(named.values()), setting.options())
    ranked = {**dict(zip(named, computed, strict=True)), **read_scores(scores or (), problem, beside=named)}
    rankings = {name: (one.scoring, one.scored) for name, one in ranked.items()}
    with progress("models without the top of a ranking") as move:
        curve = curves.removal_curve(problem, rankings, behavior, query, remove, random, seed, seeds,
                                     setting.options(move))
    atomic_write(out, csv_text(curve.table().assign(
        **{direction.QUANTITY: direction.raw_change(BEHAVIORS[behavior])})))
