"""`datamodel` and `self-influence`: two measures that look at models, not at another ranking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.sampling import SubsetOptions
from engine.cli.setting import Data, ProblemOptions, ScoreFiles

if TYPE_CHECKING:
    from engine.analysis.datamodels import Retrained
    from engine.analysis.subset_bank import Draw
    from engine.problems import Problem
    from engine.question.behavior import Behavior
    from engine.scoring.scores import Scores


def datamodel(
    data: Data,
    specs: Annotated[Path, typer.Option(help='A JSON list of {"name": …, "spec": {…}}.', metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write: a row for each specification.", metavar="CSV")],
    scores: ScoreFiles = None,
    sampling: SubsetOptions = SubsetOptions(),
    bank: Annotated[Path | None, typer.Option(help="Models written by `subsets`, instead of --subsets, --share, "
                                                   "--seed, --protocol and --among.", metavar="NPZ")] = None,
    other: Annotated[Path | None, typer.Option(help="A bank with another --later, for the ceiling.",
                                               metavar="NPZ")] = None,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Measure how well summed scores predict models that are trained on random subsets."""
    import pandas as pd

    from engine.analysis import datamodels
    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_output, read_scores
    from engine.cli.spec_files import read_specs
    from engine.scoring.compute import compute

    check_output(out, ".csv", inputs=(data, specs, *(scores or ()), *(one for one in (bank, other) if one),
                                      *setting.reading.inputs))
    draw = sampling.draw()
    named, problem = read_specs(specs, least=1), read_problem(data, setting)
    if bank is None:
        draw.members(problem)  # refused before anything is computed
    computed = compute(problem, list(named.values()), setting.options())
    scored = {**dict(zip(named, computed, strict=True)), **read_scores(scores or (), problem, beside=named)}
    pairs, names = datamodels.compared([one.scoring for one in scored.values()]), list(scored)
    draw, models = _models(problem, draw, bank, (behaviors := [one for _, one in pairs]), setting)
    repeated = _same_subsets(problem, draw, other, behaviors) if other else None
    table = pd.DataFrame({"name": names[at], **_score(scored[names[at]], one.name, models), **_sampling(problem, draw),
                          **_ceiling(models, repeated, one.name)} for at, one in pairs)
    atomic_write(out, csv_text(table))


def _models(problem: Problem, draw: Draw, bank: Path | None, behaviors: Sequence[Behavior], setting: ProblemOptions
            ) -> tuple[Draw, Retrained]:
    """Those of a bank, or of a draw; of the behaviors they have to be asked for those with a user's words."""
    from engine.analysis import subset_bank
    from engine.cli.bank_files import read_bank
    from engine.cli.progress import progress
    from engine.store.results import Store

    if bank is not None:
        return read_bank(bank, problem, behaviors)
    worded = {one.name: one for one in behaviors if one.words}
    with progress(f"{draw.count} models on subsets") as move:
        return draw, subset_bank.bank(problem, draw, Store(), setting.options(move), list(worded.values()))


def _same_subsets(problem: Problem, draw: Draw, other: Path, behaviors: Sequence[Behavior]) -> Retrained:
    """The models of another bank. Raises `InvalidInput` where it is not of the same subsets with other seeds."""
    from engine.basics.errors import InvalidInput
    from engine.cli.bank_files import read_bank

    second, models = read_bank(other, problem, behaviors)
    if second.later == draw.later or second.model_copy(update={"later": draw.later}) != draw:
        raise InvalidInput(f"`{other}` is not a bank of the same subsets under the same protocol with another training "
                           "seed; write it with the same options and another `--later`.")
    return models


def _sampling(problem: Problem, draw: Draw) -> dict[str, Any]:
    """How many subsets of what the models are trained on, which share of the data that is, and by which protocol."""
    return {"subsets": draw.count, "share": draw.share, "among": draw.among,
            "trained_on": draw.fraction(problem.n, len(problem.candidates)), "protocol": draw.protocol,
            "later": draw.later}


def _ceiling(models: Retrained, repeated: Retrained | None, behavior: str) -> dict[str, float]:
    """What the exact answer of another seed reaches, with its interval over queries."""
    from engine.analysis.datamodels import agreement_of_outcomes
    from engine.metrics.intervals import t_interval

    if repeated is None:
        return {}
    mean, half = t_interval(agreement_of_outcomes(models.outcomes(behavior), repeated.outcomes(behavior)))
    return {"ceiling": mean, "ceiling_ci95": half}


def _score(scores: Scores, behavior: str, models: Retrained) -> dict[str, Any]:
    """The linear datamodeling score of a behavior over queries, as a row tells it."""
    from engine.metrics.agreement import summarize

    summary = summarize(models.score(scores, behavior), interval_over="queries")
    return {"behavior": behavior, "mean": summary.mean, "ci95": summary.ci95,
            "n_queries": summary.n_queries, "n_dropped": summary.n_dropped}
