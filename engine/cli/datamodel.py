"""`datamodel` and `self-influence`: two measures that look at models, not at another ranking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.setting import Data, ScoreFiles, Setting, Spec

if TYPE_CHECKING:
    import numpy as np

    from engine.analysis.datamodels import Retrained
    from engine.scoring.scores import Scores


def datamodel(
    data: Data,
    specs: Annotated[Path, typer.Option(help='A JSON list of {"name": …, "spec": {…}}.', metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write: a row for each specification.", metavar="CSV")],
    scores: ScoreFiles = None,
    subsets: Annotated[int, typer.Option(help="How many models to train, each on a random subset.", min=3,
                                         max=10_000)] = 100,
    share: Annotated[float, typer.Option(help="The share of the candidates in a subset.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Seed of the subsets.", min=0)] = 0,
    setting: Setting = Setting(),
) -> None:
    """Measure how well summed scores predict models that are trained on random subsets."""
    import pandas as pd

    from engine.analysis import datamodels
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output, read_scores
    from engine.cli.spec_files import read_specs
    from engine.desk import answer

    check_output(out, ".csv", inputs=(data, specs, *(scores or ())))
    named = read_specs(specs, least=1)
    problem, options = read_problem(data, setting), setting.options()
    kept = datamodels.subsets(len(problem.candidates), subsets, share, seed)
    computed = answer(problem, list(named.values()), options)
    found = {**dict(zip(named, computed, strict=True)), **read_scores(scores or (), problem, beside=named)}
    pairs, names = datamodels.compared([one.scoring for one in found.values()]), list(found)
    with progress(f"{subsets} models on subsets") as move:
        models = datamodels.retrain(problem, kept, setting.options(move), [behavior for _, behavior in pairs])
    table = pd.DataFrame({"name": names[place], **_score(found[names[place]], behavior.name, models, kept),
                          "subsets": subsets, "share": share} for place, behavior in pairs)
    atomic_write(out, csv_text(table))


def _score(scores: Scores, behavior: str, models: Retrained, kept: np.ndarray) -> dict[str, Any]:
    """The linear datamodeling score of a behavior over queries, as a row tells it."""
    from engine.analysis.datamodels import linear_datamodeling_score
    from engine.metrics.agreement import summarize

    values = linear_datamodeling_score(scores, models.outcomes(behavior), kept)
    summary = summarize(values, interval_over="queries")
    return {"behavior": behavior, "mean": summary.mean, "ci95": summary.ci95,
            "n_queries": summary.n_queries, "n_dropped": summary.n_dropped}


def self_influence(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option(help="Values to write: a row for each candidate, largest first.",
                                      metavar="CSV")],
    setting: Setting = Setting(),
) -> None:
    """Score every candidate by its influence on the behavior at itself."""
    import pandas as pd

    from engine.analysis import self_influence
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import read_spec

    check_output(out, ".csv", inputs=(data, spec))
    scoring, problem = read_spec(spec), read_problem(data, setting)
    with progress("self-influence") as move:
        values = self_influence.self_influence(problem, scoring, setting.options(move))
    labels = problem.y[problem.candidates].cpu().numpy()
    table = pd.DataFrame({"candidate": problem.candidates.cpu().numpy(), "label": labels, "self_influence": values})
    if missing := int(table.self_influence.isna().sum()):
        print(f"{missing} candidates did not converge, or their effect is below resolution; they have no value.",
              file=sys.stderr)
    ordered = table.sort_values("self_influence", ascending=False, kind="stable")
    atomic_write(out, csv_text(ordered))
