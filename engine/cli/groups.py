"""`group` and `removal-curve`: what happens to a whole set of training examples, and to the top of a ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.setting import Data, ScoreFiles, Setting, Spec

if TYPE_CHECKING:
    import pandas as pd

    from engine.problems import Problem
    from engine.scoring.scoring import Scoring


def group(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option(help="Effects to write: a row for each query.", metavar="CSV")],
    examples: Annotated[str | None, typer.Option(
        help="The training examples of the group: rows and ranges of rows (3,7,12-20), or a filter "
             "(\"label = cat | dog & file = 2024/*\"; records have prompt, response, answer, id and flag).",
        metavar="ROWS_OR_FILTER")] = None,
    top: Annotated[int | None, typer.Option(help="Instead: so many from the top of a ranking.", min=1)] = None,
    by: Annotated[Path | None, typer.Option(
        help="The ranking of --top: scores that `influence` or `bring` wrote for this problem (default: what the "
             "specification itself says of single candidates).", metavar="NPZ")] = None,
    query: Annotated[int | None, typer.Option(help="The query that --top ranks for (default: the mean over all).",
                                              min=0)] = None,
    whole_only: Annotated[bool, typer.Option(
        "--whole-only", help="Leave out what each example does alone: one answer instead of one an example.")] = False,
    setting: Setting = Setting(),
) -> None:
    """Do something to a whole group of training examples at once, and compare with doing it one by one."""
    from engine.cli.problem import read_listed
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import read_spec

    check_output(out, ".csv", inputs=(data, spec, *([by] if by else [])))
    if (examples is None) == (top is None) or (top is None and (by or query is not None)):
        raise InvalidInput("Say which training examples by one of --examples and --top; --by and --query go with "
                           "--top.")
    scoring, (problem, listing) = read_spec(spec), read_listed(data, setting)
    rows = listing.rows(examples) if examples is not None else _top(problem, scoring, top or 0, by, query, setting)
    print(f"{len(rows):,} of {listing.n:,} training examples.")
    atomic_write(out, csv_text(_effects(problem, scoring, rows, whole_only, setting)))


def _effects(problem: Problem, scoring: Scoring, rows: list[int], whole_only: bool, setting: Setting) -> pd.DataFrame:
    """A row a query: the effect of the group, and unless the whole alone is asked for, of its examples."""
    import pandas as pd

    from engine.analysis.groups import group_effect, whole_effect
    from engine.cli.progress import progress
    from engine.question import direction

    with progress(f"{len(rows)} examples at once") as move:
        if whole_only:
            whole = whole_effect(problem, scoring, rows, setting.options(move))
            columns = {"whole_group": whole, "trusted": np.isfinite(whole)}
        else:
            found = group_effect(problem, scoring, rows, setting.options(move))
            columns = {"whole_group": found.whole, "sum_of_examples": found.added, "additivity_gap": found.gap,
                       "trusted": found.known}
    return pd.DataFrame({"query": range(len(problem.queries)), **columns, "examples": len(rows),
                         direction.QUANTITY: direction.raw_change(scoring.readout)})


def removal_curve(
    data: Data,
    specs: Annotated[Path, typer.Option(help='Rankings: a JSON list of {"name": …, "spec": {…}}.', metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Curve to write: a row for each ranking and number.", metavar="CSV")],
    scores: ScoreFiles = None,
    behavior: Annotated[str, typer.Option(help="What is read off the models; `list` shows them.")] = "query_loss",
    query: Annotated[list[int] | None, typer.Option(help="A query to rank and read; repeat it for several (default: "
                                                         "the mean over all).", min=0)] = None,
    remove: Annotated[list[int] | None, typer.Option(help="How many to remove; repeat it (default: 1, 2, 5, 10, … up "
                                                          "to half of the candidates).", min=1)] = None,
    random: Annotated[int, typer.Option(help="Random groups of each size.", min=2, max=1_000)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random groups.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Training seeds to average over.", min=1, max=1_000)] = 1,
    setting: Setting = Setting(),
) -> None:
    """Remove the top of rankings and train again: what becomes of a behavior, beside random groups of the same size."""
    from engine.analysis import removal_curve as curves
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output, read_scores
    from engine.cli.spec_files import read_specs
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS
    from engine.scoring.compute import compute

    check_output(out, ".csv", inputs=(data, specs, *(scores or ())))
    named, problem = read_specs(specs, least=1), read_problem(data, setting)
    if query and max(query) >= len(problem.queries):
        raise InvalidInput(f"There is no query {max(query)}; give 0 to {len(problem.queries) - 1}.")
    computed = compute(problem, list(named.values()), setting.options())
    found = {**dict(zip(named, computed, strict=True)), **read_scores(scores or (), problem, beside=named)}
    rankings = {name: (one.scoring, one.scored) for name, one in found.items()}
    with progress("models without the top of a ranking") as move:
        curve = curves.removal_curve(problem, rankings, behavior, query, remove, random, seed, seeds,
                                     setting.options(move))
    atomic_write(out, csv_text(curve.table().assign(
        **{direction.QUANTITY: direction.raw_change(BEHAVIORS[behavior])})))


def _top(problem: Problem, scoring: Scoring, count: int, by: Path | None, query: int | None, setting: Setting
         ) -> list[int]:
    """The rows of the first `count` candidates in the ranking of a score file, or of the scoring itself.

    Raises `InvalidInput` for a query that there is not, and for more candidates than have a trusted score.
    """
    from engine.analysis.removal_curve import order_of
    from engine.cli.score_files import read_scores
    from engine.scoring.compute import compute

    if query is not None and query >= len(problem.queries):
        raise InvalidInput(f"There is no query {query}; give 0 to {len(problem.queries) - 1}.")
    if by is not None:
        [found] = read_scores([by], problem).values()
    else:
        [found] = compute(problem, [scoring], setting.options())
    scores = found.scored if query is None else found.trusted[[query]]
    known = int((~np.isnan(scores)).any(0).sum())
    if count > known:
        raise InvalidInput(f"--top asks for {count:,}, but {known:,} candidates have a score; ask for fewer.")
    return sorted(int(row) for row in found.candidates[order_of(scores)[:count]])
